#include "det/checkpoint/buckets/web_client.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <random>
#include <thread>

#include "det/base/json.h"
#include "det/base/text.h"
#include "det/version.h"

namespace det::checkpoint {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kKeptBody = std::size_t{64} << 20;

/// What one attempt reads and writes.
struct Attempt {
  const WebCall& call;
  CURL* handle;
  WebReply reply = {};
  std::int64_t sent = 0;
  std::optional<Error> failure = std::nullopt;  ///< of our own side: a disk, a sink
};

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* to) {
  auto& reply = static_cast<Attempt*>(to)->reply;
  const std::string_view line(data, size * count);
  const auto colon = line.find(':');
  if (line.starts_with("HTTP/")) reply.headers.clear();  // of an interim answer
  if (colon != std::string_view::npos) {
    reply.headers[to_lower(line.substr(0, colon))] = trim(line.substr(colon + 1));
  }
  return size * count;
}

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* to) {
  auto& attempt = *static_cast<Attempt*>(to);
  const std::string_view piece(data, size * count);
  long status = 0;
  curl_easy_getinfo(attempt.handle, CURLINFO_RESPONSE_CODE, &status);
  if (attempt.call.sink && (status == 200 || status == 206)) {
    try {
      attempt.call.sink(piece);
      return piece.size();
    } catch (const Failure& failure) {
      attempt.failure = failure.error;
      return 0;
    }
  }
  if (attempt.reply.body.size() + piece.size() > kKeptBody) {
    attempt.failure = Error(ErrorCode::Unavailable, fmt::format("the response of {} has more than {} bytes",
                                                                attempt.call.url, kKeptBody));
    return 0;
  }
  attempt.reply.body += piece;
  return piece.size();
}

std::size_t give_part(char* data, std::size_t size, std::size_t count, void* to) {
  auto& attempt = *static_cast<Attempt*>(to);
  const auto& part = *attempt.call.part;
  const auto wanted =
      std::min<std::int64_t>(static_cast<std::int64_t>(size * count), part.bytes - attempt.sent);
  if (wanted == 0) return 0;
  const auto got = ::pread(part.file, data, static_cast<std::size_t>(wanted), part.offset + attempt.sent);
  if (got <= 0) {
    attempt.failure = Error(ErrorCode::Unavailable,
                            fmt::format("cannot read the file to send to {}: {}", attempt.call.url,
                                        got == 0 ? "the file became shorter" : std::strerror(errno)));
    return CURL_READFUNC_ABORT;
  }
  attempt.sent += got;
  return static_cast<std::size_t>(got);
}

int seek_part(void* to, curl_off_t offset, int origin) {
  if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<Attempt*>(to)->sent = offset;
  return CURL_SEEKFUNC_OK;
}

bool is_link_local(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto host = ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr);
    return (host >> 16) == 0xa9fe;
  }
  if (address->sa_family != AF_INET6) return false;
  const auto& bytes = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr.s6_addr;
  const bool mapped = IN6_IS_ADDR_V4MAPPED(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  return (bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80) ||
         (mapped && bytes[12] == 0xa9 && bytes[13] == 0xfe);
}

/// Whoever may name an endpoint shall not read by it what a cloud tells this machine only.
curl_socket_t open_socket(void* to, curlsocktype, curl_sockaddr* address) {
  auto& attempt = *static_cast<Attempt*>(to);
  if (!attempt.call.to_link_local && is_link_local(&address->addr)) {
    attempt.failure =
        Error(ErrorCode::PermissionDenied,
              fmt::format("{} has a link-local address, which is not allowed for storage", attempt.call.url));
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

bool may_pass(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_SEND_FAIL_REWIND: return true;
    default: return false;
  }
}

bool may_pass(int status) {
  return status == 408 || status == 429 || status == 500 || (status >= 502 && status <= 504);
}

/// 0.2, 0.4, 0.8 … s, each less up to a half by chance, or what the service asks for up to 30 s.
milliseconds delay_after(int attempt, const WebReply& reply) {
  if (const auto asked = reply.header("retry-after"); !asked.empty())
    if (const auto seconds = std::atoi(asked.c_str()); seconds > 0)
      return std::min(milliseconds(seconds * 1000), milliseconds(30'000));
  static thread_local std::minstd_rand chance{std::random_device{}()};
  const int whole = std::min(200 << attempt, 10'000);
  return milliseconds(std::uniform_int_distribution(whole / 2, whole)(chance));
}

struct HeaderList {
  curl_slist* first = nullptr;
  HeaderList() = default;
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  ~HeaderList() { curl_slist_free_all(first); }
  void add(const std::string& line) { first = curl_slist_append(first, line.c_str()); }
};

void prepare(Attempt& attempt, HeaderList& headers) {
  const auto& call = attempt.call;
  CURL* handle = attempt.handle;
  curl_easy_setopt(handle, CURLOPT_URL, call.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(call.connect_timeout.count()));
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, 60L);
  curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, 512L * 1024);
  curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, 1024L * 1024);
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "det/" DET_VERSION);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &attempt);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &attempt);
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, &attempt);
  if (call.method == "HEAD") {
    curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
  } else if (call.part != nullptr) {
    curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(handle, CURLOPT_READFUNCTION, give_part);
    curl_easy_setopt(handle, CURLOPT_READDATA, &attempt);
    curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, seek_part);
    curl_easy_setopt(handle, CURLOPT_SEEKDATA, &attempt);
    curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(call.part->bytes));
  } else if (call.method == "POST" || call.method == "PUT") {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, call.body.c_str());
  }
  if (call.method != "GET" && call.method != "HEAD")
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  headers.add("Expect:");  // Nobody waits for a "100 Continue".
  for (const auto& line : call.headers) headers.add(line);
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.first);
}

