// What platforms like this one have got wrong, over HTTP: each test is a row of docs/reference/defects.md.

#include <gmock/gmock.h>

#include <algorithm>

#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Defects : public testing::MasterTest {
 protected:
  void save(const api::DesiredAllocation& task, const std::string& uuid, int batches = 10) {
    const auto saved = call(task.token, "POST", "/api/v1/checkpoints",
                            json::object{{"uuid", uuid}, {"metadata", {{"steps_completed", batches}}}});
    ASSERT_EQ(saved.status, 200) << saved.text;
  }
  std::string state_of(const std::string& checkpoint) {
    const auto answer = call(user_, "GET", "/api/v1/checkpoints/" + checkpoint);
    return std::string(answer.body.at("checkpoint").at("state").as_string());
  }
  testing::Answer delete_checkpoint(const std::string& uuid) {
    return call(user_, "DELETE", "/api/v1/checkpoints", {{"checkpointUuids", json::array{uuid}}});
  }
  std::string state(std::int64_t id) { return std::string(experiment(id).at("state").as_string()); }
  void wait_for(std::int64_t id, const char* wanted) {
    for (int i = 0; i < 500 && state(id) != wanted; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_EQ(state(id), wanted);
  }
  /// Calls as a second process with the agent's id.
  testing::Answer sync_as(const std::string& session, const std::string& agent, const std::string& token) {
    api::SyncRequest request{
        .session = session, .sequence = 1, .version = "1", .hostname = "h-" + session, .slots = {{.id = 0}}};
    return call(token, "POST", fmt::format("/api/v1/agents/{}/sync", agent), http::to_wire(request));
  }
};

TEST_F(Defects, AnAgentThatNobodyKnowsGetsNothing) {
  submit();
  const auto before = json::serialize(call(user_, "GET", "/api/v1/agents").body);
  for (const auto& token : {std::string(), std::string("guessed"), user_}) {
    const auto refused = sync_as("s", "stranger", token);
    EXPECT_TRUE(refused.status == 401 || refused.status == 403) << refused.text;
    EXPECT_EQ(refused.text.find("desired"), std::string::npos) << refused.text;
  }
  EXPECT_EQ(json::serialize(call(user_, "GET", "/api/v1/agents").body), before);
}

TEST_F(Defects, ASecondAgentOfTheSameIdIsRefusedAndTheFirstIsNotDisturbed) {
  submit();
  const auto task = sync("a", 1).desired.at(0);
  const auto refused = sync_as("another", "a", agent_token());
  EXPECT_EQ(refused.status, 409) << refused.text;
  EXPECT_THAT(
      refused.text,
      HasSubstr("agent id 'a' is already in use by a connected agent on host a; give this agent another id"));
  const auto still =
      sync("a", 1, {{.allocation_id = task.allocation_id, .state = api::AllocationState::running}});
  ASSERT_EQ(still.desired.size(), 1u);
  EXPECT_EQ(still.desired[0].allocation_id, task.allocation_id);
  EXPECT_FALSE(still.desired[0].kill);
  const auto trial = call(user_, "GET", fmt::format("/api/v1/trials/{}", task.trial_id)).body.at("trial");
  EXPECT_EQ(json::serialize(trial.at("restarts")), "0");
}

