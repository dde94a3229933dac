// Experiments of one trial that are over and go on.

#include <gtest/gtest.h>

#include "det/experiment/testing.h"

namespace det::experiment {
namespace {

/// The record with another length in its configuration.
ExperimentRecord longer(const Bench& bench, std::int64_t batches) {
  auto record = bench.experiment.record();
  record.config["searcher"].as_object()["max_length"] = json::object{{"batches", batches}};
  return record;
}

/// A finished trial of 200 batches, with a checkpoint.
struct Finished : Bench {
  Finished() : Bench(kSingle) {
    experiment.checkpointed(TrialId{1}, "c200", 200);
    complete(1, 200);
    end(1, kClean);
  }
  Result<Experiment> go_on(ExperimentRecord record) {
    return Experiment::go_on(std::move(record), trial(1).record, 200, experiment.completed_operations(),
                             context());
  }
};

TEST(ExperimentAgain, ItsTrialIsTheSameAndIsAskedForTheRest) {
  Finished bench;
  ASSERT_EQ(bench.experiment.record().state, State::Completed);
  const auto before = bench.trial(1).record;
  auto again = bench.go_on(longer(bench, 500));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->record().state, State::Active);
  EXPECT_FALSE(again->record().end_time);
  EXPECT_EQ(again->record().progress, 0);
  ASSERT_EQ(again->trials().size(), 1u);
  const auto& trial = *again->trial(TrialId{1});
  EXPECT_EQ(trial.operations, (std::vector<TrialOperation>{{200, 200, true}, {500, 500, false}}));
  EXPECT_EQ(trial.record.state, State::Active);
  EXPECT_EQ(trial.record.task_id, before.task_id);
  EXPECT_EQ(trial.record.hparams, before.hparams);
  EXPECT_EQ(trial.record.seed, before.seed);
  EXPECT_EQ(trial.record.run_id, before.run_id + 1);
  EXPECT_EQ(trial.record.latest_checkpoint, "c200");
  EXPECT_EQ(trial.checkpoint_batches, 200);
  EXPECT_EQ(bench.next_trial, 2) << "no new trial was made";
  const auto effects = again->take_effects();
  EXPECT_TRUE(std::ranges::any_of(effects, [&](const auto& effect) {
    const auto* wanted = std::get_if<RequestAllocation>(&effect);
    return wanted != nullptr && wanted->allocation_id == trial.allocation;
  }));
  ASSERT_TRUE(again->operation_completed(TrialId{1}, 200, 0.5, bench.context()))
      << "said again, it changes nothing";
  ASSERT_TRUE(again->operation_completed(TrialId{1}, 500, 0.4, bench.context()));
  again->allocation_ended(TrialId{1}, kClean, bench.context());
  EXPECT_EQ(again->record().state, State::Completed);
  EXPECT_EQ(again->completed_operations().size(), 2u);
}

TEST(ExperimentAgain, ASnapshotOfItGoesOnAlike) {
  Finished bench;
  const auto again = bench.go_on(longer(bench, 500)).value();
  const auto restored = Experiment::restore(again.snapshot()).value();
  EXPECT_EQ(json::serialize(restored.snapshot()), json::serialize(again.snapshot()));
}

TEST(ExperimentAgain, AFailedTrialHasItsRestartsAgain) {
  Bench bench(kSingle);
  bench.end(1, kCrash);
  bench.end(1, kCrash);
  ASSERT_EQ(bench.experiment.record().state, State::Error);
  EXPECT_TRUE(bench.experiment.completed_operations().empty());
  auto again = Experiment::go_on(bench.experiment.record(), bench.trial(1).record, 0, {}, bench.context());
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->record().error, "");
  EXPECT_EQ(again->trial(TrialId{1})->record.restarts, 0);
  EXPECT_EQ(again->trial(TrialId{1})->record.error, "");
  again->allocation_ended(TrialId{1}, kCrash, bench.context());
  EXPECT_EQ(again->record().state, State::Active) << "it has a restart left";
}

TEST(ExperimentAgain, AScriptIsAskedForItsWholeLengthAgain) {
  Bench bench("entrypoint: python train.py\nsearcher: {name: single, metric: loss}\n");
  bench.complete(1, 1);
  bench.end(1, kClean);
  ASSERT_EQ(bench.experiment.record().state, State::Completed);
  const auto again = Experiment::go_on(bench.experiment.record(), bench.trial(1).record, 1,
                                       bench.experiment.completed_operations(), bench.context());
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->trial(TrialId{1})->operations, (std::vector<TrialOperation>{{1, 1, false}}));
}

TEST(ExperimentAgain, WhatHasNothingToDoOrIsNotOverIsRefused) {
  Finished bench;
  const auto same = bench.go_on(bench.experiment.record());
  ASSERT_FALSE(same);
  EXPECT_EQ(
      same.error().message(),
      "trial 1 was trained for 200 batches, but searcher.max_length is 200; continue experiment 1 with a "
      "greater searcher.max_length");
  auto archived = longer(bench, 500);
  archived.archived = true;
  EXPECT_FALSE(bench.go_on(archived));
  auto live = longer(bench, 500);
  live.state = State::Active;
  EXPECT_FALSE(bench.go_on(live));
  Bench random(kRandom);
  auto record = random.experiment.record();
  record.state = State::Completed;
  EXPECT_FALSE(Experiment::go_on(record, random.trial(1).record, 0, {}, random.context()));
}

}  // namespace
}  // namespace det::experiment