bool start_curl() {
  static const bool started = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return started;
}

}  // namespace

std::string WebReply::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

WebClient::~WebClient() {
  for (auto* handle : idle_) curl_easy_cleanup(handle);
}

CURL* WebClient::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return start_curl() ? curl_easy_init() : nullptr;
  auto* handle = idle_.back();
  idle_.pop_back();
  curl_easy_reset(handle);  // its connections stay
  return handle;
}

void WebClient::give(CURL* handle) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(handle);
}

WebReply WebClient::send(const WebCall& call) {
  for (int number = 0;; ++number) {
    if (call.restart) call.restart();
    auto* handle = take();
    if (handle == nullptr) throw Failure(Error(ErrorCode::Internal, "cannot initialize libcurl"));
    Attempt attempt{.call = call, .handle = handle};
    HeaderList headers;
    prepare(attempt, headers);
    const auto code = curl_easy_perform(handle);
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    give(handle);
    if (attempt.failure) throw Failure(*attempt.failure);
    attempt.reply.status = static_cast<int>(status);
    const bool last = number + 1 >= call.attempts;
    if (code == CURLE_OK && (last || !may_pass(attempt.reply.status))) return std::move(attempt.reply);
    if (code != CURLE_OK && (last || !may_pass(code)))
      throw Failure(Error(ErrorCode::Unavailable,
                          fmt::format("no response from {}: {}", call.url.substr(0, call.url.find('?')),
                                      curl_easy_strerror(code))));
    std::this_thread::sleep_for(delay_after(number, attempt.reply));
  }
}

namespace {

/// What is between <name> and </name>, at the first place where they are.
std::string element(const std::string& text, const std::string& name) {
  const auto from = text.find("<" + name + ">");
  if (from == std::string::npos) return {};
  const auto begin = from + name.size() + 2;
  const auto end = text.find("</" + name + ">", begin);
  return end == std::string::npos ? std::string() : text.substr(begin, end - begin);
}

/// The service's own words about what went wrong, from XML (S3, Azure) or JSON (Google).
std::string reason(const WebReply& reply) {
  if (const auto code = element(reply.body, "Code"); !code.empty())
    return fmt::format("{}: {}", code, element(reply.body, "Message"));
  if (const auto document = json::parse(reply.body); document && document->is_object()) {
    if (const auto* error = document->get_object().if_contains("error"))
      if (const auto* message = error->is_object() ? error->get_object().if_contains("message") : error;
          message != nullptr && message->is_string())
        return std::string(message->get_string());
    if (const auto* words = document->get_object().if_contains("error_description");
        words && words->is_string())
      return std::string(words->get_string());
  }
  if (reply.body.empty() || reply.body.size() > 300 || reply.body.front() == '<')
    return fmt::format("status {}", reply.status);
  return fmt::format("status {}: {}", reply.status, reply.body);
}

ErrorCode code_of(int status) {
  if (status == 404) return ErrorCode::NotFound;
  if (status == 401 || status == 403) return ErrorCode::PermissionDenied;
  if (status == 507) return ErrorCode::ResourceExhausted;
  return status >= 500 || may_pass(status) ? ErrorCode::Unavailable : ErrorCode::FailedPrecondition;
}

}  // namespace

void check_reply(const WebReply& reply, const std::string& doing) {
  if (reply.status >= 200 && reply.status < 300) return;
  throw Failure(Error(code_of(reply.status), fmt::format("cannot {}: {}", doing, reason(reply))));
}

}  // namespace det::checkpoint
