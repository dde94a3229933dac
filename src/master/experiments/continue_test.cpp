// Finished experiments that are continued.

#include <gmock/gmock.h>

#include "det/cluster/events.h"
#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::HasSubstr;

class ContinueTest : public testing::MasterTest {
 protected:
  testing::Answer go_on(std::int64_t id, const std::string& yaml = "") {
    return call(user_, "POST", "/api/v1/experiments/continue",
                json::object{{"id", id}, {"overrideConfig", yaml}});
  }
  testing::Answer complete(const api::DesiredAllocation& task, std::int64_t length) {
    return call(task.token, "POST",
                fmt::format("/api/v1/trials/{}/searcher/completed_operation", task.trial_id),
                json::object{{"op", {{"validateAfter", {{"length", std::to_string(length)}}}}},
                             {"searcherMetric", 0.5}});
  }
  void save(const api::DesiredAllocation& task, const char* uuid, int batches) {
    const auto saved = call(task.token, "POST", "/api/v1/checkpoints",
                            json::object{{"uuid", uuid}, {"metadata", {{"steps_completed", batches}}}});
    ASSERT_EQ(saved.status, 200) << saved.text;
  }
  /// The trial that the agent runs trains to its end.
  void finish(std::int64_t length = 1000) {
    const auto task = sync("a", 1).desired.at(0);
    report(task, "training", length, 0.5);
    const auto uuid =
        fmt::format("{}c{}", task.trial_id.value() == 1 ? "" : std::to_string(task.trial_id.value()), length);
    save(task, uuid.c_str(), static_cast<int>(length));
    complete(task, length);
    exit("a", 1, task.allocation_id, 0);
  }
  void wait_for(std::int64_t id, std::string_view state) {
    for (int i = 0; i < 500 && experiment(id).at("state").as_string() != state; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_EQ(experiment(id).at("state").as_string(), state);
  }
  std::string operations(const api::DesiredAllocation& task) {
    const auto path = fmt::format("/api/v1/trials/{}/searcher/operation?known=0", task.trial_id);
    return call(task.token, "GET", path).text;
  }
};

TEST_F(ContinueTest, AFinishedTrialGoesOnFromItsNewestCheckpointAsTheSameTrial) {
  const auto id = submit();
  finish();
  wait_for(id, "STATE_COMPLETED");
  const auto before = call(user_, "GET", "/api/v1/trials/1").body.at("trial");
  const auto answer = go_on(id, "searcher: {max_length: {batches: 3000}}\nname: longer\n");
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.body.at("experiment").at("id"), id);
  EXPECT_EQ(answer.body.at("experiment").at("state"), "STATE_STARTING");
  EXPECT_EQ(answer.body.at("experiment").at("config").at("searcher").at("max_length").at("batches"), 3000);
  EXPECT_FALSE(answer.body.at("experiment").as_object().contains("endTime"));
  restart();
  const auto task = sync("a", 1).desired.at(0);
  EXPECT_EQ(task.trial_id.value(), 1);
  EXPECT_EQ(task.run_id, 2);
  EXPECT_EQ(task.environment.at("DET_LATEST_CHECKPOINT"), "c1000");
  EXPECT_EQ(task.environment.at("DET_STEPS_COMPLETED"), "1000");
  EXPECT_FALSE(task.environment.contains("DET_SEARCHER_OPERATION")) << "its first one is completed";
  EXPECT_THAT(operations(task), HasSubstr(R"("length":"1000","completed":true)"));
  EXPECT_THAT(operations(task), HasSubstr(R"("length":"3000","completed":false)"));
  EXPECT_EQ(report(task, "training", 2000, 0.4).status, 200);
  EXPECT_EQ(go_on(id).status, 400) << "it is still running";
  save(task, "c3000", 3000);
  EXPECT_EQ(complete(task, 3000).status, 200);
  exit("a", 1, task.allocation_id, 0);
  wait_for(id, "STATE_COMPLETED");
  const auto after = call(user_, "GET", "/api/v1/trials/1").body.at("trial");
  EXPECT_EQ(after.at("hparams"), before.at("hparams"));
  EXPECT_EQ(after.at("taskId"), before.at("taskId"));
  EXPECT_EQ(call(user_, "GET", fmt::format("/api/v1/experiments/{}/trials", id))
                .body.at("trials")
                .as_array()
                .size(),
            1u);
  const auto again = go_on(id, "searcher: {max_length: {batches: 4000}}");
  EXPECT_EQ(again.status, 200) << again.text;
}

