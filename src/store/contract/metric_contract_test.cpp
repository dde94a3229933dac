// What every kind of database must do with metric reports.

#include <gmock/gmock.h>

#include <chrono>
#include <limits>
#include <thread>

#include "det/base/random.h"
#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class MetricContract : public StoreContract {
 protected:
  /// The error that AddMetrics tells, or "".
  std::string add(MetricRecord r) {
    std::string refused;
    commit(AddMetrics{std::move(r), [&](const Error& error) { refused = error.message(); }});
    return refused;
  }
  std::string shown(std::int64_t trial) {
    std::string text;
    for (const auto& r : store->metrics({.trial = TrialId(trial)}))
      text += fmt::format("{}/{}/{}:{} ", r.group, r.batches, r.run_id, json::serialize(r.avg_metrics));
    return text;
  }
};

INSTANTIATE_TEST_SUITE_P(, MetricContract, kBackends, [](const auto& i) { return i.param.name; });

TEST_P(MetricContract, ReportComesBackAsItWasAdded) {
  auto r = report(1, 2, "validation", 100,
                  {{"loss", 0.1},
                   {"nan", kNan},
                   {"inf", -kInfinity},
                   {"text", "best"},
                   {"flag", true},
                   {"nested", json::object{{"a", json::array{1, 2.5, nullptr}}}},
                   {"big", std::uint64_t{1} << 63}});
  r.batch_metrics = {json::object{{"loss", 0.25}}, json::object{{"loss", kNan}}};
  commit(AddMetrics{r});
  reopen();
  EXPECT_TRUE(same(store->metrics({.trial = TrialId(1)}).at(0), r));
}

TEST_P(MetricContract, RecordsAreKeptWithAndWithoutTheMetricsOfBatches) {
  auto training = report(1, 2, "training", 100, {{"loss", 0.5}});
  training.batch_metrics = {json::object{{"loss", 0.25}}};
  training.records = 6400;
  auto validation = report(1, 2, "validation", 100, {{"error", 0.1}});
  validation.records = 1000;
  commit(AddMetrics{training});
  commit(AddMetrics{validation});
  reopen();
  EXPECT_TRUE(same(store->metrics({.trial = TrialId(1)}).at(0), training));
  EXPECT_TRUE(same(store->metrics({.trial = TrialId(1)}).at(1), validation));
  EXPECT_EQ(add(training), "");
  auto other = validation;
  other.records = 999;
  EXPECT_NE(add(other).find("validation metric 'number of records' at 100 batches as 1000, and now as 999"),
            std::string::npos);
  EXPECT_EQ(store->metrics({.trial = TrialId(1)}).at(1).records, 1000);
}

TEST_P(MetricContract, RecordsMayBeSaidLater) {
  auto r = report(1, 1, "training", 100, {{"loss", 0.5}});
  EXPECT_EQ(add(r), "");
  r.records = 64;
  EXPECT_EQ(add(r), "");
  EXPECT_EQ(store->metrics({.trial = TrialId(1)}).at(0).records, 64);
}

TEST_P(MetricContract, AnEqualReportChangesNothing) {
  auto r = report(1, 1, "training", 100, {{"loss", 0.5}, {"acc", kNan}});
  commit(AddMetrics{r});
  auto again = r;
  again.report_time = Time{999};
  EXPECT_EQ(add(again), "");
  ASSERT_EQ(store->metrics({.trial = TrialId(1)}).size(), 1u);
  EXPECT_TRUE(same(store->metrics({.trial = TrialId(1)})[0], r));
}

TEST_P(MetricContract, NewNamesAreMergedIntoTheReport) {
  auto first = report(1, 1, "training", 100, {{"loss", 0.5}});
  first.batch_metrics = {json::object{{"loss", 1}}, json::object{{"loss", 2}}};
  auto second = report(1, 1, "training", 100, {{"acc", 0.9}, {"loss", 0.5}});
  second.batch_metrics = {json::object{{"acc", 3}}, json::object{{"acc", 4}}};
  EXPECT_EQ(add(first), "");
  EXPECT_EQ(add(second), "");
  const auto r = store->metrics({.trial = TrialId(1)}).at(0);
  EXPECT_EQ(json::serialize(r.avg_metrics), R"({"loss":0.5,"acc":0.9})");
  EXPECT_EQ(json::serialize(r.batch_metrics), R"([{"loss":1,"acc":3},{"loss":2,"acc":4}])");
}

