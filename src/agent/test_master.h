#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "det/agent/testing.h"
#include "det/api/agent.h"
#include "det/base/text.h"
#include "det/http/routing/status.h"
#include "det/http/server/server.h"
#include "det/http/wire/wire.h"

namespace det::agent::testing {

namespace asio = boost::asio;

/// A master as an agent sees it: a real HTTP server that wants what a test
/// tells it to want, and keeps what it is told. It acknowledges exits by itself.
class TestMaster {
 public:
  TestMaster() {
    server_ = std::make_unique<http::Server>(
        context_.get_executor(), [this](http::Request request) { return handle(std::move(request)); },
        options());
    EXPECT_TRUE(server_->listen("127.0.0.1", port_));
    port_ = server_->port();
    thread_ = std::thread([this] {
      const auto guard = asio::make_work_guard(context_);
      context_.run();
    });
  }
  ~TestMaster() {
    context_.stop();
    thread_.join();
    server_.reset();
  }

  std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }

  void want(api::DesiredAllocation allocation) {
    const std::lock_guard lock(mutex_);
    desired_[allocation.allocation_id] = std::move(allocation);
    ++version_;
  }
  void want_no_more(const std::string& id) {
    const std::lock_guard lock(mutex_);
    desired_.erase(id);
    ++version_;
  }
  void kill(const std::string& id, double grace) {
    const std::lock_guard lock(mutex_);
    desired_[id].kill = true;
    desired_[id].grace_seconds = grace;
    ++version_;
  }
  /// While set, every call is answered 503: as if the master were down.
  void set_away(bool away) {
    const std::lock_guard lock(mutex_);
    away_ = away;
  }
  /// The answer of every n-th log batch is lost after the lines are stored.
  void lose_log_answers(int every) {
    const std::lock_guard lock(mutex_);
    lose_every_ = every;
  }
  void set_lease(std::int64_t milliseconds) {
    const std::lock_guard lock(mutex_);
    lease_ = milliseconds;
  }
  /// Requests for model definitions are answered 503.
  void set_models_away(bool away) {
    const std::lock_guard lock(mutex_);
    models_away_ = away;
  }
  int model_requests() {
    const std::lock_guard lock(mutex_);
    return model_requests_;
  }
  void set_model(const std::string& digest, std::string archive) {
    const std::lock_guard lock(mutex_);
    models_[digest] = std::move(archive);
  }

  api::AllocationReport report(const std::string& id) {
    const std::lock_guard lock(mutex_);
    return reports_[id];
  }
  bool running(const std::string& id) { return report(id).state == api::AllocationState::running; }
  bool exited(const std::string& id) { return report(id).state == api::AllocationState::exited; }
  /// All lines of one stream, joined; checks that no sequence number is missing.
  std::string log(const std::string& id, const std::string& stdtype = "stdout", int rank = 0) {
    const std::lock_guard lock(mutex_);
    std::string text;
    std::int64_t next = 0;
    for (const auto& [sequence, entry] : logs_[fmt::format("{}/{}/{}", id, rank, stdtype)]) {
      EXPECT_EQ(sequence, next++);
      text += (entry.encoding == "base64" ? base64_decode(entry.log).value() : entry.log) +
              (entry.partial ? "" : "\n");
    }
    return text;
  }
  /// Lines that came again with other content: must stay 0.
  int contradictions() {
    const std::lock_guard lock(mutex_);
    return contradictions_;
  }
  std::set<std::string> sessions() {
    const std::lock_guard lock(mutex_);
    return sessions_;
  }
  std::vector<api::SlotReport> slots() {
    const std::lock_guard lock(mutex_);
    return slots_;
  }

 private:
  static http::ServerOptions options() {
    http::ServerOptions options;
    options.body_max = 1 << 20;
    return options;
  }

