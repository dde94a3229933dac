// What lists show of trials must be what reading all of their reports and checkpoints gives.

#include "det/base/random.h"
#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

using experiment::better;

/// Reads everything.
TrialOverview slow_overview(Store& store, TrialId trial, bool smaller_is_better) {
  TrialOverview o;
  std::map<std::int64_t, double> value_at;
  for (const auto& report : store.metrics({.trial = trial, .group = "validation"})) {
    o.latest_validation = report;
    const auto* found = report.avg_metrics.if_contains("loss");
    const auto value = found == nullptr ? std::nullopt : json::to_double(*found);
    if (!value) continue;
    value_at[report.batches] = *value;
    if (o.best_metric && !better(*value, o.best_metric, smaller_is_better)) continue;
    o.best_metric = value;
    o.best_validation = report;
  }
  std::optional<double> best;
  for (const auto& checkpoint : store.checkpoints_of_trial(trial)) {
    if (checkpoint.state != experiment::CheckpointState::Completed) continue;
    ++o.checkpoint_count;
    for (const auto& [name, bytes] : checkpoint.resources) o.checkpoint_bytes += bytes;
    const auto found = value_at.find(checkpoint.batches);
    if (found == value_at.end() || (best && !better(found->second, best, smaller_is_better))) continue;
    best = found->second;
    o.best_checkpoint = checkpoint;
  }
  o.summary_metrics = store.summary_metrics(trial);
  return o;
}

std::string text(const TrialOverview& o) {
  const auto report = [](const std::optional<MetricRecord>& r) {
    return r ? fmt::format("{} at {}", json::serialize(r->avg_metrics), r->batches) : "none";
  };
  return fmt::format("latest {}, best {}, metric {}, {} checkpoints of {} bytes, best {}, {}",
                     report(o.latest_validation), report(o.best_validation),
                     o.best_metric ? fmt::format("{}", *o.best_metric) : "none", o.checkpoint_count,
                     o.checkpoint_bytes, o.best_checkpoint ? o.best_checkpoint->uuid : "none",
                     json::serialize(o.summary_metrics));
}

class OverviewContract : public StoreContract {
 protected:
  void expect_right(int trials, const std::string& when) {
    std::vector<TrialId> ids;
    for (int t = 1; t <= trials; ++t) ids.emplace_back(t);
    for (const bool smaller : {true, false}) {
      auto overviews = store->overviews({.trials = ids, .metric = "loss", .smaller_is_better = smaller});
      ASSERT_EQ(overviews.size(), ids.size());
      for (const auto id : ids)
        ASSERT_EQ(text(overviews[id]), text(slow_overview(*store, id, smaller)))
            << when << ", trial " << id.value() << ", smaller is better: " << smaller;
    }
  }
  static CheckpointRecord checkpoint(std::int64_t trial, std::int64_t number, std::int64_t batches) {
    CheckpointRecord c;
    c.uuid = fmt::format("{}-{}", trial, number);
    c.trial_id = TrialId(trial);
    c.experiment_id = ExperimentId(1);
    c.batches = batches;
    c.resources = {{"model", 10 * number}};
    c.state = number % 5 == 0 ? experiment::CheckpointState::Deleted : experiment::CheckpointState::Completed;
    return c;
  }
};

INSTANTIATE_TEST_SUITE_P(, OverviewContract, kBackends, [](const auto& i) { return i.param.name; });

TEST_P(OverviewContract, OfATrialWithoutReportsIsEmpty) {
  expect_right(1, "nothing");
  EXPECT_TRUE(store->overviews({.trials = {}, .metric = "loss"}).empty());
  EXPECT_TRUE(store->summaries({TrialId(1)}).empty());
}

TEST_P(OverviewContract, AgreesWithAllReportsAndCheckpointsWhateverHappens) {
  // Validations in order, late, of other names, no numbers and rewound; replay with the same seed.
  constexpr int kTrials = 5;
  Random random(11);
  std::map<int, std::int64_t> run, batches;
  std::int64_t number = 0;
  const auto queue = [&](Change change) { store->commit({std::move(change)}, nullptr); };
  for (int step = 0; step < 3000; ++step) {
    const int trial = 1 + static_cast<int>(random.below(kTrials));
    auto& at = batches[trial];
    const auto value = random.below(1000);
    const auto kind = random.below(100);
    if (kind < 80) queue(AddMetrics{report(trial, 1 + run[trial], "validation", ++at, {{"loss", value}})});
    if (kind == 80) queue(AddMetrics{report(trial, 1 + run[trial], "validation", ++at, {{"loss", "NaN"}})});
    if (kind == 81) queue(AddMetrics{report(trial, 1 + run[trial], "validation", ++at, {{"other", 1}})});
    if (kind == 82)
      queue(AddMetrics{report(trial, 1 + run[trial], "validation", random.below(at + 1), {{"loss", value}})});
    if (kind > 82 && kind < 90) queue(AddMetrics{report(trial, 1 + run[trial], "training", at, {{"n", 1}})});
    if (kind >= 90 && kind < 99) queue(PutCheckpoint{checkpoint(trial, ++number, random.below(at + 1))});
    if (kind == 99 && random.below(5) == 0) {
      at = random.below(at + 1);
      queue(RewindTrial{TrialId(trial), 1 + ++run[trial], at});
    }
    if (step % 300 != 0) continue;
    store->flush();
    ASSERT_NO_FATAL_FAILURE(expect_right(kTrials, fmt::format("step {}", step)));
  }
}

}  // namespace
}  // namespace det::store
