#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "det/base/json.h"
#include "det/base/random.h"
#include "det/http/routing/status.h"
#include "det/http/server/server.h"

namespace det::trial {

namespace asio = boost::asio;

/// For tests: the trial's side of a master over real HTTP. Remembers what it
/// has answered yes to, and can be told to misbehave.
class FakeMaster {
 public:
  explicit FakeMaster(std::uint32_t seed = 0)
      : random_(seed), server_(context_.get_executor(), [this](http::Request request) {
          return handle(std::move(request));
        }) {
    if (!server_.listen("127.0.0.1", 0)) std::abort();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~FakeMaster() {
    context_.stop();
    thread_.join();
  }

  http::Url url() const {
    http::Url url;
    url.host = "127.0.0.1";
    url.port = server_.port();
    return url;
  }

  /// What is changed while calls are served is changed under this.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  int fault_percent = 0;  ///< of calls get an outage: before they count, or only their answer is lost
  bool gone = false;
  bool preempt = false;
  std::string wish = "WAIT";
  int refuse_status = 0;       ///< of metrics
  bool without_begin = false;  ///< does not know that call
  bool hold = false;           ///< metrics are not answered as long
  std::string operations = R"({"operations":[],"closed":false,"unit":"batches"})";
  std::optional<std::string> best;
  std::string rendezvous = R"({"addresses":[]})";

  int calls = 0;
  int faults = 0;
  int polls = 0;
  std::set<std::string> tokens;
  std::vector<std::string> log;      ///< what took effect, in order: "POST /path body"
  std::vector<json::object> bodies;  ///< the bodies to that

 private:
  asio::awaitable<http::Response> handle(http::Request request) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    const bool is_poll = request.target.find("timeout_seconds") != std::string::npos;
    for (int waited = 0;; ++waited) {
      bool again = false;
      {
        const std::lock_guard guard(mutex_);
        again = waited < 20'000 && !gone &&
                ((hold && request.path.ends_with("/metrics")) ||
                 (request.path.ends_with("/preemption") && !preempt) ||
                 (request.path.ends_with("/operation") && waiting_for_operations(request, waited)));
      }
      if (!again) break;
      timer.expires_after(std::chrono::milliseconds(1));
      co_await timer.async_wait(asio::use_awaitable);
    }
    const std::lock_guard guard(mutex_);
    ++calls;
    polls += is_poll ? 1 : 0;
    tokens.insert(http::bearer_token(request).value_or(""));
    if (gone) co_return http::error_response(Error(ErrorCode::Gone, "the allocation has ended"));
    const bool fault = random_.below(100) < fault_percent;
    faults += fault ? 1 : 0;
    const auto kind = fault ? random_.below(5) : -1;
    if (kind == 0) co_return http::json_response("{}", 503);
    if (kind == 1) co_return http::json_response("<html>bad gateway</html>", 502);
    if (kind == 2) co_return cut();
    auto response = answer(request);
    if (kind >= 3) co_return cut();  // it has taken effect, but nobody hears of it
    co_return response;
  }

  bool waiting_for_operations(const http::Request& request, int waited_milliseconds) const {
    const auto parsed = *json::parse(operations);
    const auto known = std::stoul(*request.query.find("known"));
    const double timeout = std::stod(*request.query.find("timeout_seconds"));
    return parsed.at("operations").get_array().size() <= known && !parsed.at("closed").get_bool() &&
           waited_milliseconds < timeout * 1000;
  }

  /// Breaks the connection in the middle of an answer.
  static http::Response cut() {
    http::Response response;
    response.stream = [](http::StreamWriter& writer) -> asio::awaitable<void> {
      co_await writer.write("{");
      throw std::runtime_error("cut");
    };
    return response;
  }

  http::Response answer(const http::Request& request) {
    if (request.path.ends_with("/operation")) return http::json_response(operations);
    if (request.path.ends_with("/preemption"))
      return http::json_response(preempt ? R"({"preempt":true,"preemption":1})" : R"({"preempt":false})");
    if (request.path.ends_with("/wish")) return http::json_response(R"({"wish":")" + wish + R"("})");
    if (request.path.ends_with("/best_searcher_validation_metric")) {
      if (!best) return http::error_response(Error(ErrorCode::NotFound, "no validation yet"));
      return http::json_response(*best);
    }
    if (request.method == "GET" && request.path.ends_with("/rendezvous"))
      return http::json_response(rendezvous);
    if (without_begin && request.path.ends_with("/checkpoints/begin"))
      return http::error_response(Error(ErrorCode::Unimplemented, "there is no " + request.path));
    if (refuse_status != 0 && request.path.ends_with("/metrics"))
      return http::error_response(Error(http::code_of(refuse_status), "metric \"x\" is refused"));
    auto line = request.method + " " + request.path + " " + request.body;
    if (seen_.insert(line).second) {  // a repeated report changes nothing
      log.push_back(std::move(line));
      bodies.push_back(json::parse(request.body)->as_object());
    }
    return http::json_response("{}");
  }

  std::mutex mutex_;
  Random random_;
  std::set<std::string> seen_;
  asio::io_context context_{1};
  http::Server server_;
  std::thread thread_;
};

}  // namespace det::trial