  asio::awaitable<http::Response> handle(http::Request request) {
    {
      const std::lock_guard lock(mutex_);
      if (away_) co_return http::error_response(Error(ErrorCode::Unavailable, "away"));
    }
    if (http::bearer_token(request).value_or("") != "agent-token")
      co_return http::error_response(Error(ErrorCode::Unauthenticated, "wrong token"));
    if (request.path.ends_with("/sync")) co_return co_await sync(std::move(request));
    if (request.path.ends_with("/logs")) co_return store(request);
    const std::lock_guard lock(mutex_);
    ++model_requests_;
    if (models_away_) co_return http::error_response(Error(ErrorCode::Unavailable, "busy"));
    const auto model = models_.find(request.path.substr(request.path.rfind('/') + 1));
    if (model == models_.end())
      co_return http::error_response(Error(ErrorCode::NotFound, "no such model definition"));
    http::Response response;
    response.body = model->second;
    co_return response;
  }

  asio::awaitable<http::Response> sync(http::Request request) {
    auto message = http::from_wire_text<api::SyncRequest>(request.body);
    if (!message) co_return http::error_response(message.error());
    const auto wrong = api::problem(*message);
    if (wrong) co_return http::error_response(*wrong);
    {
      const std::lock_guard lock(mutex_);
      sessions_.insert(message->session);
      slots_ = message->slots;
      newest_ = message->sequence;
      session_ = message->session;
      for (auto& report : message->allocations) {
        if (report.state == api::AllocationState::exited) desired_.erase(report.allocation_id);
        reports_[report.allocation_id] = report;
      }
    }
    asio::steady_timer timer(context_);
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(message->wait_milliseconds);
    while (std::chrono::steady_clock::now() < until) {
      {
        const std::lock_guard lock(mutex_);
        const bool superseded = session_ != message->session || newest_ != message->sequence;
        if (version_ != message->known_version || superseded || away_) break;
      }
      timer.expires_after(std::chrono::milliseconds(2));
      co_await timer.async_wait(asio::use_awaitable);
    }
    const std::lock_guard lock(mutex_);
    api::SyncReply reply;
    reply.epoch = 1;
    reply.sequence = message->sequence;
    reply.version = version_;
    reply.lease_milliseconds = lease_;
    reply.cluster_id = "test-cluster";
    for (const auto& [id, allocation] : desired_) reply.desired.push_back(allocation);
    for (const auto& report : message->allocations)
      if (report.state == api::AllocationState::exited) reply.acknowledged.push_back(report.allocation_id);
    co_return http::json_response(http::to_wire_text(reply));
  }

  http::Response store(const http::Request& request) {
    auto batch = http::from_wire_text<api::LogBatch>(request.body);
    if (!batch) return http::error_response(batch.error());
    if (const auto wrong = api::problem(*batch)) return http::error_response(*wrong);
    const std::lock_guard lock(mutex_);
    for (const auto& entry : batch->entries) {
      const auto [at, fresh] =
          logs_[fmt::format("{}/{}/{}", batch->allocation_id, entry.rank, entry.stdtype)].emplace(
              entry.sequence, entry);
      if (!fresh && at->second != entry) ++contradictions_;
    }
    if (lose_every_ > 0 && ++batches_ % lose_every_ == 0)
      return http::error_response(Error(ErrorCode::Unavailable, "lost"));
    return http::json_response("{}");
  }

  std::mutex mutex_;
  std::map<std::string, api::DesiredAllocation> desired_;
  std::int64_t version_ = 1;
  bool away_ = false;
  bool models_away_ = false;
  int model_requests_ = 0;
  int lose_every_ = 0;
  int batches_ = 0;
  std::int64_t lease_ = 20'000;
  std::map<std::string, std::string> models_;
  std::map<std::string, api::AllocationReport> reports_;
  std::map<std::string, std::map<std::int64_t, api::LogEntry>> logs_;
  int contradictions_ = 0;
  std::set<std::string> sessions_;
  std::string session_;
  std::int64_t newest_ = 0;
  std::vector<api::SlotReport> slots_;

  std::uint16_t port_ = 0;
  asio::io_context context_{1};
  std::unique_ptr<http::Server> server_;
  std::thread thread_;
};

}  // namespace det::agent::testing