TEST_P(MetricContract, AChangedValueIsRefusedAndTheFirstStays) {
  commit(AddMetrics{report(1, 1, "training", 100, {{"loss", 0.5}})});
  const auto changed = report(1, 1, "training", 100, {{"loss", 0.25}, {"acc", 0.9}});
  const auto checked = store->check_metrics(changed);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(
      add(changed),
      "trial 1 first reported training metric 'loss' at 100 batches as 0.5, and now as 0.25; a report can be "
      "repeated or extended with new metrics, but not changed");
  EXPECT_EQ(shown(1), R"(training/100/1:{"loss":0.5,"acc":0.9} )");
}

TEST_P(MetricContract, OfReportsCommittedTogetherOnlyThoseThatContradictAreRefused) {
  commit(AddMetrics{report(1, 1, "training", 20, {{"loss", 20.0}})});
  commit(AddMetrics{report(1, 1, "training", 30, {{"loss", 30.0}})});
  std::vector<std::int64_t> refused;
  std::vector<Change> changes;
  const auto put = [&](std::int64_t batches, double loss) {
    changes.emplace_back(AddMetrics{report(1, 1, "training", batches, {{"loss", loss}}),
                                    [&, batches](const Error&) { refused.push_back(batches); }});
  };
  for (int batches = 1; batches <= 100; ++batches)
    put(batches, batches == 30 ? -1 : batches);  // 20: repeated
  put(40, 40);
  put(50, -1);
  store->commit(std::move(changes), [] {});
  store->flush();
  EXPECT_THAT(refused, testing::ElementsAre(30, 50));
  const auto stored = store->metrics({.trial = TrialId(1)});
  ASSERT_EQ(stored.size(), 100u);
  for (const auto& r : stored)
    EXPECT_EQ(json::to_double(r.avg_metrics.at("loss")), static_cast<double>(r.batches));
  const auto summary = store->summary_metrics(TrialId(1)).at("avg_metrics").at("loss").get_object();
  EXPECT_EQ(json::to_int64(summary.at("count")), 100);
}

TEST_P(MetricContract, ALaterRunReplacesTheReportOfAnEarlierOne) {
  commit(AddMetrics{report(1, 1, "training", 100, {{"loss", 0.5}, {"acc", 0.1}})});
  EXPECT_EQ(add(report(1, 2, "training", 100, {{"loss", 0.25}})), "");
  EXPECT_EQ(shown(1), R"(training/100/2:{"loss":0.25} )");
  EXPECT_NE(add(report(1, 1, "training", 100, {{"loss", 0.5}})), "");
  EXPECT_EQ(shown(1), R"(training/100/2:{"loss":0.25} )");
}

TEST_P(MetricContract, RewindHidesWhatEarlierRunsReportedBeyondIt) {
  for (int batches = 10; batches <= 50; batches += 10)
    commit(AddMetrics{report(1, 1, "training", batches, {{"n", batches}})});
  commit(AddMetrics{report(1, 1, "validation", 50, {{"n", 50}})},
         AddMetrics{report(2, 1, "training", 50, {{"n", 1}})});
  commit(RewindTrial{TrialId(1), 2, 20});
  reopen();
  EXPECT_EQ(shown(1), R"(training/10/1:{"n":10} training/20/1:{"n":20} )");
  EXPECT_FALSE(store->latest_metrics(TrialId(1), "validation"));
  EXPECT_EQ(store->metrics({.trial = TrialId(2)}).size(), 1u);
  EXPECT_EQ(add(report(1, 2, "training", 30, {{"n", -30}})), "");
  EXPECT_EQ(shown(1), R"(training/10/1:{"n":10} training/20/1:{"n":20} training/30/2:{"n":-30} )");
}

TEST_P(MetricContract, WhereTheNewRunsStartIsNotKnownItsOwnReportsSayWhatVanishes) {
  for (int batches = 10; batches <= 40; batches += 10)
    commit(AddMetrics{report(1, 1, "training", batches, {{"n", batches}})});
  commit(AddMetrics{report(1, 1, "validation", 40, {{"n", 40}})});
  commit(RewindTrial{TrialId(1), 2, std::nullopt});
  reopen();
  EXPECT_EQ(store->metrics({.trial = TrialId(1)}).size(), 5u) << "it has not reported";
  EXPECT_NE(add(report(1, 1, "training", 50, {{"n", 50}})), "") << "late";
  EXPECT_EQ(add(report(1, 2, "training", 20, {{"n", -20}})), "");
  EXPECT_EQ(shown(1), R"(training/10/1:{"n":10} training/20/2:{"n":-20} validation/40/1:{"n":40} )");
  EXPECT_EQ(add(report(1, 2, "training", 30, {{"n", -30}})), "");
  EXPECT_EQ(store->metrics({.trial = TrialId(1)}).size(), 4u);
}

