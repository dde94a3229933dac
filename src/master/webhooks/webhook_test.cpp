#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <condition_variable>
#include <mutex>

#include "det/http/server/server.h"
#include "det/master/testing.h"
#include "det/master/webhooks/webhook_events.h"
#include "det/store/store.h"

namespace det::master {
namespace {

using ::testing::HasSubstr;

/// A server that webhooks name: it keeps what it gets, and answers as it is told.
class Receiver {
 public:
  Receiver()
      : server_(context_.get_executor(), [this](http::Request request) { return take(std::move(request)); }) {
    EXPECT_TRUE(server_.listen("127.0.0.1", 0));
    thread_ = std::thread([this] { context_.run(); });
  }
  ~Receiver() {
    context_.stop();
    thread_.join();
  }
  std::string url() const { return fmt::format("http://127.0.0.1:{}/hook?key=1", server_.port()); }
  /// The statuses of the next answers; 200 after them.
  void answer(std::vector<int> statuses) {
    const std::lock_guard lock(mutex_);
    statuses_ = std::move(statuses);
  }
  std::vector<http::Request> wait_for(std::size_t count,
                                      std::chrono::seconds limit = std::chrono::seconds(20)) {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, limit, [&] { return got_.size() >= count; });
    EXPECT_GE(got_.size(), count);
    return got_;
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return got_.size();
  }

 private:
  boost::asio::awaitable<http::Response> take(http::Request request) {
    http::Response response;
    {
      const std::lock_guard lock(mutex_);
      got_.push_back(std::move(request));
      if (!statuses_.empty()) {
        response.status = statuses_.front();
        statuses_.erase(statuses_.begin());
      }
      if (response.status / 100 == 3) response.headers.set("Location", "/elsewhere");
    }
    arrived_.notify_all();
    co_return response;
  }

  boost::asio::io_context context_{1};
  http::Server server_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<http::Request> got_;
  std::vector<int> statuses_;
};

class WebhookTest : public testing::MasterTest {
 protected:
  WebhookTest() {
    stop();
    webhooks_ = {.signing_key = "secret", .base_url = "", .allowed = {*parse_network("127.0.0.0/8")}};
    start();
  }

  static json::object trigger(const char* type, json::object condition) {
    return {{"triggerType", std::string("TRIGGER_TYPE_") + type}, {"condition", std::move(condition)}};
  }
  json::object webhook(json::array triggers) {
    return {{"name", "team"},
            {"url", receiver_.url()},
            {"webhookType", "WEBHOOK_TYPE_DEFAULT"},
            {"triggers", std::move(triggers)}};
  }
  std::int64_t create(const json::object& body) {
    const auto answer = call(admin_, "POST", "/api/v1/webhooks", body);
    EXPECT_EQ(answer.status, 200) << answer.text;
    return answer.status == 200 ? *json::to_int64(answer.body.at("webhook").at("id")) : 0;
  }
  std::int64_t on_end(const char* state) {
    return create(webhook({trigger("EXPERIMENT_STATE_CHANGE", {{"state", state}})}));
  }
  /// Runs the newest experiment, which the agent was given, to its end.
  void complete(const api::DesiredAllocation& task) {
    call(task.token, "POST", fmt::format("/api/v1/trials/{}/searcher/completed_operation", task.trial_id),
         json::object{{"op", {{"validateAfter", {{"length", "1000"}}}}}, {"searcherMetric", 0.5}});
    exit("a", 1, task.allocation_id, 0);
  }
  void log(const api::DesiredAllocation& task, std::int64_t sequence, const std::string& text) {
    const api::LogEntry entry{
        .rank = 0, .stdtype = "stdout", .sequence = sequence, .timestamp = Time{5}, .log = text};
    api::LogBatch batch{.allocation_id = task.allocation_id, .entries = {entry}};
    const auto answer = call(agent_token(), "POST", "/api/v1/agents/a/logs", http::to_wire(batch));
    EXPECT_EQ(answer.status, 200) << answer.text;
  }
  /// The state of the webhook's latest delivery; null without any.
  json::value newest_delivery(std::int64_t webhook) {
    const auto answer = call(admin_, "GET", fmt::format("/api/v1/webhooks/{}/deliveries", webhook));
    const auto& all = answer.body.at("deliveries").as_array();
    return all.empty() ? json::value() : all.front().at("state");
  }
  /// What is stored as not delivered.
  std::size_t undelivered() {
    stop();
    auto store = *store::open_sqlite({.path = directory_ / "determined.db", .on_stall = {}});
    const auto count = store->deliveries().size();
    store.reset();
    start();
    return count;
  }

