// What every kind of database must give a chart: few points, and every peak.

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "det/base/random.h"
#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

constexpr int kReports = 20'000;
const TrialId kTrial(1);

class CurveContract : public StoreContract {
 protected:
  /// Adds reports of both groups, with what charts must not lose: peaks, infinity, and what is not a number.
  void add_reports(std::int64_t run, int from, int to, double height) {
    std::vector<Change> changes;
    for (int n = from; n <= to; ++n) {
      auto training = report(1, run, "training", 10 * n, {{"loss", random_.unit()}, {"lr", 0.1}});
      if (n % 7001 == 0) training.avg_metrics["loss"] = json::from_double(height);
      if (n == 8003)
        training.avg_metrics["loss"] = json::from_double(std::numeric_limits<double>::quiet_NaN());
      if (n == 9001)
        training.avg_metrics["loss"] = json::from_double(-std::numeric_limits<double>::infinity());
      training.records = 640;
      changes.emplace_back(AddMetrics{training});
      if (n % 1000 == 0)
        changes.emplace_back(AddMetrics{report(1, run, "validation", 10 * n, {{"error", 0.5}})});
    }
    store->commit(std::move(changes), [] {});
    store->flush();
  }
  /// By batches, of the training reports.
  std::map<std::int64_t, MetricRecord> reported() {
    std::map<std::int64_t, MetricRecord> all;
    for (auto& row : store->metrics({.trial = kTrial, .group = "training"})) all.emplace(row.batches, row);
    return all;
  }
  /// What of the points is not as it was reported; "" where all are.
  std::string strange(const std::vector<MetricRecord>& points) {
    const auto rows = reported();
    for (const auto& point : points)
      for (const auto& [name, value] : point.avg_metrics) {
        if (point.group != "training") continue;
        const auto row = rows.find(point.batches);
        if (row == rows.end()) return fmt::format("nothing was reported at {}", point.batches);
        if (json::serialize(value) != json::serialize(row->second.avg_metrics.at(name)))
          return fmt::format("{} at {}: {} was {}", std::string_view(name), point.batches,
                             json::serialize(value), json::serialize(row->second.avg_metrics.at(name)));
        if (point.report_time.microseconds != row->second.report_time.microseconds) return "another time";
      }
    return "";
  }
  static std::vector<double> values(const std::vector<MetricRecord>& points, const char* name) {
    std::vector<double> all;
    for (const auto& point : points)
      if (const auto* value = point.avg_metrics.if_contains(name))
        all.push_back(json::to_double(*value).value());
    return all;
  }
  static std::int64_t records(const std::vector<MetricRecord>& points) {
    std::int64_t sum = 0;
    for (const auto& point : points) sum += point.records;
    return sum;
  }

 private:
  Random random_{1};
};

INSTANTIATE_TEST_SUITE_P(, CurveContract, kBackends, [](const auto& i) { return i.param.name; });