TEST_F(ContinueTest, ATrialStartsWithItsFirstOperationUntilThatIsCompleted) {
  submit();
  const auto task = sync("a", 1).desired.at(0);
  EXPECT_EQ(task.environment.at("DET_SEARCHER_OPERATION"), "1000");
  exit("a", 1, task.allocation_id, 1);
  const auto again = sync("a", 1).desired.at(0);
  EXPECT_EQ(again.run_id, 2);
  EXPECT_EQ(again.environment.at("DET_SEARCHER_OPERATION"), "1000");
}

TEST_F(ContinueTest, AFailedOneGoesOnWithItsRestartsAgainAndOneThatWasKilledToo) {
  const auto id = submit("max_restarts: 0\n");
  auto task = sync("a", 1).desired.at(0);
  save(task, "c400", 400);
  report(task, "training", 500, 0.5);
  exit("a", 1, task.allocation_id, 1);
  wait_for(id, "STATE_ERROR");
  const auto answer = go_on(id, "hyperparameters: {learning_rate: 0.5}");
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.body.at("experiment").at("error"), "");
  task = sync("a", 1).desired.at(0);
  EXPECT_EQ(task.environment.at("DET_LATEST_CHECKPOINT"), "c400");
  EXPECT_THAT(task.environment.at("DET_HPARAMS"), HasSubstr("learning_rate"));
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", id));
  exit("a", 1, task.allocation_id, 137);
  wait_for(id, "STATE_CANCELED");
  ASSERT_EQ(go_on(id).status, 200);
  EXPECT_EQ(sync("a", 1).desired.at(0).environment.at("DET_STEPS_COMPLETED"), "400");
  finish();
  wait_for(id, "STATE_COMPLETED");
}

TEST_F(ContinueTest, OneThatEndedBeforeItsFirstCheckpointBeginsAgain) {
  const auto id = submit("max_restarts: 0\n");
  exit("a", 1, sync("a", 1).desired.at(0).allocation_id, 1);
  wait_for(id, "STATE_ERROR");
  ASSERT_EQ(go_on(id).status, 200);
  const auto task = sync("a", 1).desired.at(0);
  EXPECT_FALSE(task.environment.contains("DET_LATEST_CHECKPOINT"));
  EXPECT_EQ(task.environment.at("DET_STEPS_COMPLETED"), "0");
}

TEST_F(ContinueTest, WhatCannotBeContinuedIsRefusedInWordsAndStaysAsItWas) {
  const auto id = submit();
  EXPECT_THAT(go_on(id).text, HasSubstr("is still running"));
  EXPECT_EQ(go_on(99).status, 404);
  finish();
  wait_for(id, "STATE_COMPLETED");
  EXPECT_THAT(go_on(id).text,
              HasSubstr("trial 1 was trained for 1000 batches, but searcher.max_length is 1000"));
  EXPECT_THAT(go_on(id, "searcher: {name: random, max_trials: 2, max_length: {batches: 2000}}").text,
              HasSubstr("it must be single to continue its trial"));
  EXPECT_THAT(go_on(id, "searcher: {max_length: {batches: -1}}").text, HasSubstr("max_length"));
  EXPECT_THAT(go_on(id, "checkpoint_storage: {type: shared_fs, host_path: /elsewhere}").text,
              HasSubstr("because its checkpoints are stored there"));
  EXPECT_EQ(experiment(id).at("state").as_string(), "STATE_COMPLETED");
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/archive", id));
  EXPECT_THAT(go_on(id, "searcher: {max_length: {batches: 2000}}").text, HasSubstr("is archived"));
  const auto search =
      submit("searcher: {name: random, metric: loss, max_trials: 1, max_length: {batches: 1000}}\n");
  finish();
  wait_for(search, "STATE_COMPLETED");
  EXPECT_THAT(go_on(search).text, HasSubstr("has nothing to continue: all of its trials are complete"));
}

