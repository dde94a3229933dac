#include <gtest/gtest.h>

#include <cmath>

#include "det/forecast/forecast.h"

namespace det::forecast {
namespace {

Time at(double seconds) {
  return Time{static_cast<std::int64_t>(seconds * static_cast<double>(kSecond))};
}

TEST(Learn, ThePaceIsTheMedianBetweenReportsAndAStallDoesNotMatter) {
  std::vector<MeasuredRun> runs(1);
  runs[0].start = at(100);
  runs[0].reports = {{10, at(107)}, {20, at(109)}, {30, at(111)}, {40, at(500)}, {50, at(502)}};
  const auto costs = learn(runs);
  ASSERT_TRUE(costs) << costs.error().message();
  EXPECT_NEAR(costs->seconds_per_batch, 0.2, 1e-9);
  EXPECT_NEAR(costs->start_seconds, 5, 1e-9) << "7 s to the first report, 2 of them for its batches";
  EXPECT_EQ(costs->validation_seconds, Costs{}.validation_seconds) << "nobody told";
}

TEST(Learn, AValidationCostsWhatItAddsBetweenTwoReportsAndACheckpointWhatFollowsTheLast) {
  std::vector<MeasuredRun> runs(1);
  runs[0].reports = {{10, at(1)}, {20, at(2)}, {30, at(3)}, {40, at(7)}, {50, at(8)}};
  runs[0].validated = {at(6), at(11)};
  runs[0].end = at(11.5);
  const auto costs = learn(runs);
  ASSERT_TRUE(costs);
  EXPECT_NEAR(costs->seconds_per_batch, 0.1, 1e-9);
  EXPECT_NEAR(costs->validation_seconds, 3, 1e-9);
  EXPECT_NEAR(costs->checkpoint_seconds, 0.5, 1e-9);
}

TEST(Learn, WhereEveryReportIsAValidationItIsPartOfThePace) {
  std::vector<MeasuredRun> runs(1);
  runs[0].reports = {{1, at(1)}, {2, at(2)}, {3, at(3)}};
  runs[0].validated = {at(1), at(2), at(3)};
  const auto costs = learn(runs);
  ASSERT_TRUE(costs);
  EXPECT_NEAR(costs->seconds_per_batch, 1, 1e-9);
  EXPECT_NEAR(costs->validation_seconds, 0, 1e-9);
}

TEST(Learn, ARunThatGoesOnDidNotTrainWhatTheOneBeforeItDid) {
  std::vector<MeasuredRun> runs(2);
  runs[0] = {.trial = 1, .start = at(0), .reports = {{10, at(3)}, {20, at(4)}}};
  runs[1] = {.trial = 1, .start = at(10), .reports = {{30, at(13)}, {40, at(14)}}};
  const auto costs = learn(runs);
  ASSERT_TRUE(costs);
  EXPECT_NEAR(costs->start_seconds, 2, 1e-9);
}

TEST(Learn, CurvesAreOfTrialsAndLeaveOutWhatIsNoNumber) {
  std::vector<MeasuredRun> runs(2);
  runs[0] = {
      .trial = 7, .reports = {{10, at(1)}, {20, at(2)}}, .validations = {{10, 0.5}, {20, std::nan("")}}};
  runs[1] = {.trial = 7, .validations = {{20, 0.4}}};
  const auto costs = learn(runs);
  ASSERT_TRUE(costs);
  EXPECT_EQ(costs->curves, (std::vector<std::vector<Point>>{{{10, 0.5}, {20, 0.4}}}));
}

TEST(Learn, WhereNobodyReportsTwiceTheStartIsPartOfThePace) {
  std::vector<MeasuredRun> runs(3);
  runs[0] = {.trial = 1, .start = at(0), .reports = {{10, at(4)}}};
  runs[1] = {.trial = 1, .start = at(10), .reports = {{20, at(14)}}};
  runs[2] = {.trial = 2, .start = at(20), .reports = {{10, at(24)}}};
  const auto costs = learn(runs);
  ASSERT_TRUE(costs) << costs.error().message();
  EXPECT_NEAR(costs->seconds_per_batch, 0.4, 1e-9);
  EXPECT_NEAR(costs->start_seconds, 0, 1e-9);
}

TEST(Learn, WithoutReportsThereIsNoPace) {
  std::vector<MeasuredRun> runs(2);
  runs[0].reports = {{10, at(1)}};  // nobody knows when it began
  runs[1].start = at(1);
  EXPECT_EQ(learn(runs).error().message(),
            "no trial has reported its progress, so its speed cannot be measured; choose an experiment that "
            "has trained for longer");
}

}  // namespace
}  // namespace det::forecast