TEST_P(CurveContract, AShortCurveIsAllThatWasReported) {
  add_reports(1, 1, 150, 3);
  const auto rows = store->metrics({.trial = kTrial});
  const auto points = store->curve({.trial = kTrial, .points = 150});
  ASSERT_EQ(points.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_TRUE(same(points[i], rows[i]));
}

TEST_P(CurveContract, ALongCurveHasFewPointsAndEveryPeak) {
  add_reports(1, 1, kReports, 3);
  for (const bool again : {false, true}) {
    if (again) reopen();
    const auto points =
        store->curve({.trial = kTrial, .group = "training", .names = {"loss"}, .points = 200});
    EXPECT_EQ(strange(points), "");
    EXPECT_LE(points.size(), 203u);
    EXPECT_EQ(points.front().batches, 10);
    EXPECT_EQ(points.back().batches, 10 * kReports);
    const auto loss = values(points, "loss");
    EXPECT_THAT(loss, ::testing::Contains(3).Times(2));
    EXPECT_THAT(loss, ::testing::Contains(-std::numeric_limits<double>::infinity()));
    EXPECT_THAT(loss, ::testing::Contains(::testing::Truly([](double v) { return std::isnan(v); })));
    EXPECT_EQ(records(points), std::int64_t{640} * kReports);
  }
}

TEST_P(CurveContract, HasAboutAsManyPointsAsAreWantedAlsoWhereBlocksWouldGiveFewer) {
  add_reports(1, 1, kReports, 3);  // 312 blocks
  for (const std::size_t wanted : {700, 1000, 4000}) {
    const auto points =
        store->curve({.trial = kTrial, .group = "training", .names = {"loss"}, .points = wanted});
    EXPECT_EQ(strange(points), "");
    EXPECT_LE(points.size(), wanted + 3);
    EXPECT_GE(points.size(), wanted * 9 / 10);
    EXPECT_EQ(records(points), std::int64_t{640} * kReports);
  }
}

TEST_P(CurveContract, OtherGroupsAndOtherNamesHaveTheirOwnPoints) {
  add_reports(1, 1, kReports, 3);
  const auto points =
      store->curve({.trial = kTrial, .ids = {"validation.error", "training.lr"}, .points = 100});
  EXPECT_EQ(values(points, "error").size(), 20u);
  EXPECT_THAT(values(points, "lr"),
              ::testing::SizeIs(::testing::AllOf(::testing::Ge(50u), ::testing::Le(102u))));
  EXPECT_TRUE(values(points, "loss").empty());
  EXPECT_TRUE(std::is_sorted(points.begin(), points.end(),
                             [](const auto& a, const auto& b) { return a.batches < b.batches; }));
}

TEST_P(CurveContract, APartOfACurveIsShownInMoreDetail) {
  add_reports(1, 1, kReports, 3);
  for (const auto& [after, up_to] :
       {std::pair{70'000, 70'100}, {35'005, 150'015}, {-1, 100'000}, {199'990, 900'000}}) {
    const auto points = store->curve({.trial = kTrial,
                                      .group = "training",
                                      .after_batches = after,
                                      .up_to_batches = up_to,
                                      .points = 100});
    EXPECT_EQ(strange(points), "");
    std::size_t expected = 0, peaks = 0;
    std::int64_t counted = 0, first = 0, last = 0;
    for (const auto& [batches, row] : reported()) {
      if (batches <= after || batches > up_to) continue;
      if (expected++ == 0) first = batches;
      last = batches;
      counted += row.records;
      if (row.avg_metrics.at("loss") == 3.0) ++peaks;
    }
    ASSERT_FALSE(points.empty());
    EXPECT_EQ(points.front().batches, first);
    EXPECT_EQ(points.back().batches, last);
    EXPECT_EQ(records(points), counted);
    EXPECT_THAT(values(points, "loss"), ::testing::Contains(3).Times(static_cast<int>(peaks)));
    if (expected <= 100) {
      EXPECT_EQ(points.size(), expected);
    }
  }
}

TEST_P(CurveContract, WhatARunTookBackIsNotShown) {
  add_reports(1, 1, kReports, 9);
  commit(RewindTrial{kTrial, 2, 123'450});
  add_reports(2, 12'346, 18'000, 3);
  const auto points = store->curve({.trial = kTrial, .points = 100});
  EXPECT_EQ(strange(points), "");
  EXPECT_EQ(points.back().batches, 180'000);
  EXPECT_THAT(values(points, "loss"), ::testing::Contains(9).Times(1));  // of the first run, at 70,010
  EXPECT_THAT(values(points, "loss"), ::testing::Contains(3).Times(1));  // of the second, at 140,020
}

TEST_P(CurveContract, WhatIsSaidLaterIsShown) {
  add_reports(1, 1, kReports, 3);
  auto more =
      store->metrics({.trial = kTrial, .group = "training", .after_batches = 49'999, .limit = 1}).at(0);
  more.avg_metrics["accuracy"] = 0.25;
  more.avg_metrics["note"] = "text is no point";
  commit(AddMetrics{more});
  add_reports(1, kReports + 1, kReports + 200, 3);
  const auto points = store->curve({.trial = kTrial, .group = "training", .points = 100});
  EXPECT_EQ(values(points, "accuracy"), std::vector{0.25});
  EXPECT_EQ(points.back().batches, 10 * (kReports + 200));
}

}  // namespace
}  // namespace det::store
