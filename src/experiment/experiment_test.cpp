#include "det/experiment/experiment.h"

#include <gtest/gtest.h>

#include <cmath>

#include "det/experiment/testing.h"

namespace det::experiment {
namespace {

TEST(Experiment, AsksForSlotsForItsTrialAtOnce) {
  Bench bench(kSingle);
  EXPECT_EQ(bench.count<RequestAllocation>(), 1);
  EXPECT_EQ(bench.trial(1).operations.front().batches, 200);
  EXPECT_EQ(bench.trial(1).allocation, bench.trial(1).record.task_id + ".1");
}

TEST(Experiment, AScriptIsCompleteWhenItEndsWithoutSayingThatItGivesWay) {
  Bench bench(std::string(kSingle) + "entrypoint: python3 train.py\n");
  bench.end(1, kPreempted);
  EXPECT_EQ(bench.trial(1).record.state, State::Active);
  bench.end(1, kClean);
  EXPECT_EQ(bench.trial(1).record.state, State::Completed);
  EXPECT_EQ(bench.experiment.record().state, State::Completed);
}

TEST(Experiment, AScriptThatEndsWhileItIsAskedToGiveWayHasFinishedUnlessItSaidThatItDoes) {
  Bench bench(std::string(kSingle) + "entrypoint: python3 train.py\n");
  bench.end(1, {.kind = Exit::Kind::Clean, .preempted = true, .acknowledged = false});
  EXPECT_EQ(bench.trial(1).record.state, State::Completed);
  Bench trial_class(kSingle);
  trial_class.end(1, {.kind = Exit::Kind::Clean, .preempted = true, .acknowledged = false});
  EXPECT_EQ(trial_class.trial(1).record.state, State::Active) << "its length says when it has finished";
}

TEST(Experiment, AScriptThatFailsIsRestarted) {
  Bench bench(std::string(kSingle) + "entrypoint: [python3, train.py]\n");
  bench.end(1, kCrash);
  EXPECT_EQ(bench.trial(1).record.state, State::Active);
  bench.end(1, kCrash);
  EXPECT_EQ(bench.trial(1).record.state, State::Error);
}

TEST(Experiment, AScriptCountsInTheUnitOfItsConfiguration) {
  Bench bench(
      "searcher: {name: single, metric: loss, max_length: {epochs: 3}}\nentrypoint: python3 train.py\n");
  EXPECT_EQ(bench.trial(1).operations.front().batches, 3);
  bench.complete(1, 3);
  bench.end(1, kClean);
  EXPECT_EQ(bench.trial(1).record.state, State::Completed);
}

TEST(Experiment, AScriptWithoutALengthIsAskedOnce) {
  Bench bench("searcher: {name: single, metric: loss}\nentrypoint: python3 train.py\n");
  EXPECT_EQ(bench.trial(1).operations.front().batches, 1);
  const auto again = Experiment::restore(bench.experiment.snapshot());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->trial(TrialId{1})->operations.front().batches, 1);
}

TEST(Experiment, IsCompletedWhenItsTrialDidEverythingAndLeft) {
  Bench bench(kSingle);
  bench.complete(1, 200);
  EXPECT_EQ(bench.experiment.record().state, State::Active) << "the process still runs";
  bench.end(1, kClean);
  EXPECT_EQ(bench.trial(1).record.state, State::Completed);
  EXPECT_EQ(bench.experiment.record().state, State::Completed);
  EXPECT_EQ(bench.count<Ended>(), 1);
}

TEST(Experiment, ANewTrialFollowsOneThatEnded) {
  Bench bench(kRandom);
  EXPECT_EQ(bench.experiment.trials().size(), 1u);
  bench.complete(1, 100);
  bench.end(1, kClean);
  EXPECT_EQ(bench.experiment.trials().size(), 2u);
  EXPECT_EQ(bench.count<RequestAllocation>(), 1);
}

TEST(Experiment, RestartsACrashedTrialFromItsLatestCheckpointAtMostMaxRestartsTimes) {
  Bench bench(kSingle);
  bench.experiment.checkpointed(TrialId{1}, "uuid-1", 100);
  bench.end(1, kCrash);
  EXPECT_EQ(bench.trial(1).record.restarts, 1);
  EXPECT_EQ(bench.count<RequestAllocation>(), 1);
  EXPECT_EQ(bench.trial(1).record.run_id, 2);
  EXPECT_EQ(bench.trial(1).record.latest_checkpoint, "uuid-1");
  bench.end(1, kCrash);
  EXPECT_EQ(bench.trial(1).record.state, State::Error);
  EXPECT_EQ(bench.trial(1).record.error, "rank 0 exited with status 1; it was restarted once (max_restarts)");
  EXPECT_EQ(bench.trial(1).record.restarts, 1) << "the last failure is followed by no restart";
  EXPECT_EQ(bench.experiment.record().state, State::Error) << "every trial failed";
}

TEST(Experiment, ATrialWhoseLogHasALineThatForbidsRestartsEndsWithItsFirstFailure) {
  Bench bench(kSingle);
  bench.experiment.log_policy_matched(TrialId{1}, "disk", "cancel_retries", "a", "no space left");
  EXPECT_EQ(bench.trial(1).record.state, State::Active) << "a line alone ends nothing";
  auto again = Experiment::restore(bench.experiment.snapshot());
  ASSERT_TRUE(again);
  bench.experiment = *std::move(again);
  bench.end(1, {.kind = Exit::Kind::Failed, .reason = "rank 0 ended with status 1"});
  EXPECT_EQ(bench.trial(1).record.state, State::Error);
  EXPECT_EQ(bench.trial(1).record.error,
            "rank 0 ended with status 1; trial failed and matched logs to a don't retry policy: log policy "
            "'disk' matched the line: no space left");
}

TEST(Experiment, AnAgentThatALinesPolicyExcludesIsNotUsedForTheTrialAgain) {
  Bench bench(kSingle);
  bench.experiment.log_policy_matched(TrialId{1}, "ecc", "exclude_node", "a", "uncorrectable");
  bench.experiment.log_policy_matched(TrialId{1}, "ecc", "exclude_node", "b", "uncorrectable");
  EXPECT_EQ(bench.trial(1).blocked_agents, (std::set<std::string>{"a", "b"})) << "each agent that says it";
  EXPECT_EQ(bench.trial(1).record.log_policy_matched, "ecc");
  bench.effects = bench.experiment.take_effects();
  bench.experiment.log_policy_matched(TrialId{1}, "ecc", "exclude_node", "b", "uncorrectable");
  EXPECT_TRUE(bench.experiment.take_effects().empty()) << "once of each";
  bench.end(1, {.kind = Exit::Kind::Failed, .reason = "rank 0 ended with status 1"});
  EXPECT_EQ(bench.trial(1).record.state, State::Active);
  EXPECT_EQ(bench.count<RequestAllocation>(), 1);
}

TEST(Experiment, TheLossOfAMachineIsNoFailureOfTheTrial) {
  Bench bench(kSingle);
  for (int i = 0; i < 10; ++i) bench.end(1, kLost);
  EXPECT_EQ(bench.trial(1).record.restarts, 0);
  EXPECT_EQ(bench.trial(1).record.state, State::Active);
}

TEST(Experiment, AProcessThatLeavesBeforeItsTrialIsDoneFailed) {
  Bench bench(kSingle);
  bench.end(1, kClean);
  EXPECT_EQ(bench.trial(1).record.restarts, 1);
}

TEST(Experiment, ATrialThatWaitsToBePromotedLeavesItsSlotsToOthersAndAsksAgainWhenItIs) {
  Bench bench(
      "searcher: {name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 2, "
      "max_concurrent_trials: 2, max_length: {batches: 200}}\n");
  bench.complete(1, 100);
  EXPECT_EQ(bench.count<IdleAllocation>(), 1) << "nothing to do for trial 1 before trial 2 has validated";
  bench.end(1, kPreempted);
  EXPECT_EQ(bench.count<RequestAllocation>(), 0);
  bench.complete(2, 100);
  EXPECT_EQ(bench.count<RequestAllocation>(), 1) << "equal metrics: the first one is promoted";
  EXPECT_EQ(bench.trial(1).operations.back().batches, 200);
  EXPECT_TRUE(bench.trial(2).closed);
  EXPECT_EQ(bench.trial(1).record.restarts, 0);
}

TEST(Experiment, ATrialThatIsPromotedWhileItsProcessWaitsGoesOnInIt) {
  Bench bench(
      "searcher: {name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 2, "
      "max_concurrent_trials: 2, max_length: {batches: 200}}\n");
  bench.complete(1, 100);
  bench.complete(2, 100);
  EXPECT_EQ(bench.count<RequestAllocation>(), 0);
  EXPECT_EQ(bench.count<ResumeAllocation>(), 2) << "one is promoted, the other closed";
  EXPECT_EQ(bench.trial(1).record.run_id, 1);
}

TEST(Experiment, APausedTrialWhoseSearchEndsWaitsNoLonger) {
  Bench bench(kSingle);
  ASSERT_TRUE(bench.experiment.pause(bench.context()));
  bench.effects = bench.experiment.take_effects();
  ASSERT_EQ(bench.count<PreemptAllocation>(), 1);
  EXPECT_TRUE(std::get<PreemptAllocation>(bench.effects[0]).may_stay);
  bench.complete(1, 200);  // it was validating when it was asked
  ASSERT_GE(bench.count<PreemptAllocation>(), 1);
  for (const auto& effect : bench.effects) {
    const auto* preempt = std::get_if<PreemptAllocation>(&effect);
    EXPECT_TRUE(preempt == nullptr || !preempt->may_stay);
  }
  bench.end(1, kPreempted);
  EXPECT_EQ(bench.experiment.record().state, State::Completed);
}

TEST(Experiment, LengthsThatAreTheSameInBatchesStayDifferentOperations) {
  Bench bench(
      "searcher: {name: async_halving, metric: loss, num_rungs: 3, divisor: 2, max_trials: 4, "
      "max_concurrent_trials: 4, stop_once: true, max_length: {records: 8}}\n");
  bench.complete(1, 1);
  bench.complete(1, 2);
  bench.complete(1, 3);
  EXPECT_TRUE(bench.trial(1).closed);
}

TEST(Experiment, ACopyInAPopulationStartsFromTheCheckpointOfItsParent) {
  Bench bench(
      "searcher: {name: pbt, metric: loss, population_size: 2, num_rounds: 2, length_per_round: {batches: "
      "10}, "
      "replace_function: {truncate_fraction: 0.5}, explore_function: {resample_probability: 0, "
      "perturb_factor: "
      "0.1}}\n");
  bench.experiment.checkpointed(TrialId{1}, "c-1", 10);
  bench.experiment.checkpointed(TrialId{2}, "c-2", 10);
  ASSERT_TRUE(bench.experiment.operation_completed(TrialId{1}, 10, 0.7, bench.context()));
  ASSERT_TRUE(bench.experiment.operation_completed(TrialId{2}, 10, 0.3, bench.context()));
  EXPECT_EQ(bench.trial(3).record.warm_start_checkpoint, "c-2");
  EXPECT_TRUE(bench.trial(1).closed);
  EXPECT_EQ(bench.trial(2).operations.back().batches, 20);
}

TEST(Experiment, PauseGivesSlotsBackAndActivateAsksAgain) {
  Bench bench(kSingle);
  ASSERT_TRUE(bench.experiment.pause(bench.context()));
  bench.effects = bench.experiment.take_effects();
  EXPECT_EQ(bench.count<PreemptAllocation>(), 1);
  bench.end(1, kPreempted);
  EXPECT_EQ(bench.count<RequestAllocation>(), 0);
  ASSERT_TRUE(bench.experiment.activate(bench.context()));
  bench.effects = bench.experiment.take_effects();
  EXPECT_EQ(bench.count<RequestAllocation>(), 1);
  EXPECT_EQ(bench.trial(1).record.restarts, 0);
}

TEST(Experiment, ActivatedBeforeThePausedTrialLeftItAsksAgainOnceItHas) {
  Bench bench(kSingle);
  ASSERT_TRUE(bench.experiment.pause(bench.context()));
  ASSERT_TRUE(bench.experiment.activate(bench.context()));
  bench.experiment.take_effects();
  bench.end(1, kPreempted);
  EXPECT_EQ(bench.count<RequestAllocation>(), 1);
}

TEST(Experiment, CancelLetsTrialsSaveAndKillDoesNot) {
  Bench cancel(kSingle);
  ASSERT_TRUE(cancel.experiment.cancel(cancel.context()));
  cancel.effects = cancel.experiment.take_effects();
  EXPECT_EQ(cancel.count<PreemptAllocation>(), 1);
  cancel.end(1, kPreempted);
  EXPECT_EQ(cancel.experiment.record().state, State::Canceled);

  Bench kill(kSingle);
  ASSERT_TRUE(kill.experiment.kill(kill.context()));
  kill.effects = kill.experiment.take_effects();
  EXPECT_EQ(kill.count<KillAllocation>(), 1);
  kill.end(1, {.kind = Exit::Kind::Stopped});
  EXPECT_EQ(kill.experiment.record().state, State::Canceled);
}

TEST(Experiment, APausedExperimentThatIsCanceledEndsAtOnce) {
  Bench bench(kSingle, /*activate=*/false);
  ASSERT_TRUE(bench.experiment.cancel(bench.context()));
  EXPECT_EQ(bench.experiment.record().state, State::Canceled);
}

TEST(Experiment, RefusesCommandsThatItsStateRulesOut) {
  Bench bench(kSingle);
  bench.complete(1, 200);
  bench.end(1, kClean);
  for (const auto& refused :
       {bench.experiment.pause(bench.context()), bench.experiment.activate(bench.context()),
        bench.experiment.cancel(bench.context()), bench.experiment.kill(bench.context())}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::FailedPrecondition);
  }
}