TEST_F(Defects, AnExperimentThatIsStoppingWhenTheMasterRestartsEndsWithItsProcesses) {
  const auto canceled = submit();
  const auto killed = submit();
  auto tasks = sync("a", 2).desired;
  ASSERT_EQ(tasks.size(), 2u);
  if (tasks[0].experiment_id.value() != canceled) std::swap(tasks[0], tasks[1]);
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/cancel", canceled));
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", killed));
  restart();
  const std::vector<api::AllocationReport> run = {
      {.allocation_id = tasks[0].allocation_id, .state = api::AllocationState::running},
      {.allocation_id = tasks[1].allocation_id, .state = api::AllocationState::running}};
  const auto told = sync("a", 2, run);
  for (const auto& one : told.desired)
    EXPECT_EQ(one.kill, one.allocation_id == tasks[1].allocation_id) << "the other one may save first";
  const auto asked =
      call(tasks[0].token, "GET",
           fmt::format("/api/v1/allocations/{}/signals/preemption?timeoutSeconds=0", tasks[0].allocation_id));
  EXPECT_EQ(asked.body.at("preempt"), true) << asked.text;
  for (const auto& task : tasks)
    exit("a", 2, task.allocation_id, task.experiment_id.value() == killed ? 137 : 0);
  wait_for(canceled, "STATE_CANCELED");
  wait_for(killed, "STATE_CANCELED");
  EXPECT_TRUE(sync("a", 2).desired.empty());
}

TEST_F(Defects, AForkAndTheDeletionOfItsCheckpointAtOnceLeaveNoTrialWithoutItsStart) {
  submit();
  const auto task = sync("a", 1).desired.at(0);
  int forked = 0;
  for (int round = 0; round < 20; ++round) {
    const auto uuid = fmt::format("c{}", round);
    save(task, uuid);
    save(task, fmt::format("newest{}", round), 20 + round);  // which the running trial needs itself
    const json::object body{
        {"config",
         "entrypoint: m:T\nhyperparameters: {global_batch_size: 8}\nsearcher: {name: single, metric: loss, "
         "max_length: {batches: 10}, source_checkpoint_uuid: " +
             uuid + "}\n"}};
    testing::Answer fork, deletion;
    std::thread other([&] { deletion = delete_checkpoint(uuid); });
    if (round % 2 != 0) std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
    fork = call(user_, "POST", "/api/v1/experiments", body);
    other.join();
    EXPECT_NE(fork.status == 200, deletion.status == 200) << fork.text << deletion.text;
    EXPECT_EQ(state_of(uuid), fork.status == 200 ? "STATE_COMPLETED" : "STATE_DELETED");
    forked += fork.status == 200 ? 1 : 0;
  }
  RecordProperty("forks_that_were_first", forked);
}

