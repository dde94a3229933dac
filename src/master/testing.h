#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <future>
#include <thread>

#include "det/api/agent.h"
#include "det/http/client/client.h"
#include "det/http/routing/status.h"
#include "det/http/wire/wire.h"
#include "det/master/logs/log_ring.h"
#include "det/master/master.h"

/// A whole master in this process, spoken to over HTTP as users, agents and trials do.
namespace det::master::testing {

struct Answer {
  int status = 0;
  json::value body;
  std::string text;
};

class MasterTest : public ::testing::Test {
 protected:
  MasterTest() {
    static std::atomic<int> number{0};
    directory_ =
        std::filesystem::temp_directory_path() / fmt::format("master-test-{}-{}", ::getpid(), ++number);
    std::filesystem::remove_all(directory_);
    start();
    user_ = log_in("determined");
    admin_ = log_in("admin");
  }
  ~MasterTest() override {
    stop();
    std::filesystem::remove_all(directory_);
  }

  void start() {
    context_ = std::make_unique<boost::asio::io_context>(1);
    MasterOptions options{.directory = directory_, .port = 0, .log = log_, .webhooks = webhooks_};
    options.authz = authz_;
    options.rate_limit = rate_limit_;
    options.pools = pools_;
    options.providers = providers_;
    options.checkpoint_undo_seconds = undo_seconds_;
    auto opened = Master::open(context_->get_executor(), std::move(options));
    ASSERT_TRUE(opened) << opened.error().message();
    master_ = *std::move(opened);
    const auto listening = master_->listen();
    ASSERT_TRUE(listening) << listening.error().message();
    url_ = *http::parse_url(fmt::format("http://127.0.0.1:{}", master_->port()));
    thread_ = std::thread([this] { context_->run(); });
  }
  void stop() {
    if (master_ == nullptr) return;
    std::promise<void> stopped;
    boost::asio::co_spawn(*context_, master_->stop(), [&](std::exception_ptr) { stopped.set_value(); });
    stopped.get_future().wait();
    context_->stop();
    thread_.join();
    master_.reset();
    context_.reset();
  }
  void restart() {
    stop();
    start();
  }

  // Calls, as whoever holds the token.
  Answer call(const std::string& token, std::string method, std::string path,
              const json::value& body = nullptr) {
    return call_text(token, std::move(method), std::move(path), body.is_null() ? "" : json::serialize(body));
  }
  Answer call_text(const std::string& token, std::string method, std::string path, std::string body) {
    http::Client client(url_);
    http::Call call{.method = std::move(method), .path = std::move(path), .headers = headers(token)};
    call.body = std::move(body);
    const auto reply = client.request(std::move(call));
    if (!reply) return {0, nullptr, reply.error().message()};
    const auto parsed = json::parse(reply->body);
    return {reply->status, parsed ? *parsed : json::value(), reply->body};
  }
  static http::Headers headers(const std::string& token) {
    http::Headers headers;
    if (!token.empty()) headers.set("Authorization", "Bearer " + token);
    return headers;
  }
  /// A new user without a password, and its token.
  std::string make_user(const std::string& name) {
    const auto made = call(admin_, "POST", "/api/v1/users", json::object{{"user", {{"username", name}}}});
    EXPECT_EQ(made.status, 200) << made.text;
    return log_in(name);
  }
  std::string log_in(const std::string& name) {
    const auto answer =
        call("", "POST", "/api/v1/auth/login", json::object{{"username", name}, {"password", ""}});
    EXPECT_EQ(answer.status, 200) << answer.text;
    return std::string(answer.body.at("token").get_string());
  }

  /// Submits an experiment, of one trial that trains 1000 batches unless `more` has a searcher; its id.
  std::int64_t submit(const std::string& more = "") {
    const std::string searcher = "searcher: {name: single, metric: loss, max_length: {batches: 1000}}\n";
    const auto config =
        "name: tested\nentrypoint: model:Trial\nhyperparameters: {global_batch_size: 8}\n" +
        std::string(more.find("max_restarts:") == std::string::npos ? "max_restarts: 1\n" : "") +
        (more.find("searcher:") == std::string::npos ? searcher : "") + more;
    const auto answer = call(user_, "POST", "/api/v1/experiments", json::object{{"config", config}});
    EXPECT_EQ(answer.status, 200) << answer.text;
    return *json::to_int64(answer.body.at("experiment").at("id"));
  }
  json::value experiment(std::int64_t id) {
    return call(user_, "GET", fmt::format("/api/v1/experiments/{}", id)).body.at("experiment");
  }
  /// The token of an agent.
  std::string agent_token() const { return master_->agent_token(); }

  /// Says what the agent has, as it says it; what it shall have.
  api::SyncReply sync(const std::string& agent, int slots, std::vector<api::AllocationReport> has = {}) {
    api::SyncRequest request{
        .session = "session", .sequence = ++sequence_, .version = "1", .hostname = agent};
    request.resource_pool = "default";
    for (int i = 0; i < slots; ++i) request.slots.push_back({.id = i});
    request.allocations = std::move(has);
    const auto answer =
        call(agent_token(), "POST", fmt::format("/api/v1/agents/{}/sync", agent), http::to_wire(request));
    EXPECT_EQ(answer.status, 200) << answer.text;
    const auto reply = http::from_wire<api::SyncReply>(answer.body);
    EXPECT_TRUE(reply) << answer.text;
    return reply ? *reply : api::SyncReply{};
  }
  /// Whether it becomes true within five seconds.
  template <typename Condition>
  bool comes_true(Condition condition) {
    for (int i = 0; i < 500 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return condition();
  }
  /// Ends the allocation with this status.
  void exit(const std::string& agent, int slots, const std::string& allocation, int code) {
    sync(agent, slots,
         {{.allocation_id = allocation,
           .state = api::AllocationState::exited,
           .exits = {{.rank = 0, .code = code}}}});
  }
  Answer report(const api::DesiredAllocation& task, const std::string& group, std::int64_t batches,
                const json::value& loss) {
    const json::object metrics{{"trialId", task.trial_id.value()},
                               {"stepsCompleted", batches},
                               {"metrics", {{"avgMetrics", {{"loss", loss}}}}}};
    return call(task.token, "POST", fmt::format("/api/v1/trials/{}/metrics", task.trial_id),
                json::object{{"group", group}, {"metrics", metrics}});
  }

  std::filesystem::path directory_;
  std::unique_ptr<boost::asio::io_context> context_;
  std::unique_ptr<Master> master_;
  std::shared_ptr<LogRing> log_;
  WebhookSettings webhooks_;                             ///< from the next start on
  access::Mode authz_ = access::Mode::Basic;             ///< of the next start
  access::RateLimit::Limits rate_limit_{};               ///< the same
  cluster::Pools pools_{};                               ///< the same
  std::map<std::string, ProviderSettings> providers_{};  ///< the same
  std::int64_t undo_seconds_ = 0;                        ///< the same
  std::thread thread_;
  http::Url url_;
  std::string user_, admin_;
  std::int64_t sequence_ = 0;
};

}  // namespace det::master::testing
