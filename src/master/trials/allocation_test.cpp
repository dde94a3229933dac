// What the processes of the original's tasks call, besides reports.

#include <gmock/gmock.h>

#include <algorithm>
#include <future>

#include "det/master/testing.h"

namespace det::master {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class AllocationTest : public testing::MasterTest {
 protected:
  api::DesiredAllocation running(const std::string& more = "") {
    submit(more);
    return sync("a", 1).desired.at(0);
  }
  static std::string path(const api::DesiredAllocation& task, const std::string& what) {
    return fmt::format("/api/v1/allocations/{}/{}", task.allocation_id, what);
  }
  testing::Answer gather(const api::DesiredAllocation& task, int peer, int round, int peers = 3) {
    return call(task.token, "POST", path(task, "all_gather"),
                json::object{{"requestUuid", fmt::format("{}-{}", round, peer)},
                             {"numPeers", peers},
                             {"data", {{"rank", peer}, {"round", round}}}});
  }
};

TEST_F(AllocationTest, PeersWaitForEachOtherAndAllHearWhatEachSaid) {
  const auto task = running();
  for (int round = 0; round < 2; ++round) {
    std::vector<std::future<testing::Answer>> waiting;
    for (int peer = 0; peer < 2; ++peer)
      waiting.push_back(std::async(std::launch::async, [&, peer] { return gather(task, peer, round); }));
    EXPECT_EQ(waiting.front().wait_for(200ms), std::future_status::timeout);
    const auto last = gather(task, 2, round);
    ASSERT_EQ(last.status, 200) << last.text;
    json::array expected;
    for (int peer = 0; peer < 3; ++peer) expected.push_back({{"rank", peer}, {"round", round}});
    EXPECT_EQ(last.body.at("data"), expected);
    for (auto& one : waiting) EXPECT_EQ(one.get().body, last.body);
    EXPECT_EQ(gather(task, 1, round).body, last.body) << "who lost the answer asks again";
  }
}

TEST_F(AllocationTest, PeersThatExpectOthersThanTheRestAreRefused) {
  const auto task = running();
  EXPECT_EQ(gather(task, 0, 0, 1).status, 200) << "alone";
  EXPECT_THAT(gather(task, 0, 1, 0).text, HasSubstr("numPeers is 0; it must be from 1 to"));
  auto waiting = std::async(std::launch::async, [&] { return gather(task, 0, 2, 2); });
  std::this_thread::sleep_for(200ms);
  EXPECT_THAT(gather(task, 1, 2, 3).text,
              HasSubstr("numPeers is 3, but the other peers of this round expect 2"));
  EXPECT_EQ(gather(task, 2, 2, 2).status, 200);
  EXPECT_EQ(waiting.get().status, 200);
}

TEST_F(AllocationTest, OnlyItsOwnProcessesSpeakForAnAllocation) {
  const auto task = running();
  for (const char* what : {"acceleratorData", "ready", "waiting"}) {
    EXPECT_EQ(call(task.token, "POST", path(task, what), json::object{}).status, 200) << what;
    EXPECT_EQ(call(user_, "POST", path(task, what), json::object{}).status, 403) << what;
    auto other = task;
    other.allocation_id = "9.x.1";
    EXPECT_EQ(call(task.token, "POST", path(other, what), json::object{}).status, 403) << what;
  }
}

TEST_F(AllocationTest, AProcessThatOutlivesItsAllocationIsToldToLeave) {
  const auto task = running();
  EXPECT_EQ(call(task.token, "GET", path(task, "signals/preemption")).body.at("preempt"), false);
  auto waiting = std::async(std::launch::async, [&] {
    return call(task.token, "GET", path(task, "signals/preemption?timeout_seconds=60"));
  });
  std::this_thread::sleep_for(200ms);
  exit("a", 1, task.allocation_id, 0);
  const auto answer = call(task.token, "GET", path(task, "signals/preemption?timeout_seconds=60"));
  EXPECT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.body.at("preempt"), true);
  EXPECT_EQ(waiting.get().body, answer.body) << "who asked before the end";
  EXPECT_EQ(call(task.token, "GET", path(task, "signals/preemption?strict=true")).status, 410)
      << "one of ours";
}

TEST_F(AllocationTest, UsersMayAskForAndAcknowledgeThePreemptionOfATrial) {
  const auto task = running();
  EXPECT_EQ(call(user_, "GET", path(task, "signals/preemption")).body.at("preempt"), false);
  EXPECT_EQ(call(user_, "POST", fmt::format("/api/v1/experiments/{}/pause", task.experiment_id)).status, 200);
  EXPECT_EQ(call(user_, "GET", path(task, "signals/preemption")).body.at("preempt"), true);
  EXPECT_EQ(call(user_, "POST", path(task, "signals/ack_preemption"), json::object{}).status, 200);
  auto other = task;
  other.allocation_id = "9.x.1";
  EXPECT_EQ(call(user_, "GET", path(other, "signals/preemption")).status, 410);
  EXPECT_EQ(call(user_, "POST", path(task, "signals/pending_preemption"), json::object{}).status, 403)
      << "only they know of their machine";
}

