#include "det/master/webhooks/outside_client.h"

#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/async_result.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace det::master {
namespace {

namespace asio = boost::asio;
using Answer = tl::expected<int, OutsideFailure>;

constexpr std::size_t kAnswerBytesMax = 64 << 10;
constexpr long kConnectMilliseconds = 5'000;

asio::ip::address address_of(const sockaddr& address) {
  asio::ip::tcp::endpoint endpoint;
  const auto bytes = address.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::memcpy(endpoint.data(), &address, bytes);
  return endpoint.address();
}

/// One exchange: what libcurl needs as long as it lasts.
struct Transfer {
  OutsideCall call;
  const std::vector<Network>* allowed = nullptr;
  std::function<void(Answer)> done;
  CURL* handle = nullptr;
  curl_slist* headers = nullptr;
  std::string refused;  ///< why an address was not connected to
  std::size_t read = 0;

  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    if (handle != nullptr) curl_easy_cleanup(handle);
    curl_slist_free_all(headers);
  }

  static curl_socket_t open_socket(void* self, curlsocktype, curl_sockaddr* to) {
    auto& transfer = *static_cast<Transfer*>(self);
    if (to->family != AF_INET && to->family != AF_INET6) return CURL_SOCKET_BAD;
    if (auto why = refusal(address_of(to->addr), *transfer.allowed)) {
      transfer.refused = *std::move(why);
      return CURL_SOCKET_BAD;
    }
    return ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
  }
  static std::size_t take(char*, std::size_t size, std::size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.read += size * count;
    return transfer.read > kAnswerBytesMax ? 0 : size * count;  // less than was given: the end
  }

  bool prepare() {
    handle = curl_easy_init();
    if (handle == nullptr) return false;
    for (const auto& [name, value] : call.headers)
      headers = curl_slist_append(headers, (name + ": " + value).c_str());
    headers = curl_slist_append(headers, "Expect:");  // no waiting for 100 Continue
    const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(handle, option, value); };
    set(CURLOPT_URL, call.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_PROXY, "");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_QUICK_EXIT, 1L);  // whoever stops us does not wait for a name server
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(call.timeout.count()));
    set(CURLOPT_CONNECTTIMEOUT_MS, kConnectMilliseconds);
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(CURLOPT_FRESH_CONNECT, 1L);
    set(CURLOPT_FORBID_REUSE, 1L);
    set(CURLOPT_HTTPHEADER, headers);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
    set(CURLOPT_POSTFIELDS, call.body.c_str());
    set(CURLOPT_OPENSOCKETFUNCTION, &Transfer::open_socket);
    set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
    set(CURLOPT_WRITEFUNCTION, &Transfer::take);
    set(CURLOPT_WRITEDATA, static_cast<void*>(this));
    set(CURLOPT_PRIVATE, static_cast<void*>(this));
    return true;
  }

  Answer answer(CURLcode code) const {
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && status != 0)) return static_cast<int>(status);
    if (!refused.empty() && code != CURLE_OPERATION_TIMEDOUT)
      return tl::unexpected(OutsideFailure{refused + ", which the master does not call", true});
    if (code == CURLE_OPERATION_TIMEDOUT)
      return tl::unexpected(OutsideFailure{
          fmt::format("no answer within {} s", static_cast<double>(call.timeout.count()) / 1000)});
    return tl::unexpected(OutsideFailure{curl_easy_strerror(code)});
  }
};

}  // namespace

class OutsideClient::Worker {
 public:
  explicit Worker(std::vector<Network> allowed) : allowed_(std::move(allowed)) {
    static const auto started = curl_global_init(CURL_GLOBAL_DEFAULT);
    DET_ASSERT(started == CURLE_OK);
    multi_ = curl_multi_init();
    DET_ASSERT(multi_ != nullptr);
    thread_ = std::thread([this] { run(); });
  }
  ~Worker() {
    stopping_ = true;
    curl_multi_wakeup(multi_);
    thread_.join();
    for (const auto& [handle, transfer] : running_) curl_multi_remove_handle(multi_, handle);
    running_.clear();
    curl_multi_cleanup(multi_);
  }

  void cancel() {
    cancelled_ = true;
    curl_multi_wakeup(multi_);
  }

  void add(std::unique_ptr<Transfer> transfer) {
    transfer->allowed = &allowed_;
    {
      const std::lock_guard lock(mutex_);
      added_.push_back(std::move(transfer));
    }
    curl_multi_wakeup(multi_);
  }

 private:
  void run() {
    while (!stopping_) {
      take_added();
      int running = 0;
      curl_multi_perform(multi_, &running);
      int left = 0;
      while (const auto* message = curl_multi_info_read(multi_, &left))
        if (message->msg == CURLMSG_DONE) finish(message->easy_handle, message->data.result);
      if (cancelled_)
        while (!running_.empty()) finish(running_.begin()->first, CURLE_ABORTED_BY_CALLBACK);
      curl_multi_poll(multi_, nullptr, 0, 10'000, nullptr);
    }
  }
  void take_added() {
    std::vector<std::unique_ptr<Transfer>> added;
    {
      const std::lock_guard lock(mutex_);
      added.swap(added_);
    }
    for (auto& transfer : added) {
      if (!transfer->prepare() || curl_multi_add_handle(multi_, transfer->handle) != CURLM_OK) {
        transfer->done(tl::unexpected(OutsideFailure{"out of memory"}));
        continue;
      }
      running_.emplace(transfer->handle, std::move(transfer));
    }
  }
  void finish(CURL* handle, CURLcode code) {
    const auto found = running_.find(handle);
    const auto transfer = std::move(found->second);
    running_.erase(found);
    auto answer = transfer->answer(code);
    curl_multi_remove_handle(multi_, handle);
    transfer->done(std::move(answer));
  }

  std::vector<Network> allowed_;
  CURLM* multi_ = nullptr;
  std::atomic<bool> stopping_{false}, cancelled_{false};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Transfer>> added_;
  std::map<CURL*, std::unique_ptr<Transfer>> running_;
  std::thread thread_;
};

OutsideClient::OutsideClient(asio::any_io_executor executor, std::vector<Network> allowed)
    : executor_(std::move(executor)), worker_(std::make_unique<Worker>(std::move(allowed))) {}
OutsideClient::~OutsideClient() = default;

void OutsideClient::cancel() {
  worker_->cancel();
}

asio::awaitable<Answer> OutsideClient::post(OutsideCall call) {
  auto begin = [this](auto handler, OutsideCall what) {
    auto resume = std::make_shared<decltype(handler)>(std::move(handler));
    auto transfer = std::make_unique<Transfer>();
    transfer->call = std::move(what);
    // The handler leaves the worker with the answer: it must not end on that thread.
    transfer->done = [executor = executor_, resume = std::move(resume)](Answer answer) mutable {
      asio::post(executor, [resume = std::move(resume), answer = std::move(answer)]() mutable {
        std::move (*resume)(std::move(answer));
      });
    };
    worker_->add(std::move(transfer));
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Answer)>(
      std::move(begin), asio::use_awaitable, std::move(call));
}

}  // namespace det::master