TEST_P(MetricContract, LateReportsOfAnEarlierRunAreRefusedAfterARewind) {
  commit(RewindTrial{TrialId(1), 2, 0});
  const auto late = report(1, 1, "training", 10, {{"n", 1}});
  EXPECT_EQ(store->check_metrics(late).error().code(), ErrorCode::AlreadyExists);
  EXPECT_NE(add(late), "");
  EXPECT_EQ(shown(1), "");
  reopen();
  EXPECT_NE(add(late), "");
}

TEST_P(MetricContract, ARepeatedRewindKeepsWhatTheNewRunReported) {
  commit(RewindTrial{TrialId(1), 2, 0});
  commit(AddMetrics{report(1, 2, "training", 10, {{"n", 1}})});
  commit(RewindTrial{TrialId(1), 2, 0});
  EXPECT_EQ(store->metrics({.trial = TrialId(1)}).size(), 1u);
}

TEST_P(MetricContract, BitExactResumeRepeatsReportsWithoutRefusal) {
  for (int batches = 10; batches <= 30; batches += 10)
    commit(AddMetrics{report(1, 1, "training", batches, {{"loss", 1.0 / batches}})});
  commit(RewindTrial{TrialId(1), 2, 20});
  EXPECT_EQ(add(report(1, 2, "training", 20, {{"loss", 1.0 / 20}})), "");
  EXPECT_EQ(add(report(1, 2, "training", 30, {{"loss", 1.0 / 30}})), "");
  const auto rows = store->metrics({.trial = TrialId(1)});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].run_id, 2);
}

TEST_P(MetricContract, ReadsAscendByBatchesThenGroup) {
  for (const int batches : {20, 10})
    for (const auto* group : {"validation", "training", "custom"})
      commit(AddMetrics{report(1, 1, group, batches, {{"n", 1}})});
  std::vector<std::string> order;
  for (const auto& r : store->metrics({.trial = TrialId(1)}))
    order.push_back(fmt::format("{}{}", r.batches, r.group));
  EXPECT_THAT(order, ::testing::ElementsAre("10custom", "10training", "10validation", "20custom",
                                            "20training", "20validation"));
  EXPECT_EQ(store->metrics({.trial = TrialId(1), .group = "validation"}).size(), 2u);
  EXPECT_EQ(store->metrics({.trial = TrialId(1), .after_batches = 10}).size(), 3u);
}

TEST_P(MetricContract, PagesNeitherRepeatNorMissAReport) {
  for (int batches = 1; batches <= 40; ++batches) {
    commit(AddMetrics{report(1, 1, "training", batches, {{"n", 1}})});
    if (batches % 3 == 0) commit(AddMetrics{report(1, 1, "validation", batches, {{"n", 1}})});
  }
  for (const int limit : {1, 2, 7, 100}) {
    std::size_t seen = 0;
    MetricQuery page{.trial = TrialId(1), .limit = limit};
    while (true) {
      const auto rows = store->metrics(page);
      if (rows.empty()) break;
      seen += rows.size();
      page.after_batches = rows.back().batches;
    }
    EXPECT_EQ(seen, 40u + 13u) << "limit " << limit;
  }
}

TEST_P(MetricContract, SummaryOfNothingIsEmpty) {
  EXPECT_TRUE(store->summary_metrics(TrialId(1)).empty());
}

TEST_P(MetricContract, SummaryNamesTheGroupsAndKindsOfValues) {
  commit(AddMetrics{report(1, 1, "training", 1, {{"loss", 2}, {"tag", "a"}})},
         AddMetrics{report(1, 1, "training", 2, {{"loss", 1.0}, {"tag", "b"}})},
         AddMetrics{report(1, 1, "validation", 2, {{"loss", "NaN"}})},
         AddMetrics{report(1, 1, "mine", 2, {{"flag", true}})});
  EXPECT_EQ(
      json::serialize(store->summary_metrics(TrialId(1))),
      R"({"mine":{"flag":{"last":true,"type":"boolean"}},)"
      R"("avg_metrics":{"loss":{"count":2,"sum":3.0,"min":1.0,"max":2.0,"mean":1.5,"last":1.0,"type":"number"},)"
      R"("tag":{"last":"b","type":"string"}},)"
      R"("validation_metrics":{"loss":{"count":1,"sum":"NaN","min":"NaN","max":"NaN","mean":"NaN","last":"NaN",)"
      R"("type":"number"}}})");
}

/// The summary of one curve of integers, from its reports.
json::object slow_summary(Store& store, std::int64_t trial) {
  double sum = 0, min = 0, max = 0, last = 0;
  std::int64_t count = 0;
  for (const auto& r : store.metrics({.trial = TrialId(trial)})) {
    last = *json::to_double(r.avg_metrics.at("n"));
    min = count == 0 ? last : std::min(min, last);
    max = count == 0 ? last : std::max(max, last);
    sum += last;
    ++count;
  }
  return {{"count", count}, {"sum", sum}, {"min", min}, {"max", max}, {"last", last}};
}

