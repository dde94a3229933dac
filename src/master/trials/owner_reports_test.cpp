// Reports that a user, not a process of the trial, makes for a trial of the cluster.

#include <gmock/gmock.h>

#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::HasSubstr;

class OwnerReportsTest : public testing::MasterTest {
 protected:
  testing::Answer report(const std::string& token, const std::string& group, int batches, double loss,
                         int run = 0) {
    const json::object metrics{{"trialRunId", run},
                               {"stepsCompleted", batches},
                               {"metrics", {{"avgMetrics", {{"validation_error", loss}}}}}};
    return call(token, "POST", "/api/v1/trials/1/metrics",
                json::object{{"group", group}, {"metrics", metrics}});
  }
  testing::Answer save(const std::string& task, const std::string& uuid) {
    return call(
        user_, "POST", "/api/v1/checkpoints",
        json::object{{"uuid", uuid}, {"taskId", task}, {"metadata", json::object{{"steps_completed", 7}}}});
  }
  std::string workloads() {
    return call(user_, "GET", "/api/v1/trials/1/workloads?includeBatchMetrics=true").text;
  }
  json::value trial() { return call(user_, "GET", "/api/v1/trials/1").body.at("trial"); }
};

TEST_F(OwnerReportsTest, CountAsReportsOfTheRunningTrial) {
  submit();
  const auto task = sync("a", 1).desired.at(0);
  EXPECT_EQ(report(user_, "training", 5, 0.5).status, 200);
  EXPECT_EQ(report(user_, "validation", 5, 0.25).status, 200);
  EXPECT_EQ(report(user_, "inference", 5, 0.125).status, 200);
  EXPECT_EQ(save(task.task_id, "of-the-owner").status, 200);
  EXPECT_EQ(call(user_, "POST", "/api/v1/runs/start", json::object{{"runId", 1}}).status, 200);
  EXPECT_EQ(call(user_, "POST", "/api/v1/trials/1/progress", json::object{{"progress", 0.5}}).status, 200);
  EXPECT_EQ(call(user_, "POST", "/api/v1/trials/1/runner/metadata", json::object{{"state", "MINE"}}).status,
            200);
  EXPECT_EQ(trial().at("runnerState"), "MINE");
  EXPECT_EQ(trial().at("totalBatchesProcessed"), 5);
  EXPECT_THAT(workloads(), HasSubstr("0.25"));
  EXPECT_EQ(report(user_, "training", 6, 0.5, 7).status, 409) << "of a run that is not";
}

TEST_F(OwnerReportsTest, AreKeptWhenTheTrialHasEndedAndDecideNothing) {
  const auto id = submit();
  const auto task = sync("a", 1).desired.at(0);
  ASSERT_EQ(report(task.token, "validation", 10, 0.5).status, 200);
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", id));
  exit("a", 1, task.allocation_id, 137);
  ASSERT_EQ(report(task.token, "test", 10, 0.1).status, 410) << "its own processes are over";
  EXPECT_EQ(report(user_, "test", 10, 0.0625).status, 200);
  EXPECT_THAT(call(user_, "GET", "/api/v1/trials/metrics/trial_metrics?trialIds=1&group=test").text,
              HasSubstr("0.0625"));
  EXPECT_EQ(report(user_, "test", 10, 0.03125).status, 400) << "another value for the same batches";
  EXPECT_EQ(trial().at("totalBatchesProcessed"), 10);
  const auto progress = call(user_, "POST", "/api/v1/trials/1/progress", json::object{{"progress", 0.5}});
  EXPECT_EQ(progress.status, 400);
  EXPECT_THAT(progress.text, HasSubstr("trial 1 is not running"));
  EXPECT_THAT(save(task.task_id, "too-late").text, HasSubstr("trial 1 is not running"));
}

TEST_F(OwnerReportsTest, BadOnesSayWhatIsWrong) {
  submit();
  sync("a", 1);
  EXPECT_EQ(call(user_, "POST", "/api/v1/trials/99/progress", json::object{{"progress", 0.5}}).status, 400);
  EXPECT_EQ(call(user_, "POST", "/api/v1/trials/99/training_metrics",
                 json::object{{"metrics", {{"avgMetrics", json::object()}}}})
                .status,
            404);
  EXPECT_THAT(save("no-task", "u").text, HasSubstr("taskId is 'no-task'; it must be the task of a trial"));
}

TEST_F(OwnerReportsTest, WithoutStepsArePlacedInTimeBesideEachOther) {
  submit();
  const auto task = sync("a", 1).desired.at(0);
  const auto report = [&](const std::string& token, int load) {
    const json::object metrics{{"trialId", task.trial_id.value()},
                               {"reportTime", "2026-01-01T00:00:00.5Z"},
                               {"metrics", {{"avgMetrics", {{"load", load}}}}}};
    return call(token, "POST", fmt::format("/api/v1/trials/{}/metrics", task.trial_id),
                json::object{{"group", "cpu"}, {"metrics", metrics}});
  };
  EXPECT_EQ(report(task.token, 1).status, 200);
  EXPECT_EQ(report(task.token, 2).status, 200) << "in the same second";
  restart();
  EXPECT_EQ(report(user_, 3).status, 200) << "after what is stored";
  const auto listed = call(
      user_, "GET", fmt::format("/api/v1/trials/metrics/trial_metrics?trialIds={}&group=cpu", task.trial_id));
  for (const auto* load : {"\"load\":1", "\"load\":2", "\"load\":3"})
    EXPECT_NE(listed.text.find(load), std::string::npos) << listed.text;
  EXPECT_NE(listed.text.find("1767225600"), std::string::npos) << "seconds since 1970";
}

}  // namespace
}  // namespace det::master