  Receiver receiver_;
};

TEST_F(WebhookTest, TheEndOfAnExperimentIsToldOnceSigned) {
  on_end("COMPLETED");
  const auto id = submit();
  complete(sync("a", 1).desired.at(0));
  const auto got = receiver_.wait_for(1).at(0);
  const auto body = *json::parse(got.body);
  EXPECT_EQ(body.at("event_type").get_string(), "EXPERIMENT_STATE_CHANGE");
  EXPECT_EQ(*json::to_int64(body.at("event_data").at("experiment").at("id")), id);
  EXPECT_EQ(body.at("event_data").at("experiment").at("state").get_string(), "COMPLETED");
  EXPECT_EQ(body.at("event_data").at("experiment").at("project").get_string(), "Uncategorized");
  const auto time = *got.headers.find("X-Determined-AI-Signature-Timestamp");
  EXPECT_EQ(*got.headers.find("X-Determined-AI-Signature"),
            signature_of("secret", std::stoll(time), got.body));
  // Other changes of what is over tell nothing.
  call(user_, "PATCH", fmt::format("/api/v1/experiments/{}", id), json::object{{"name", "renamed"}});
  restart();
  call(user_, "PATCH", fmt::format("/api/v1/experiments/{}", id), json::object{{"name", "again"}});
  const auto failing = submit("max_restarts: 0\n");
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", failing));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(receiver_.count(), 1u);
  EXPECT_EQ(undelivered(), 0u);
}

/// Lets the process write nothing to files while it lives: the disk is full.
class FullDisk {
 public:
  FullDisk() {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{1, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(WebhookTest, NothingIsToldOfAStateThatIsNotSaved) {
  on_end("COMPLETED");
  submit();
  const auto task = sync("a", 1).desired.at(0);
  std::thread ends;
  {
    const FullDisk full;
    ends = std::thread([&] { complete(task); });
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    EXPECT_EQ(receiver_.count(), 0u) << "the end is not on the disk yet, and could be lost";
    const auto refused = call(user_, "PATCH", "/api/v1/experiments/1", json::object{{"name", "other"}});
    EXPECT_EQ(refused.status, 503);
    EXPECT_NE(refused.text.find("the disk of the master is full"), std::string::npos) << "and not silence";
  }
  ends.join();
  receiver_.wait_for(1);
}

TEST_F(WebhookTest, WhatIsNotTakenIsToldAgainAlsoByTheNextMaster) {
  receiver_.answer({500, 503});
  on_end("COMPLETED");
  submit();
  complete(sync("a", 1).desired.at(0));
  receiver_.wait_for(1);
  restart();
  const auto got = receiver_.wait_for(3);
  EXPECT_EQ(json::parse(got[0].body)->at("event_id"), json::parse(got[2].body)->at("event_id"));
  EXPECT_EQ(got[0].body, got[2].body);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the answer is on its way
  EXPECT_EQ(undelivered(), 0u);
}

TEST_F(WebhookTest, ItsDeliveriesAreListedWithWhatBecameOfThem) {
  const auto id = on_end("COMPLETED");
  const auto path = fmt::format("/api/v1/webhooks/{}/deliveries", id);
  const auto after = [&](const char* outcome) {
    json::value newest;
    for (int attempt = 0; attempt < 200; ++attempt) {
      const auto all = call(admin_, "GET", path).body.at("deliveries").as_array();
      if (!all.empty()) newest = all.front();
      if (!all.empty() && newest.at("outcome") == outcome) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return newest;
  };
  EXPECT_EQ(call(admin_, "GET", path).body.at("deliveries"), json::array());
  receiver_.answer({503, 410});
  const auto first = submit();
  complete(sync("a", 1).desired.at(0));
  const auto waiting = after("it answered with status 503");
  EXPECT_EQ(waiting.at("state"), "DELIVERY_STATE_WAITING");
  EXPECT_EQ(waiting.at("event"), json::value(fmt::format("EXPERIMENT_STATE_CHANGE of experiment {}", first)));
  const auto over = after("it answered with status 410");
  EXPECT_EQ(over.at("state"), "DELIVERY_STATE_GIVEN_UP");
  EXPECT_EQ(*json::to_int64(over.at("attempts")), 2);
  EXPECT_EQ(call(user_, "GET", path).status, 403);
  EXPECT_EQ(call(admin_, "GET", "/api/v1/webhooks/99/deliveries").status, 404);
}

TEST_F(WebhookTest, ARefusalAndARedirectionAreFinal) {
  receiver_.answer({404, 302});
  on_end("COMPLETED");
  for (int i = 0; i < 2; ++i) {
    submit();
    complete(sync("a", 1).desired.at(0));
  }
  receiver_.wait_for(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(receiver_.count(), 2u);
  EXPECT_EQ(undelivered(), 0u);
}

TEST_F(WebhookTest, ALogLineThatFitsIsToldOnceATask) {
  const auto id = create(webhook({trigger("TASK_LOG", {{"regex", "out of (memory|space)"}})}));
  submit();
  const auto task = sync("a", 1).desired.at(0);
  log(task, 1, "all is well");
  log(task, 2, "CUDA out of memory at 5");
  log(task, 3, "CUDA out of memory again");
  log(task, 2, "CUDA out of memory at 5");
  const auto body = *json::parse(receiver_.wait_for(1).at(0).body);
  EXPECT_EQ(body.at("event_type").get_string(), "TASK_LOG");
  const auto& line = body.at("event_data").at("task_log");
  EXPECT_EQ(line.at("triggering_log").get_string(), "CUDA out of memory at 5");
  EXPECT_EQ(line.at("task_id").get_string(), task.task_id);
  EXPECT_EQ(*json::to_int64(body.at("event_data").at("experiment").at("trial_id")), task.trial_id.value());
  for (int i = 0; i < 500 && newest_delivery(id) != "DELIVERY_STATE_DELIVERED"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  restart();  // what the receiver has and the master does not know of would be delivered again
  log(task, 4, "out of space");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(receiver_.count(), 1u);
}

TEST_F(WebhookTest, AProgramTellsThoseThatItsExperimentNames) {
  auto specific = webhook({trigger("CUSTOM", {})});
  specific["mode"] = "WEBHOOK_MODE_SPECIFIC";
  create(specific);
  submit();
  const auto other = sync("a", 2).desired.at(0);
  const auto id = submit("integrations: {webhooks: {webhook_name: [team]}}\n");
  api::DesiredAllocation task;
  for (const auto& desired : sync("a", 2).desired)
    if (desired.trial_id != other.trial_id) task = desired;
  const json::object event{
      {"experimentId", id},
      {"trialId", task.trial_id.value()},
      {"data", {{"title", "disk"}, {"description", "full"}, {"level", "LOG_LEVEL_WARNING"}}}};
  EXPECT_EQ(call(other.token, "POST", "/api/v1/webhooks/custom", event).status, 403);
  EXPECT_EQ(call("", "POST", "/api/v1/webhooks/custom", event).status, 401);
  EXPECT_EQ(call(task.token, "POST", "/api/v1/webhooks/custom", event).status, 200);
  const auto body = *json::parse(receiver_.wait_for(1).at(0).body);
  EXPECT_EQ(json::serialize(body.at("event_data").at("custom_data")),
            R"({"title":"disk","description":"full","level":"LOG_LEVEL_WARNING"})");
  auto unnamed = event;
  unnamed["experimentId"] = id - 1;
  EXPECT_EQ(call(other.token, "POST", "/api/v1/webhooks/custom", unnamed).status, 200);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(receiver_.count(), 1u);
}

TEST_F(WebhookTest, WhoMayNotChangeAWebhookSeesOnlyItsHost) {
  const auto id = on_end("ERROR");
  const auto one = fmt::format("/api/v1/webhooks/{}", id);
  const auto seen = call(user_, "GET", "/api/v1/webhooks").body.at("webhooks").at(0).at("url");
  EXPECT_THAT(std::string(seen.get_string()), HasSubstr("http://127.0.0.1:"));
  EXPECT_EQ(seen.get_string().find("key"), std::string::npos);
  EXPECT_THAT(call(admin_, "GET", "/api/v1/webhooks").text, HasSubstr("/hook?key=1"));
  EXPECT_EQ(call(user_, "DELETE", one).status, 403);
  EXPECT_EQ(call(user_, "PATCH", one, json::object{{"url", "https://example.com"}}).status, 403);
  EXPECT_EQ(call(user_, "POST", one + "/test", json::object{}).status, 403);
  auto body = webhook({trigger("EXPERIMENT_STATE_CHANGE", {{"state", "ERROR"}})});
  EXPECT_EQ(call(user_, "POST", "/api/v1/webhooks", body).status, 403);
  // The owner of a workspace has webhooks there.
  const auto made = call(user_, "POST", "/api/v1/workspaces", json::object{{"name", "mine"}});
  body["workspaceId"] = made.body.at("workspace").at("id");
  EXPECT_EQ(call(user_, "POST", "/api/v1/webhooks", body).status, 200);
  EXPECT_EQ(call(user_, "POST", "/api/v1/webhooks", body).status, 409) << "the name is taken";
  EXPECT_EQ(call(admin_, "PATCH", one, json::object{{"url", "https://example.com/other"}}).status, 200);
  EXPECT_THAT(call(admin_, "GET", "/api/v1/webhooks").text, HasSubstr("example.com/other"));
  EXPECT_EQ(call(admin_, "DELETE", one).status, 200);
  EXPECT_EQ(call(admin_, "DELETE", one).status, 404);
  // Webhooks go with their workspace, and ids are not used again.
  EXPECT_EQ(call(user_, "DELETE", fmt::format("/api/v1/workspaces/{}", *json::to_int64(body["workspaceId"])))
                .status,
            200);
  EXPECT_EQ(call(user_, "GET", "/api/v1/webhooks").body.at("webhooks").get_array().size(), 0u);
  restart();
  EXPECT_EQ(on_end("ERROR"), id + 2);
}

TEST_F(WebhookTest, WhatIsWrongWithAWebhookIsSaid) {
  const json::object fine = trigger("EXPERIMENT_STATE_CHANGE", {{"state", "ERROR"}});
  struct Case {
    json::object body;
    const char* says;
  };
  const auto with = [&](const char* member, json::value value) {
    auto body = webhook({fine});
    body[member] = std::move(value);
    return body;
  };
  const std::vector<Case> cases = {
      {webhook({}), "at least one trigger"},
      {with("url", "/hook"), "it must be absolute"},
      {with("url", "ftp://example.com"), "http:// or https://"},
      {with("url", "http://169.254.169.254/latest"), "169.254.169.254 is a link-local address"},
      {with("webhookType", "WEBHOOK_TYPE_FAX"), "WEBHOOK_TYPE_FAX"},
      {with("mode", "x"), "WEBHOOK_MODE_SPECIFIC"},
      {with("workspaceId", 77), "workspace 77 not found"},
      {webhook({trigger("EXPERIMENT_STATE_CHANGE", {{"state", "ACTIVE"}})}), "'ACTIVE'"},
      {webhook({trigger("TASK_LOG", {{"regex", "a(b"}})}), "a(b"},
      {webhook({trigger("TASK_LOG", {})}), "regex"},
      {webhook({trigger("CUSTOM", {})}), "WEBHOOK_MODE_SPECIFIC"},
      {webhook({trigger("METRIC_THRESHOLD_EXCEEDED", {})}), "METRIC_THRESHOLD_EXCEEDED"}};
  for (const auto& [body, says] : cases) {
    const auto answer = call(admin_, "POST", "/api/v1/webhooks", body);
    EXPECT_EQ(answer.status / 100, 4) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(says));
  }
}

TEST_F(WebhookTest, ATestSaysWhatBecameOfIt) {
  const auto id = on_end("ERROR");
  const auto path = fmt::format("/api/v1/webhooks/{}/test", id);
  EXPECT_EQ(call(admin_, "POST", path, json::object{}).status, 200);
  EXPECT_THAT(receiver_.wait_for(1).at(0).body, HasSubstr(R"("data":"test")"));
  receiver_.answer({418});
  EXPECT_THAT(call(admin_, "POST", path, json::object{}).text, HasSubstr("status 418"));
  call(admin_, "PATCH", fmt::format("/api/v1/webhooks/{}", id), json::object{{"url", "http://127.0.0.1:9/"}});
  EXPECT_EQ(call(admin_, "POST", path, json::object{}).status / 100, 4);
}

TEST_F(WebhookTest, NoSpellingOfAnAddressLeadsToServicesBesideTheMaster) {
  stop();
  webhooks_.allowed.clear();
  start();
  const auto port = receiver_.url().substr(std::string("http://127.0.0.1").size());
  // Whatever is not seen as an address when it is made is refused when it is called.
  for (const auto* host : {"127.0.0.1",
                           "localhost",
                           "LOCALHOST",
                           "localhost.",
                           "a.localhost",
                           "127.1",
                           "127.0.1",
                           "127.000.000.001",
                           "0177.0.0.1",
                           "0x7f.0.0.1",
                           "0x7f000001",
                           "0x7F.1",
                           "2130706433",
                           "017700000001",
                           "0",
                           "0.0.0.0",
                           "127.0.0.1.",
                           "%31%32%37.0.0.1",
                           "[::1]",
                           "[0:0:0:0:0:0:0:1]",
                           "[::]",
                           "[::ffff:127.0.0.1]",
                           "[::ffff:7f00:1]",
                           "[0:0:0:0:0:ffff:7f00:0001]",
                           "[::127.0.0.1]",
                           "[64:ff9b::7f00:1]",
                           "[fe80::1%25lo]",
                           "10.0.0.1",
                           "172.16.5.4",
                           "192.168.0.1",
                           "169.254.169.254",
                           "0xa9fea9fe",
                           "2852039166",
                           "[fd00:ec2::254]",
                           "100.100.100.200",
                           "192.0.0.192",
                           "\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.0.0.1",
                           "127。0。0。1",
                           "[::ffff:a9fe:a9fe]",
                           "127.0.0.1%00.example.com"}) {
    auto body = webhook({trigger("EXPERIMENT_STATE_CHANGE", {{"state", "ERROR"}})});
    body["url"] = "http://" + std::string(host) + port;
    body["name"] = "";
    const auto made = call(admin_, "POST", "/api/v1/webhooks", body);
    if (made.status == 400) continue;
    ASSERT_EQ(made.status, 200) << host << made.text;
    const auto id = *json::to_int64(made.body.at("webhook").at("id"));
    const auto tested = call(admin_, "POST", fmt::format("/api/v1/webhooks/{}/test", id), json::object{});
    EXPECT_EQ(tested.status / 100, 4) << host << tested.text;
  }
  EXPECT_EQ(receiver_.count(), 0u);
}

}  // namespace
}  // namespace det::master