TEST_P(MetricContract, SummaryAgreesWithTheReportsWhateverHappens) {
  // Reports in order, out of order, merged, repeated, replaced and rewound; replay with the same seed.
  Random random(7);
  std::int64_t run = 1, batches = 0;
  const auto queue = [&](Change change) { store->commit({std::move(change)}, nullptr); };
  for (int step = 0; step < 3000; ++step) {
    const auto kind = random.below(100);
    if (kind < 90) batches += 1 + random.below(2);
    if (kind < 93) {
      const auto value = random.below(1000);
      queue(AddMetrics{report(1, run, "training", batches, {{"n", value}})});
    } else if (kind < 97) {
      queue(AddMetrics{report(1, run, "training", random.below(batches + 1), {{"n", 5}})});
    } else if (kind < 98) {
      batches = random.below(batches + 1);
      queue(RewindTrial{TrialId(1), ++run, batches});
    } else if (kind < 99) {
      ++run;  // a new run that never said where it started
    }
    if (step % 100 != 0) continue;
    store->flush();
    auto summary = store->summary_metrics(TrialId(1)).at("avg_metrics").at("n").get_object();
    for (const auto& [name, expected] : slow_summary(*store, 1))
      ASSERT_EQ(json::to_double(summary.at(name)), json::to_double(expected)) << name << " at step " << step;
  }
}

class LongCurve : public MetricContract {
 protected:
  void SetUp() override {
    MetricContract::SetUp();
    std::vector<Change> changes;
    for (int n = 1; n <= kReports; ++n)
      changes.emplace_back(AddMetrics{report(1, 1, "training", 10 * n, {{"n", n % 1000}})});
    store->commit(std::move(changes), [] {});
    store->flush();
  }
  /// Whether the writer has made all blocks anew, which it does when nobody waits for it.
  bool all_renewed() {
    for (int attempt = 0; attempt < 1000; ++attempt) {
      if (count("SELECT COUNT(*) FROM metric_blocks WHERE sums IS NULL") == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  void expect_summary() {
    const auto summary = store->summary_metrics(TrialId(1)).at("avg_metrics").at("n").get_object();
    for (const auto& [name, expected] : slow_summary(*store, 1))
      EXPECT_EQ(json::to_double(summary.at(name)), json::to_double(expected)) << name;
  }
  static constexpr int kReports = 10'000;
};

INSTANTIATE_TEST_SUITE_P(, LongCurve, kBackends, [](const auto& i) { return i.param.name; });

TEST_P(LongCurve, ARewindKeepsTheSumsOfWhatStays) {
  commit(RewindTrial{TrialId(1), 2, 80'005});
  EXPECT_EQ(count("SELECT COUNT(*) FROM metric_blocks WHERE sums IS NOT NULL"), 8000 / 64);
  expect_summary();
  reopen();
  expect_summary();
}

TEST_P(LongCurve, ALateReportMakesOneBlockAnew) {
  const auto blocks = count("SELECT COUNT(*) FROM metric_blocks");
  commit(AddMetrics{report(1, 1, "training", 20'005, {{"n", 5000}})});
  expect_summary();
  ASSERT_TRUE(all_renewed());
  EXPECT_EQ(count("SELECT COUNT(*) FROM metric_blocks"), blocks);
  expect_summary();
  const auto points = store->curve({.trial = TrialId(1), .points = 100});
  EXPECT_TRUE(std::any_of(points.begin(), points.end(), [](const auto& p) { return p.batches == 20'005; }));
}

TEST_P(LongCurve, ReportsInBetweenAreSummedInBlocksOfTheirOwn) {
  std::vector<Change> changes;
  for (int n = kReports - 1; n > 1; --n)
    changes.emplace_back(AddMetrics{report(1, 1, "training", 10 * n + 5, {{"n", -n}})});
  store->commit(std::move(changes), [] {});
  store->flush();
  expect_summary();
  ASSERT_TRUE(all_renewed());
  EXPECT_GT(count("SELECT COUNT(*) FROM metric_blocks"), 2 * kReports / 128);
  expect_summary();
}

TEST_P(LongCurve, BlocksOfAnOlderVersionGetTheirSums) {
  store.reset();
  {
    const auto connection = connect();
    connection->execute("UPDATE metric_blocks SET sums = NULL; DELETE FROM metric_summaries");
  }
  reopen();
  expect_summary();
  ASSERT_TRUE(all_renewed());
  expect_summary();
  reopen();
  expect_summary();
}

}  // namespace
}  // namespace det::store
