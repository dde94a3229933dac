// What trials ran in, over HTTP.

#include "det/master/testing.h"

namespace det::master {
namespace {

class EnvironmentTest : public testing::MasterTest {
 protected:
  testing::Answer tell(const api::DesiredAllocation& task, const json::object& environment, int rank = 0) {
    return call(task.token, "POST", path(task), json::object{{"rank", rank}, {"environment", environment}});
  }
  static std::string path(const api::DesiredAllocation& task) {
    return fmt::format("/api/v1/trials/{}/environment", task.trial_id);
  }
  json::value told(const api::DesiredAllocation& task) { return call(user_, "GET", path(task)).body; }
  /// Waits for it: what an agent says of a start is not written at once.
  json::value told_soon(const api::DesiredAllocation& task) {
    for (int i = 0; i < 500 && told(task).at("environments").get_array().empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return told(task);
  }

  const json::object here_{{"hardware", {{"hostname", "here"}}}, {"packages", {"torch==2.11.0"}}};
  const json::object there_{{"hardware", {{"hostname", "there"}}}, {"packages", {"torch==2.11.0"}}};
};

TEST_F(EnvironmentTest, ARunOnAnotherMachineShowsBoth) {
  submit("reproducibility: {experiment_seed: 42}\n");
  auto task = sync("a", 1).desired.at(0);
  EXPECT_EQ(told(task).at("environments"), json::array{});
  EXPECT_EQ(tell(task, here_).status, 200);
  exit("a", 1, task.allocation_id, 1);
  task = sync("a", 1).desired.at(0);
  ASSERT_EQ(task.run_id, 2);
  EXPECT_EQ(tell(task, there_).status, 200);
  restart();
  const auto body = told(task);
  const auto& environments = body.at("environments").get_array();
  ASSERT_EQ(environments.size(), 2u);
  EXPECT_EQ(environments[0].at("environment"), there_);
  EXPECT_EQ(environments[0].at("found").at(0).at("runId"), 2);
  EXPECT_EQ(environments[1].at("environment"), here_);
  EXPECT_EQ(body.at("seeds").at("experiment"), 42);
  EXPECT_GT(body.at("seeds").at("trial").to_number<std::int64_t>(), 0);
}

TEST_F(EnvironmentTest, RunsInTheSameEnvironmentShareIt) {
  submit();
  auto task = sync("a", 1).desired.at(0);
  tell(task, here_);
  exit("a", 1, task.allocation_id, 1);
  task = sync("a", 1).desired.at(0);
  tell(task, here_);
  const auto body = told(task);
  ASSERT_EQ(body.at("environments").get_array().size(), 1u);
  EXPECT_EQ(body.at("environments").at(0).at("found").get_array().size(), 2u);
}

TEST_F(EnvironmentTest, ATrialInTheProcessOfAnotherOneHasItsEnvironment) {
  submit("searcher: {name: random, metric: loss, max_trials: 2, max_length: {batches: 1}}\n");
  const auto tasks = sync("a", 2).desired;
  ASSERT_EQ(tasks.size(), 2u);
  const auto &first = tasks[0], &second = tasks[1];
  tell(first, here_);
  sync("a", 2,
       {{.allocation_id = second.allocation_id,
         .state = api::AllocationState::running,
         .process_of = first.allocation_id}});
  EXPECT_EQ(told_soon(second).at("environments").at(0).at("environment"), here_);
  EXPECT_EQ(told(second).at("environments").at(0).at("found").at(0).at("runId"), 1);
  tell(second, there_);
  EXPECT_EQ(told(second).at("environments").at(0).at("environment"), there_);
}

TEST_F(EnvironmentTest, ATrialThatEndsBeforeItIsKnownToRunHasItToo) {
  submit("searcher: {name: random, metric: loss, max_trials: 2, max_length: {batches: 1}}\n");
  const auto tasks = sync("a", 2).desired;
  ASSERT_EQ(tasks.size(), 2u);
  tell(tasks[0], here_);
  tell(tasks[1], there_);
  const auto after = [&](const api::DesiredAllocation& task, api::AllocationState state) {
    sync("a", 2,
         {{.allocation_id = task.allocation_id,
           .state = state,
           .exits = {{.rank = 0, .code = 1}},
           .process_of = tasks[0].allocation_id}});
  };
  after(tasks[0], api::AllocationState::exited);
  after(tasks[1], api::AllocationState::exited);
  EXPECT_EQ(told(tasks[1]).at("environments").at(0).at("environment"), there_)
      << "what it says itself counts";
  const auto again = sync("a", 2).desired;
  ASSERT_EQ(again.size(), 2u);
  ASSERT_EQ(again[1].run_id, 2);
  after(again[1], api::AllocationState::exited);
  const auto found = told(again[1]).at("environments").get_array();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].at("environment"), here_);
  EXPECT_EQ(found[0].at("found").at(0).at("runId"), 2);
}

TEST_F(EnvironmentTest, WhatDoesNotFitTheDocumentIsRefusedAndNullIsAsIfItWereNotGiven) {
  submit();
  const auto task = sync("a", 1).desired.at(0);
  const auto odd = tell(task, {{"hardware", {{"cores", "many"}}}});
  EXPECT_EQ(odd.status, 400);
  EXPECT_NE(odd.text.find("hardware.cores"), std::string::npos) << odd.text;
  EXPECT_EQ(tell(task, {{"versions", {{"cudnn", nullptr}}},
                        {"os", nullptr},
                        {"new", 1},
                        {"hardware", {{"cpu", nullptr}, {"gpu_driver", nullptr}}}})
                .status,
            200);
  const json::value expected{{"versions", {{"cudnn", nullptr}}}, {"new", 1}, {"hardware", json::object{}}};
  EXPECT_EQ(told(task).at("environments").at(0).at("environment"), expected);
}

TEST_F(EnvironmentTest, WhatARankSaysLastCounts) {
  submit("resources: {slots_per_trial: 2}\n");
  const auto task = sync("a", 2).desired.at(0);
  EXPECT_EQ(tell(task, here_).status, 200);
  EXPECT_EQ(tell(task, here_).status, 200) << "a repetition changes nothing";
  const auto other = tell(task, there_);
  EXPECT_EQ(other.status, 200) << other.text;
  EXPECT_EQ(told(task).at("environments").get_array().size(), 1u);
  EXPECT_EQ(told(task).at("environments").at(0).at("environment"), there_);
  EXPECT_EQ(tell(task, here_, 1).status, 200);
  const auto outside = tell(task, there_, 2);
  EXPECT_EQ(outside.status, 400);
  EXPECT_NE(outside.text.find("rank is 2"), std::string::npos) << outside.text;
  EXPECT_EQ(told(task).at("environments").get_array().size(), 2u);
}

TEST_F(EnvironmentTest, AProcessTellsForItsOwnTrialOnlyAndNotTooMuch) {
  submit();
  submit();
  const auto tasks = sync("a", 2).desired;
  ASSERT_EQ(tasks.size(), 2u);
  const json::object body{{"environment", here_}};
  EXPECT_EQ(call(tasks[1].token, "POST", path(tasks[0]), body).status, 403);
  EXPECT_EQ(call(tasks[0].token, "POST", path(tasks[0]), json::object{{"rank", 0}}).status, 400);
  const auto large = tell(tasks[0], {{"packages", {std::string(300'000, 'x')}}});
  EXPECT_EQ(large.status, 400);
  EXPECT_NE(large.text.find("at most 262144"), std::string::npos) << large.text;
  EXPECT_EQ(told(tasks[0]).at("environments"), json::array{});
  EXPECT_EQ(call(user_, "GET", "/api/v1/trials/99/environment").status, 404);
}

TEST_F(EnvironmentTest, AnExperimentRemembersTheCommitItWasSubmittedFrom) {
  const json::object body{{"config",
                           "name: tested\nentrypoint: model:Trial\nhyperparameters: {global_batch_size: 8}\n"
                           "searcher: {name: single, metric: loss, max_length: {batches: 1000}}\n"},
                          {"gitCommit", "89abcdef"},
                          {"gitRemote", "ssh://host/repository"},
                          {"gitDirty", true}};
  const auto answer = call(user_, "POST", "/api/v1/experiments", body);
  ASSERT_EQ(answer.status, 200) << answer.text;
  const auto task = sync("a", 1).desired.at(0);
  restart();
  const json::object git{{"commit", "89abcdef"}, {"remote", "ssh://host/repository"}, {"dirty", true}};
  EXPECT_EQ(experiment(*json::to_int64(answer.body.at("experiment").at("id"))).at("git"), git);
  EXPECT_EQ(told(task).at("git"), git);
  auto other = body;
  other["gitBranch"] = std::string(5000, 'b');
  EXPECT_EQ(call(user_, "POST", "/api/v1/experiments", other).status, 400);
}

}  // namespace
}  // namespace det::master
