// Experiments that search, are over, and go on where their search was.

#include <gtest/gtest.h>

#include "det/experiment/testing.h"

namespace det::experiment {
namespace {

constexpr const char* kTwoAtATime =
    "searcher: {name: random, metric: loss, max_trials: 5, max_concurrent_trials: 2, max_length: {batches: "
    "100}}\n";
constexpr const char* kHalving =
    "searcher: {name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 4, "
    "max_concurrent_trials: 2, max_length: {batches: 100}}\n";
constexpr const char* kSynchronous =
    "searcher: {name: adaptive_simple, metric: loss, mode: aggressive, max_rungs: 2, divisor: 2, max_trials: "
    "4, "
    "max_length: {batches: 100}}\n";

using Checkpoints = std::map<TrialId, NewestCheckpoint>;

Result<Experiment> go_on(Bench& bench, const Checkpoints& checkpoints = {}) {
  return Experiment::go_on_searching(bench.experiment.record(), bench.experiment.at_end().value(),
                                     checkpoints, bench.context());
}

/// Trains what wants to train, the first trial first, until nobody does; which trials trained, and how far.
std::map<TrialId, std::int64_t> play(Bench& bench) {
  std::map<TrialId, std::int64_t> reached;
  for (bool trained = true; trained;) {
    trained = false;
    for (const auto& [id, trial] : bench.experiment.trials()) {
      if (trial.allocation.empty()) continue;
      trained = true;
      const auto open = std::ranges::find_if(trial.operations, [](const auto& o) { return !o.completed; });
      if (open != trial.operations.end()) {
        reached[id] = open->batches;
        bench.experiment.checkpointed(id, fmt::format("{}.{}", id, open->batches), open->batches);
        bench.complete(static_cast<int>(id.value()), open->batches);
      } else {
        bench.end(static_cast<int>(id.value()), trial.closed ? kClean : kPreempted);
      }
      break;
    }
  }
  return reached;
}

/// The same with another experiment, from the same clock and counter of trials.
std::map<TrialId, std::int64_t> play_on(Bench& bench, Experiment experiment) {
  bench.experiment = std::move(experiment);
  return play(bench);
}

TEST(SearchAgain, ACanceledOneHasTheTrialsThatItWouldHaveHad) {
  for (const auto* text : {kRandom, kTwoAtATime, kHalving, kSynchronous}) {
    SCOPED_TRACE(text);
    Bench whole(text);
    const auto straight = play(whole);
    for (const bool kill : {false, true}) {
      Bench bench(text);
      bench.experiment.checkpointed(TrialId{1}, "c30", 30);
      ASSERT_TRUE(kill ? bench.experiment.kill(bench.context()) : bench.experiment.cancel(bench.context()));
      for (const auto& [id, trial] : bench.experiment.trials())
        bench.end(static_cast<int>(id.value()), kill ? Exit{.kind = Exit::Kind::Stopped} : kPreempted);
      ASSERT_EQ(bench.experiment.record().state, State::Canceled);
      auto again = go_on(bench, {{TrialId{1}, {"c30", 30}}});
      ASSERT_TRUE(again) << again.error().message();
      EXPECT_EQ(again->record().state, State::Active);
      EXPECT_FALSE(again->record().end_time);
      EXPECT_EQ(again->trial(TrialId{1})->record.latest_checkpoint, "c30");
      EXPECT_EQ(again->trial(TrialId{1})->record.run_id, 2);
      const auto restored = Experiment::restore(again->snapshot());
      ASSERT_TRUE(restored) << restored.error().message();
      EXPECT_EQ(json::serialize(restored->snapshot()), json::serialize(again->snapshot()));
      EXPECT_EQ(play_on(bench, *std::move(again)), straight);
      EXPECT_EQ(bench.experiment.record().state, State::Completed);
      for (const auto& [id, trial] : bench.experiment.trials()) {
        EXPECT_EQ(trial.record.hparams, whole.trial(static_cast<int>(id.value())).record.hparams);
        EXPECT_EQ(trial.record.seed, whole.trial(static_cast<int>(id.value())).record.seed);
      }
    }
  }
}

TEST(SearchAgain, WhatTheSearchAskedForWhileItWasBeingStoppedIsAskedForAgain) {
  for (const auto* text : {kRandom, kTwoAtATime, kHalving, kSynchronous}) {
    SCOPED_TRACE(text);
    Bench whole(text);
    const auto straight = play(whole);
    Bench bench(text);
    ASSERT_TRUE(bench.experiment.cancel(bench.context()));
    const auto first = bench.trial(1).operations.front().batches;
    bench.complete(1, first);  // it was about to report, and the search creates another one, or promotes
    const auto restored = Experiment::restore(bench.experiment.snapshot());
    ASSERT_TRUE(restored) << restored.error().message();
    EXPECT_EQ(json::serialize(restored->snapshot()), json::serialize(bench.experiment.snapshot()));
    for (const auto& [id, trial] : bench.experiment.trials())
      bench.end(static_cast<int>(id.value()), kPreempted);
    auto again = go_on(bench, {{TrialId{1}, {"c", first}}});
    ASSERT_TRUE(again) << again.error().message();
    auto reached = play_on(bench, *std::move(again));
    reached.emplace(TrialId{1}, first);  // if it was not promoted
    EXPECT_EQ(reached, straight);
    EXPECT_EQ(bench.experiment.record().state, State::Completed);
  }
}

TEST(SearchAgain, TrialsThatFailedHaveTheirRestartsAgain) {
  for (const auto* text : {kRandom, kTwoAtATime, kHalving}) {
    SCOPED_TRACE(text);
    Bench whole(text);
    const auto straight = play(whole);
    Bench bench(text);
    while (!bench.experiment.finished())
      for (const auto& [id, trial] : bench.experiment.trials())
        if (!trial.allocation.empty()) {
          bench.end(static_cast<int>(id.value()), kCrash);
          break;
        }
    ASSERT_EQ(bench.experiment.record().state, State::Error);
    const auto trials = bench.next_trial;
    auto again = go_on(bench);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->record().error, "");
    for (const auto& [id, trial] : again->trials()) {
      EXPECT_EQ(trial.record.restarts, 0);
      EXPECT_EQ(trial.record.error, "");
    }
    EXPECT_LE(again->trials().size(), 2u) << "max_concurrent_trials";
    const auto restored = Experiment::restore(again->snapshot());
    ASSERT_TRUE(restored) << restored.error().message();
    EXPECT_EQ(json::serialize(restored->snapshot()), json::serialize(again->snapshot()));
    EXPECT_EQ(play_on(bench, *std::move(again)), straight);
    EXPECT_EQ(bench.experiment.record().state, State::Completed);
    EXPECT_EQ(bench.next_trial, trials) << "none is new";
  }
}

TEST(SearchAgain, StoppedOnceMoreItKeepsWhoWaitsToBeRunAgain) {
  Bench bench(kTwoAtATime);
  while (!bench.experiment.finished())
    for (const auto& [id, trial] : bench.experiment.trials())
      if (!trial.allocation.empty()) {
        bench.end(static_cast<int>(id.value()), kCrash);
        break;
      }
  for (int i = 0; i < 3; ++i) {
    bench.experiment = go_on(bench).value();
    ASSERT_TRUE(bench.experiment.kill(bench.context()));
    for (const auto& [id, trial] : bench.experiment.trials()) bench.end(static_cast<int>(id.value()), kLost);
    ASSERT_EQ(bench.experiment.record().state, State::Canceled);
  }
  EXPECT_EQ(play_on(bench, go_on(bench).value()).size(), 5u);
  EXPECT_EQ(bench.experiment.record().state, State::Completed);
}

TEST(SearchAgain, WhatHasNothingToDoOrIsNotOverIsRefused) {
  Bench bench(kRandom);
  EXPECT_FALSE(go_on(bench)) << "it is active";
  play(bench);
  const auto complete = go_on(bench);
  ASSERT_FALSE(complete);
  EXPECT_EQ(complete.error().message(),
            "experiment 1 has nothing to continue: all of its trials are complete");

  Bench synchronous(kSynchronous);
  synchronous.end(1, kCrash);
  synchronous.end(1, kCrash);
  play(synchronous);
  ASSERT_EQ(synchronous.experiment.record().state, State::Completed);
  const auto failed = go_on(synchronous);
  ASSERT_FALSE(failed);
  EXPECT_EQ(
      failed.error().message(),
      "experiment 1 has nothing to continue: the other trials are complete, and the searcher adaptive_simple "
      "cannot rerun failed trials");

  Bench pbt(
      "searcher: {name: pbt, metric: loss, population_size: 2, num_rounds: 2, length_per_round: {batches: "
      "10}, "
      "replace_function: {truncate_fraction: 0.5}, explore_function: {resample_probability: 0, "
      "perturb_factor: "
      "0.2}}\n");
  EXPECT_FALSE(pbt.experiment.at_end());
}

TEST(SearchAgain, ACompletedOneWhoseTrialsFailedIsExtendedAndContinued) {
  Bench bench(kRandom);
  bench.end(1, kCrash);
  bench.end(1, kCrash);
  play(bench);
  auto extended = Experiment::extend(bench.experiment.record(), bench.experiment.at_end().value(),
                                     {.max_trials = 4}, bench.context());
  ASSERT_TRUE(extended) << extended.error().message();
  EXPECT_EQ(play_on(bench, *std::move(extended)), (std::map<TrialId, std::int64_t>{{TrialId{4}, 100}}));
  EXPECT_EQ(play_on(bench, go_on(bench).value()), (std::map<TrialId, std::int64_t>{{TrialId{1}, 100}}));
}

TEST(SearchAgain, AnEarlierReleaseKeptTheSearchAloneAndItIsExtendedStill) {
  Bench bench(kRandom);
  play(bench);
  const auto search = bench.experiment.at_end()->at("search");
  const auto extended =
      Experiment::extend(bench.experiment.record(), search, {.max_trials = 4}, bench.context());
  ASSERT_TRUE(extended) << extended.error().message();
  EXPECT_EQ(extended->trials().size(), 1u);
}

}  // namespace
}  // namespace det::experiment