TEST(Experiment, WhatIsReportedTwiceChangesNothing) {
  Bench bench(kRandom);
  bench.complete(1, 100);
  const auto before = json::serialize(bench.experiment.snapshot());
  ASSERT_TRUE(bench.experiment.operation_completed(TrialId{1}, 100, 0.9, bench.context()));
  EXPECT_TRUE(bench.experiment.take_effects().empty());
  EXPECT_EQ(json::serialize(bench.experiment.snapshot()), before);
}

TEST(Experiment, AnOperationThatWasNeverGivenIsRefused) {
  Bench bench(kSingle);
  const auto refused = bench.experiment.operation_completed(TrialId{1}, 77, 0.1, bench.context());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "trial 1 has no operation that ends at 77 batches");
}

TEST(Experiment, ATrialWithAnInvalidHyperparameterEndsWithoutRestart) {
  Bench bench(kRandom);
  bench.experiment.exiting_early(TrialId{1}, search::ExitedReason::InvalidHp);
  bench.end(1, kCrash);
  EXPECT_EQ(bench.trial(1).record.restarts, 0);
  EXPECT_TRUE(is_terminal(bench.trial(1).record.state));
  EXPECT_EQ(bench.experiment.record().state, State::Active) << "the search goes on";
}

TEST(Experiment, ATrialThatSaysItCannotRunEndsInErrorWithItsWordsAndWithoutRestart) {
  Bench bench(kSingle);
  bench.experiment.exiting_early(TrialId{1}, search::ExitedReason::Errored,
                                 "model.cpp:7: error: no such thing");
  bench.end(1, {.kind = Exit::Kind::Clean});
  EXPECT_EQ(bench.trial(1).record.restarts, 0);
  EXPECT_EQ(bench.trial(1).record.state, State::Error);
  EXPECT_EQ(bench.trial(1).record.error, "model.cpp:7: error: no such thing");
  EXPECT_EQ(bench.experiment.record().state, State::Error);
}