TEST_F(Defects, DeletingAnExperimentWithoutItsCheckpointsOrWithRestartsSucceeds) {
  const auto id = submit("checkpoint_storage: {save_trial_latest: 0, save_trial_best: 0}\n");
  const auto first = sync("a", 1).desired.at(0);
  save(first, "gone");
  save(first, "last", 20);
  std::filesystem::remove_all(directory_ / "checkpoints");  // by hand, behind the platform's back
  EXPECT_EQ(delete_checkpoint("gone").status, 200);
  exit("a", 1, first.allocation_id, 1);
  const auto second = sync("a", 1).desired.at(0);
  EXPECT_EQ(second.run_id, 2) << "a restart";
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", id));
  exit("a", 1, second.allocation_id, 137);
  wait_for(id, "STATE_CANCELED");
  const auto path = fmt::format("/api/v1/experiments/{}", id);
  EXPECT_EQ(call(user_, "DELETE", path).status, 200);
  for (int i = 0; i < 500 && call(user_, "GET", path).status != 404; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const auto left = call(user_, "GET", path);
  EXPECT_EQ(left.status, 404) << left.text;
}

TEST_F(Defects, ABulkActionTouchesTheListedExperimentsAndNoOther) {
  for (int i = 0; i < 4; ++i) submit();
  const auto done = call(user_, "POST", "/api/v1/projects/1/experiments/pause",
                         json::object{{"experimentIds", json::array{3, 1}}});
  EXPECT_EQ(done.status, 200) << done.text;
  for (int id = 1; id <= 4; ++id)
    EXPECT_EQ(state(id) == "STATE_PAUSED", id == 1 || id == 3) << id << " is " << state(id);
  const auto nothing = call(user_, "POST", "/api/v1/projects/1/experiments/kill",
                            json::object{{"experimentIds", json::array{}}});
  for (int id = 1; id <= 4; ++id) EXPECT_EQ(state(id).find("CANCELED"), std::string::npos) << nothing.text;
}

TEST_F(Defects, EqualPriorityIsServedInTheOrderOfSubmissionAlsoAfterARestart) {
  for (int i = 0; i < 5; ++i) submit();
  std::vector<std::int64_t> order;
  for (int i = 0; i < 5; ++i) {
    restart();
    const auto task = sync("a", 1).desired.at(0);
    order.push_back(task.experiment_id.value());
    call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", task.experiment_id));
    exit("a", 1, task.allocation_id, 137);
  }
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(Defects, AReportOfAMillionMetricsIsAnsweredInWordsAndHarmsNobody) {
  submit();
  const auto task = sync("a", 1).desired.at(0);
  const auto path = fmt::format("/api/v1/trials/{}/metrics", task.trial_id);
  const auto report_of = [&](int names) {
    std::string values;
    for (int i = 0; i < names; ++i) values += fmt::format("{}\"m{}\":{}", i == 0 ? "" : ",", i, i);
    return call_text(
        task.token, "POST", path,
        fmt::format(
            R"({{"group":"training","metrics":{{"trialId":{},"stepsCompleted":10,"metrics":{{"avgMetrics":{{{}}}}}}}}})",
            task.trial_id, values));
  };
  const auto million = report_of(1 << 20);
  EXPECT_TRUE(million.status == 400 || million.status == 413)
      << million.status << million.text.substr(0, 300);
  EXPECT_FALSE(million.body.at("error").at("error").get_string().empty());
  const auto many = report_of(10'000);
  EXPECT_EQ(many.status, 200) << many.text.substr(0, 300);
  EXPECT_EQ(report(task, "training", 20, 0.5).status, 200);
}

TEST_F(Defects, TheSessionsCookieCannotBeReadOrSentByOtherPages) {
  http::Client client(url_);
  http::Call login{.method = "POST", .path = "/api/v1/auth/login", .headers = headers("")};
  login.body = R"({"username": "determined", "password": ""})";
  const auto reply = client.request(std::move(login));
  ASSERT_TRUE(reply) << reply.error().message();
  const auto* cookie = reply->headers.find("Set-Cookie");
  ASSERT_NE(cookie, nullptr);
  EXPECT_THAT(*cookie, HasSubstr("; HttpOnly"));
  EXPECT_THAT(*cookie, HasSubstr("; SameSite=Lax"));
}

TEST_F(Defects, AnUnknownUserIsAnsweredAsAKnownOneAndTakesAsLong) {
  const auto made = call(admin_, "POST", "/api/v1/users",
                         json::object{{"user", {{"username", "ada"}}}, {"password", "a long password"}});
  ASSERT_EQ(made.status, 200) << made.text;
  const auto attempt = [&](const std::string& name) {
    const auto begin = std::chrono::steady_clock::now();
    const auto answer =
        call("", "POST", "/api/v1/auth/login", json::object{{"username", name}, {"password", "wrong"}});
    const auto took = std::chrono::steady_clock::now() - begin;
    return std::pair(fmt::format("{} {}", answer.status, answer.text), std::chrono::duration<double>(took));
  };
  std::vector<double> known, unknown;
  for (int i = 0; i < 2; ++i) {  // fewer than what slows an account down
    const auto [of_known, a] = attempt("ada");
    const auto [of_unknown, b] = attempt(fmt::format("nobody{}", i));
    EXPECT_EQ(of_known, of_unknown);
    known.push_back(a.count());
    unknown.push_back(b.count());
  }
  // The hash takes some 50 ms; without it an answer takes a hundredth of that.
  EXPECT_GT(*std::ranges::max_element(unknown) * 10, *std::ranges::min_element(known));
  EXPECT_GT(*std::ranges::max_element(known) * 10, *std::ranges::min_element(unknown));
}

}  // namespace
}  // namespace det::master