constexpr const char* kSearch =
    "searcher: {name: random, metric: loss, max_trials: 3, max_concurrent_trials: 1, max_length: {batches: "
    "1000}}\nmax_restarts: 0\n";

TEST_F(ContinueTest, ACanceledSearchGoesOnWithTheTrialsThatItWouldHaveHad) {
  const auto id = submit(kSearch);
  finish();
  auto task = sync("a", 1).desired.at(0);
  EXPECT_EQ(task.trial_id.value(), 2);
  save(task, "c600", 600);
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", id));
  exit("a", 1, task.allocation_id, 137);
  wait_for(id, "STATE_CANCELED");
  EXPECT_THAT(
      go_on(id, "searcher: {max_trials: 9}").text,
      HasSubstr("searcher of experiment 1 cannot be changed, because its search continues where it ended"));
  EXPECT_THAT(go_on(id, "hyperparameters: {rate: 0.5}").text, HasSubstr("hyperparameters of experiment 1"));
  const auto answer = go_on(id, "name: once more\nmax_restarts: 1\n");
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.body.at("experiment").at("name"), "once more");
  restart();
  task = sync("a", 1).desired.at(0);
  EXPECT_EQ(task.trial_id.value(), 2) << "the one that was stopped";
  EXPECT_EQ(task.environment.at("DET_LATEST_CHECKPOINT"), "c600");
  exit("a", 1, task.allocation_id, 1);  // a restart that it did not have before
  finish();
  EXPECT_EQ(sync("a", 1).desired.at(0).trial_id.value(), 3) << "and those that were to come";
  finish();
  wait_for(id, "STATE_COMPLETED");
  EXPECT_THAT(go_on(id).text, HasSubstr("all of its trials are complete"));
}

TEST_F(ContinueTest, TheTrialsOfASearchThatFailedAreRunAgainAlsoWhenOthersAreComplete) {
  const auto id = submit(kSearch);
  for (int trial = 1; trial <= 3; ++trial)
    if (trial == 2)
      finish();
    else
      exit("a", 1, sync("a", 1).desired.at(0).allocation_id, 1);
  wait_for(id, "STATE_COMPLETED");
  ASSERT_EQ(go_on(id).status, 200);
  EXPECT_EQ(sync("a", 1).desired.size(), 1u) << "max_concurrent_trials";
  EXPECT_EQ(sync("a", 1).desired.at(0).trial_id.value(), 1);
  finish();
  EXPECT_EQ(sync("a", 1).desired.at(0).trial_id.value(), 3);
  finish();
  wait_for(id, "STATE_COMPLETED");
}

TEST_F(ContinueTest, ASearchThatKeptNothingToGoOnWithIsRefusedInWords) {
  const auto id = submit(
      "searcher: {name: pbt, metric: loss, population_size: 2, num_rounds: 2, length_per_round: {batches: "
      "10}, "
      "replace_function: {truncate_fraction: 0.5}, explore_function: {resample_probability: 0, "
      "perturb_factor: "
      "0.2}}\n");
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", id));
  for (const auto& task : sync("a", 1).desired) exit("a", 1, task.allocation_id, 137);
  wait_for(id, "STATE_CANCELED");
  EXPECT_THAT(go_on(id).text, HasSubstr("uses the searcher pbt, whose trials start from checkpoints"));
}

}  // namespace
}  // namespace det::master
