// Searches in time (`max_time`) over scripts, which train as long as they like: the search hears each
// validation.
#include <gtest/gtest.h>

#include "det/experiment/testing.h"

namespace det::experiment {
namespace {

constexpr const char* kTimed =
    "searcher: {name: async_halving, metric: loss, num_rungs: 3, divisor: 2, max_trials: 4, "
    "max_concurrent_trials: 2, "
    "max_time: 100, time_metric: seconds_of_training}\nentrypoint: [python3, train.py]\n";  // rungs: 25, 50,
                                                                                            // 100

struct TimedBench : Bench {
  explicit TimedBench(const std::string& text = kTimed) : Bench(text) {}
  void report(int id, double metric, std::optional<double> time) {
    experiment.validated(TrialId{id}, 1, metric, time, context());
    effects = experiment.take_effects();
  }
};

TEST(TimedSearch, ATrialThatHasLostIsStoppedAndIsCompleted) {
  TimedBench bench;
  bench.report(1, 0.1, 25);
  EXPECT_EQ(bench.count<PreemptAllocation>(), 0) << "the first in a rung goes on";
  bench.report(2, 0.2, 24.9);
  EXPECT_EQ(bench.count<PreemptAllocation>(), 0) << "it is not there yet";
  bench.report(2, 0.2, 25.5);
  EXPECT_EQ(bench.count<PreemptAllocation>(), 1);
  EXPECT_EQ(bench.count<RequestAllocation>(), 1) << "another one begins in its place";
  bench.report(2, 0.05, 26);
  EXPECT_TRUE(bench.effects.empty()) << "what it says after that is not heard";
  bench.end(2, kPreempted);
  EXPECT_EQ(bench.trial(2).record.state, State::Completed);
  EXPECT_EQ(bench.trial(2).record.best_metric, 0.05);
}

TEST(TimedSearch, OneReportMayPassSeveralRungsAndTheTopIsTheEnd) {
  TimedBench bench;
  bench.report(1, 0.1, 60);
  EXPECT_EQ(bench.count<PreemptAllocation>(), 0);
  EXPECT_EQ(bench.trial(1).operations.back().length, 100);
  EXPECT_FALSE(bench.trial(1).operations.back().completed);
  bench.report(1, 0.1, 1000);
  EXPECT_EQ(bench.count<PreemptAllocation>(), 1);
  bench.end(1, kPreempted);
  EXPECT_EQ(bench.trial(1).record.state, State::Completed);
}

TEST(TimedSearch, AStoppedTrialThatFailsOnItsWayOutIsNotStartedAgain) {
  for (const auto& exit : {kCrash, kLost}) {
    TimedBench bench;
    bench.report(1, 0.1, 25);
    bench.report(2, 0.2, 25);
    bench.end(2, exit);
    EXPECT_EQ(bench.trial(2).record.state, State::Completed);
    EXPECT_EQ(bench.trial(2).record.restarts, 0);
  }
}

TEST(TimedSearch, AScriptThatIsDoneBeforeTheSearchIsCountsAsTheWorstOfItsRung) {
  TimedBench bench;
  bench.report(1, 0.1, 30);
  bench.end(1, kClean);
  EXPECT_EQ(bench.trial(1).record.state, State::Completed);
  bench.report(2, 0.2, 100);
  EXPECT_EQ(bench.count<PreemptAllocation>(), 1)
      << "the second in the first rung is not among the best of two";
}

TEST(TimedSearch, ARunThatIsStartedAgainGoesOnWhereTheSearchIs) {
  TimedBench bench;
  bench.report(1, 0.1, 30);
  bench.end(1, kLost);
  EXPECT_EQ(bench.count<RequestAllocation>(), 1);
  bench.report(1, 0.3, 20);
  bench.report(1, 0.1, 30);
  EXPECT_TRUE(bench.experiment.snapshot() == Experiment::restore(bench.experiment.snapshot())->snapshot());
  bench.report(1, 0.1, 50);
  EXPECT_EQ(bench.count<PreemptAllocation>(), 0);
  EXPECT_EQ(bench.trial(1).operations.back().length, 100);
}

TEST(TimedSearch, AllOfItEnds) {
  TimedBench bench;
  for (int id = 1; id <= 4; ++id) {
    bench.report(id, 1.0 / id, 100);
    bench.end(id, kPreempted);
  }
  EXPECT_EQ(bench.experiment.record().state, State::Completed);
  EXPECT_EQ(bench.experiment.record().progress, 1);
}

TEST(TimedSearch, ScriptsThatAskWhatIsLeftAreToldTheSame) {
  TimedBench bench(
      "searcher: {name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 1, max_time: 100, "
      "time_metric: batches}\nentrypoint: [python3, train.py]\n");
  bench.report(1, 0.5, 50);
  bench.complete(1, 50);
  EXPECT_EQ(bench.trial(1).operations.size(), 2u) << "the completion says what the report has said";
  bench.complete(1, 100);
  EXPECT_TRUE(bench.trial(1).closed);
  bench.end(1, kClean);
  EXPECT_EQ(bench.experiment.record().state, State::Completed);
}

TEST(TimedSearch, ATrialClassCountsInItsUnitsOnly) {
  config::Layers layers;
  layers.master["checkpoint_storage"] = {{"type", "shared_fs"}, {"host_path", "/checkpoints"}};
  layers.user_yaml =
      "searcher: {name: adaptive_asha, metric: loss, max_trials: 4, max_time: 100, time_metric: seconds}\n"
      "entrypoint: m:T\nhyperparameters: {global_batch_size: 8}\n";
  const auto resolved = config::resolve(layers, {.now = {}, .pet_name = "t", .resource_pools = std::nullopt});
  ASSERT_TRUE(resolved);
  const auto made =
      Experiment::create({.id = ExperimentId{1}, .config = resolved->config.document}, resolved->config);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message(),
            "searcher.time_metric is \"seconds\"; for a trial class, it must be batches, records or epochs "
            "(a script may use its own metric)");
}

}  // namespace
}  // namespace det::experiment
