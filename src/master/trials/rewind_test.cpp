// What a new run of a trial leaves of the reports of the runs before it, over HTTP.

#include <gmock/gmock.h>

#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::ElementsAre;

class RewindTest : public testing::MasterTest {
 protected:
  /// (batches, run) of every training report.
  std::vector<std::pair<int, int>> reported(TrialId trial) {
    const auto path = fmt::format("/api/v1/trials/metrics/training_metrics?trialIds={}", trial);
    std::vector<std::pair<int, int>> found;
    const auto answer = call(user_, "GET", path);
    for (const auto& one : answer.body.at("result").at("metrics").get_array())
      found.emplace_back(one.at("totalBatches").to_number<int>(), one.at("trialRunId").to_number<int>());
    return found;
  }
  /// The run is lost; the next one.
  api::DesiredAllocation after(const api::DesiredAllocation& run) {
    exit("a", 1, run.allocation_id, 1);
    return sync("a", 1).desired.at(0);
  }
};

TEST_F(RewindTest, WithoutACheckpointReportsStayUntilTheNewRunReports) {
  submit();
  const auto first = sync("a", 1).desired.at(0);
  for (const int batches : {10, 20, 30}) ASSERT_EQ(report(first, "training", batches, 0.5).status, 200);
  const auto second = after(first);
  EXPECT_THAT(reported(first.trial_id), ElementsAre(std::pair(10, 1), std::pair(20, 1), std::pair(30, 1)));
  ASSERT_EQ(report(second, "training", 10, 0.25).status, 200);
  EXPECT_THAT(reported(first.trial_id), ElementsAre(std::pair(10, 2)));
}

TEST_F(RewindTest, WithACheckpointReportsBeyondItAreGoneAtOnce) {
  submit();
  const auto first = sync("a", 1).desired.at(0);
  for (const int batches : {10, 20, 30}) ASSERT_EQ(report(first, "training", batches, 0.5).status, 200);
  const json::object saved{{"uuid", "0e1f2a3b-0000-4000-8000-000000000001"},
                           {"metadata", {{"steps_completed", 20}}}};
  ASSERT_EQ(call(first.token, "POST", "/api/v1/checkpoints", saved).status, 200);
  after(first);
  EXPECT_THAT(reported(first.trial_id), ElementsAre(std::pair(10, 1), std::pair(20, 1)));
}

}  // namespace
}  // namespace det::master