TEST_F(AllocationTest, ATaskAddsLinesToItsOwnLogAndToNoOther) {
  const auto task = running();
  const auto entry = [&](const std::string& id) {
    return json::object{{"task_id", id},
                        {"log", "from inside\n"},
                        {"level", "LOG_LEVEL_WARNING"},
                        {"stdtype", "stderr"},
                        {"source", "task"},
                        {"container_id", "c0ffee00"},
                        {"agent_id", "machine"},
                        {"rank_id", 3}};
  };
  EXPECT_EQ(
      call(task.token, "POST", "/api/v1/task/logs", json::object{{"logs", {entry(task.task_id)}}}).status,
      200);
  EXPECT_EQ(call(task.token, "POST", "/task-logs", json::array{entry(task.task_id)}).status, 200);
  EXPECT_EQ(call(task.token, "POST", "/api/v1/task/logs", json::object{{"logs", {entry("7.other")}}}).status,
            403);
  const auto log =
      call(user_, "GET", fmt::format("/api/v1/tasks/{}/logs?containerIds=c0ffee00", task.task_id)).text;
  EXPECT_EQ(std::ranges::count(log, '\n'), 2) << log;
  EXPECT_THAT(log, HasSubstr(fmt::format("\"allocationId\":\"{}\"", task.allocation_id)));
  EXPECT_THAT(log, HasSubstr("\"level\":\"LOG_LEVEL_WARNING\""));
}

TEST_F(AllocationTest, AValidationWithoutTheMetricOfTheSearchIsRefusedWhereTheSearchNeedsIt) {
  const auto task =
      running("searcher: {name: random, metric: loss, max_trials: 1, max_length: {batches: 9}}\n");
  const auto validation = [&](json::object metrics) {
    const json::object body{{"trialRunId", 1}, {"stepsCompleted", 5}, {"metrics", {{"avgMetrics", metrics}}}};
    return call(task.token, "POST", fmt::format("/api/v1/trials/{}/metrics", task.trial_id),
                json::object{{"group", "validation"}, {"metrics", body}});
  };
  const auto refused = validation({{"other", 1.0}, {"more", 2}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.text, HasSubstr("searcher metric 'loss' is missing from the validation after 5 "
                                      "batches; reported metrics: other, more"));
  EXPECT_THAT(validation({{"loss", "low"}}).text, HasSubstr("searcher metric 'loss' is \\\"low\\\""));
  EXPECT_EQ(validation({{"loss", 0.5}, {"other", 1.0}}).status, 200);
}

TEST_F(AllocationTest, ASingleTrialMayReportValidationsWithoutTheMetric) {
  const auto task = running();
  const json::object body{
      {"trialRunId", 1}, {"stepsCompleted", 5}, {"metrics", {{"avgMetrics", {{"other", 1.0}}}}}};
  EXPECT_EQ(call(task.token, "POST", fmt::format("/api/v1/trials/{}/metrics", task.trial_id),
                 json::object{{"group", "validation"}, {"metrics", body}})
                .status,
            200);
  const auto path = fmt::format("/api/v1/experiments/{}", task.experiment_id);
  EXPECT_EQ(call(user_, "GET", path).body.at("experiment").at("state"), "STATE_STARTING");
}

TEST_F(AllocationTest, OlderClientsReportMetricsByTheirKind) {
  const auto task = running();
  const auto at = fmt::format("/api/v1/trials/{}/", task.trial_id);
  const json::object report{{"trialId", task.trial_id.value()},
                            {"stepsCompleted", 5},
                            {"metrics", {{"avgMetrics", {{"loss", 0.5}}}}}};
  EXPECT_EQ(call(task.token, "POST", at + "training_metrics", report).status, 200);
  EXPECT_EQ(call(task.token, "POST", at + "validation_metrics", report).status, 200);
  const auto trial = call(user_, "GET", fmt::format("/api/v1/trials/{}", task.trial_id)).body.at("trial");
  EXPECT_EQ(trial.at("latestValidation").at("metrics").at("avgMetrics").at("loss"), 0.5);
  auto foreign = report;
  foreign["trialId"] = 999;
  EXPECT_THAT(
      call(task.token, "POST", at + "metrics", json::object{{"group", "training"}, {"metrics", foreign}})
          .text,
      HasSubstr("metrics.trialId is 999, but the path names trial"));
}

TEST_F(AllocationTest, TheJobOfAnExperimentIsSummedUpWithIt) {
  const auto task = running();
  const auto waits = submit();
  const auto summary = [&](std::int64_t id) {
    return call(user_, "GET", fmt::format("/api/v1/experiments/{}", id)).body.at("jobSummary");
  };
  EXPECT_EQ(summary(task.experiment_id.value()),
            (json::value{{"state", "STATE_SCHEDULED"}, {"jobsAhead", 0}}));
  EXPECT_EQ(summary(waits), (json::value{{"state", "STATE_QUEUED"}, {"jobsAhead", 1}}));
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", waits));
  EXPECT_TRUE(summary(waits).is_null());
}

}  // namespace
}  // namespace det::master