TEST(Experiment, AKilledTrialDoesNotComeBack) {
  Bench bench(kSingle);
  ASSERT_TRUE(bench.experiment.kill_trial(TrialId{1}, bench.context()));
  bench.effects = bench.experiment.take_effects();
  EXPECT_EQ(bench.count<KillAllocation>(), 1);
  bench.end(1, {.kind = Exit::Kind::Stopped});
  EXPECT_EQ(bench.trial(1).record.state, State::Canceled);
  EXPECT_EQ(bench.experiment.record().state, State::Canceled);
}

TEST(Experiment, NaNIsNeverTheBestMetricOfATrial) {
  Bench bench(kSingle);
  bench.experiment.validated(TrialId{1}, 10, std::nan(""), std::nullopt, bench.context());
  EXPECT_FALSE(bench.trial(1).record.best_metric);
  bench.experiment.validated(TrialId{1}, 10, 0.5, std::nullopt, bench.context());
  bench.experiment.validated(TrialId{1}, 10, std::nan(""), std::nullopt, bench.context());
  EXPECT_EQ(bench.trial(1).record.best_metric, 0.5);
  EXPECT_EQ(bench.trial(1).record.batches, 10) << "some trials report nothing else";
}

TEST(Experiment, TheNoteOfAFailureIsOfTheRunThatFailedNotOfTheNext) {
  Bench bench(kSingle);
  const auto failed = bench.trial(1).allocation;
  bench.end(1, kCrash);
  ASSERT_EQ(bench.count<Note>(), 1);
  for (const auto& effect : bench.effects) {
    const auto* note = std::get_if<Note>(&effect);
    if (note == nullptr) continue;
    EXPECT_EQ(note->allocation_id, failed);
  }
  EXPECT_NE(bench.trial(1).allocation, failed);
}

TEST(Experiment, GoesOnFromItsSnapshotAsIfNothingHadHappened) {
  Bench bench(kRandom);
  bench.complete(1, 100);
  auto copy = Experiment::restore(bench.experiment.snapshot());
  ASSERT_TRUE(copy) << copy.error().message();
  auto ids = bench.next_trial;
  copy->allocation_ended(TrialId{1}, kClean, {.now = Time{50}, .next_trial_id = ids});
  bench.experiment.allocation_ended(TrialId{1}, kClean, {.now = Time{50}, .next_trial_id = bench.next_trial});
  EXPECT_EQ(json::serialize(copy->snapshot()), json::serialize(bench.experiment.snapshot()));
}

TEST(Experiment, LengthsInRecordsAndEpochsBecomeBatches) {
  Bench records("searcher: {name: single, metric: loss, max_length: {records: 807}}\n");
  EXPECT_EQ(records.trial(1).operations.front().batches, 100) << "807 / 8, rounded down";
  Bench epochs("searcher: {name: single, metric: loss, max_length: {epochs: 2}}\nrecords_per_epoch: 80\n");
  EXPECT_EQ(epochs.trial(1).operations.front().batches, 20);
}

}  // namespace
}  // namespace det::experiment
