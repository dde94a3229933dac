#include "det/search/searcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "det/search/testing.h"

namespace det::search {
namespace {

using config::Generation;
using testing::all_of;
using ::testing::ElementsAre;
using testing::search_config;

Searcher make(const config::ExperimentConfig& config) {
  return *Searcher::make(config);
}

TEST(Single, TrainsOneTrialForTheWholeLengthAndEnds) {
  auto searcher = make(search_config("single"));
  const auto operations = searcher.start();
  const auto id = all_of<Create>(operations).at(0).request_id;
  EXPECT_THAT(operations, ElementsAre(operations[0], ValidateAfter{id, 100}, Close{id}));
  EXPECT_TRUE(searcher.trial_created(id).empty());
  EXPECT_TRUE(searcher.validation_completed(id, 0.5, 100).empty());
  EXPECT_THAT(searcher.trial_closed(id), ElementsAre(Shutdown{}));
  EXPECT_EQ(searcher.progress(), 1);
}

TEST(Single, IsNotReplacedWhenItsHyperparametersAreInvalid) {
  auto searcher = make(search_config("single"));
  const auto id = all_of<Create>(searcher.start()).at(0).request_id;
  EXPECT_TRUE(searcher.trial_exited_early(id, ExitedReason::InitInvalidHp).empty());
  EXPECT_THAT(searcher.trial_closed(id), ElementsAre(Shutdown{}));
}

TEST(RandomSearch, KeepsToMaxConcurrentTrials) {
  auto searcher = make(search_config("random", 5, 2));
  auto creates = all_of<Create>(searcher.start());
  ASSERT_EQ(creates.size(), 2u);
  for (int i = 0; i < 3; ++i) {
    const auto next = all_of<Create>(searcher.trial_closed(creates[static_cast<std::size_t>(i)].request_id));
    ASSERT_EQ(next.size(), 1u);
    creates.push_back(next[0]);
  }
  EXPECT_TRUE(searcher.trial_closed(creates[3].request_id).empty());
  EXPECT_THAT(searcher.trial_closed(creates[4].request_id), ElementsAre(Shutdown{}));
}

TEST(RandomSearch, WithoutALimitCreatesEveryTrialAtOnce) {
  EXPECT_EQ(all_of<Create>(make(search_config("random", 7, 0)).start()).size(), 7u);
  EXPECT_EQ(all_of<Create>(make(search_config("random", 7, 16)).start()).size(), 7u);
}

TEST(Searches, HaveAtMostTenThousandTrialsAtOnce) {
  EXPECT_EQ(all_of<Create>(make(search_config("random", 30'000, 0)).start()).size(), 10'000u);
  EXPECT_EQ(all_of<Create>(make(search_config("random", 30'000, 20'000)).start()).size(), 10'000u);
  auto config = search_config("adaptive_simple", 1'000'000'000, 0);
  config.searcher.fields = {{"max_trials", 1'000'000'000}, {"mode", "aggressive"}};
  const auto refused = Searcher::make(config);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "the searcher adaptive_simple would start with 1000000000 trials; the limit is 10000");
}

TEST(RandomSearch, WithMaxStepsCreatesEveryTrialAtOnce) {
  auto config = search_config("random", 7, 2);
  config.generation = Generation::Steps;
  EXPECT_EQ(all_of<Create>(make(config).start()).size(), 7u);
}

TEST(RandomSearch, ReplacesAnInvalidTrialOnceItHasClosed) {
  auto searcher = make(search_config("random", 2, 0));
  const auto creates = all_of<Create>(searcher.start());
  EXPECT_TRUE(searcher.trial_exited_early(creates[0].request_id, ExitedReason::InvalidHp).empty());
  const auto replacement = all_of<Create>(searcher.trial_closed(creates[0].request_id));
  ASSERT_EQ(replacement.size(), 1u);
  EXPECT_TRUE(searcher.trial_closed(creates[1].request_id).empty());
  EXPECT_EQ(searcher.progress(), 0.5);
  EXPECT_THAT(searcher.trial_closed(replacement[0].request_id), ElementsAre(Shutdown{}));
  EXPECT_EQ(searcher.trials_requested(), 3);
  EXPECT_EQ(searcher.progress(), 1);
}

TEST(RandomSearch, DoesNotReplaceATrialThatFailed) {
  auto searcher = make(search_config("random", 1, 0));
  const auto id = all_of<Create>(searcher.start())[0].request_id;
  searcher.trial_exited_early(id, ExitedReason::Errored);
  EXPECT_THAT(searcher.trial_closed(id), ElementsAre(Shutdown{.failure = true}));
}

TEST(RandomSearch, TheTrialsOfASeedAreTheSameWhateverTheConcurrency) {
  auto config = search_config("random", 6, 0);
  config.hyperparameters = testing::documented_space();
  config.experiment_seed = 42;
  const auto at_once = all_of<Create>(make(config).start());
  config.searcher.max_concurrent_trials = 1;
  auto searcher = make(config);
  auto operations = searcher.start();
  for (const auto& expected : at_once) {
    ASSERT_EQ(all_of<Create>(operations), (std::vector<Create>{expected}));
    operations = searcher.trial_closed(expected.request_id);
  }
}

TEST(Searcher, SaysFailureOnlyWhenEveryTrialFailed) {
  struct {
    std::vector<std::optional<ExitedReason>> exits;
    Shutdown expected;
  } cases[] = {
      {{std::nullopt, std::nullopt}, {}},
      {{ExitedReason::Errored, std::nullopt}, {}},
      {{ExitedReason::Errored, ExitedReason::Errored}, {.failure = true}},
      {{ExitedReason::UserCanceled, ExitedReason::Errored}, {}},
      {{ExitedReason::UserCanceled, ExitedReason::UserCanceled}, {.cancel = true}},
      {{ExitedReason::UserRequestedStop, ExitedReason::UserRequestedStop}, {}},
  };
  for (const auto& c : cases) {
    auto searcher = make(search_config("random", 2));
    const auto creates = all_of<Create>(searcher.start());
    Operations last;
    for (std::size_t i = 0; i < 2; ++i) {
      if (c.exits[i]) searcher.trial_exited_early(creates[i].request_id, *c.exits[i]);
      last = searcher.trial_closed(creates[i].request_id);
    }
    EXPECT_THAT(last, ElementsAre(c.expected));
  }
}

TEST(Searcher, WhatIsToldTwiceChangesNothing) {
  auto searcher = make(search_config("random", 2, 1));
  const auto id = all_of<Create>(searcher.start())[0].request_id;
  EXPECT_TRUE(searcher.start().empty());
  searcher.trial_created(id);
  searcher.validation_completed(id, 1, 100);
  searcher.trial_exited_early(id, ExitedReason::Errored);
  const auto before = searcher.snapshot();
  searcher.trial_created(id);
  searcher.validation_completed(id, 1, 100);
  searcher.trial_exited_early(id, ExitedReason::Errored);
  EXPECT_EQ(searcher.snapshot(), before);

  const auto next = all_of<Create>(searcher.trial_closed(id));
  ASSERT_EQ(next.size(), 1u);
  const auto closed = searcher.snapshot();
  EXPECT_TRUE(searcher.trial_closed(id).empty());
  EXPECT_TRUE(searcher.trial_closed("a trial of nobody").empty());
  EXPECT_EQ(searcher.snapshot(), closed);
}

TEST(Searcher, AFailedTrialIsCountedOnceOverARestart) {  // V28
  const auto config = search_config("random", 2, 0);
  auto searcher = make(config);
  const auto creates = all_of<Create>(searcher.start());
  searcher.trial_exited_early(creates[0].request_id, ExitedReason::Errored);
  auto restored = *Searcher::restore(config, searcher.snapshot());
  restored.trial_exited_early(creates[0].request_id, ExitedReason::Errored);
  restored.trial_closed(creates[0].request_id);
  EXPECT_THAT(restored.trial_closed(creates[1].request_id), ElementsAre(Shutdown{.failure = false}));
}

TEST(Searcher, ProgressGrowsWithWhatIsTrained) {
  auto searcher = make(search_config("random", 2, 0));
  const auto creates = all_of<Create>(searcher.start());
  EXPECT_EQ(searcher.progress(), 0);
  searcher.set_trial_progress(creates[0].request_id, 50);
  EXPECT_EQ(searcher.progress(), 0.25);
  searcher.set_trial_progress(creates[1].request_id, 25);
  EXPECT_EQ(searcher.progress(), 0.375);
  searcher.trial_closed(creates[0].request_id);
  EXPECT_EQ(searcher.progress(), 0.625);
}

TEST(Searcher, ProgressNeverDropsWhenATrialGoesBackToItsCheckpointOrIsReplaced) {
  auto searcher = make(search_config("random", 2, 0));
  const auto id = all_of<Create>(searcher.start())[0].request_id;
  searcher.set_trial_progress(id, 80);
  for (const double units : {20.0, -5.0, double{NAN}, double{INFINITY}})
    searcher.set_trial_progress(id, units);
  EXPECT_EQ(searcher.progress(), 0.399999999906867742538452148438);  // 80 of 200, in whole parts
  searcher.trial_exited_early(id, ExitedReason::InvalidHp);
  searcher.trial_closed(id);
  EXPECT_GT(searcher.progress(), 0.39);
}

TEST(Searcher, WithMaxStepsProgressCountsStepsAndTheValidation) {
  auto config = search_config("single");
  config.generation = Generation::Steps;
  config.searcher.max_length.count = 300;
  config.scheduling_unit = 100;
  auto searcher = make(config);
  const auto id = all_of<Create>(searcher.start())[0].request_id;
  searcher.set_trial_progress(id, 199);
  EXPECT_EQ(searcher.progress(), 0.25);
  searcher.set_trial_progress(id, 300);
  EXPECT_EQ(searcher.progress(), 0.75);
  searcher.trial_closed(id);
  EXPECT_EQ(searcher.progress(), 1);
}

TEST(Searcher, WithMaxTimeATrialMayDecideItselfWhenItIsDone) {
  auto config = search_config("single");
  config.generation = Generation::Time;
  config.searcher.max_length.count = 0;
  auto searcher = make(config);
  const auto operations = searcher.start();
  ASSERT_EQ(operations.size(), 1u);
  const auto id = all_of<Create>(operations)[0].request_id;
  searcher.set_trial_progress(id, 0.5);
  EXPECT_EQ(searcher.progress(), 0.5);
  EXPECT_THAT(searcher.trial_closed(id), ElementsAre(Shutdown{}));
}

TEST(Searcher, ASearchThatNobodyKnowsIsRefusedWithTheListOfKnownOnes) {
  const auto searcher = Searcher::make(search_config("bayes"));
  ASSERT_FALSE(searcher);
  EXPECT_EQ(searcher.error().code(), ErrorCode::Unimplemented);
  EXPECT_EQ(searcher.error().message(),
            "searcher.name is \"bayes\"; it must be one of adaptive, adaptive_asha, adaptive_simple, "
            "async_halving, custom, grid, optuna, pbt, random, single, sync_halving, tpe");
}

TEST(Searcher, SettingsThatCannotBeSearchedAreRefused) {
  auto no_length = search_config("single");
  no_length.searcher.max_length.count = 0;
  EXPECT_EQ(Searcher::make(no_length).error().message(), "searcher.max_length is 0; it must be at least 1");
  EXPECT_EQ(Searcher::make(search_config("random", 0)).error().message(),
            "searcher.max_trials is 0; it must be from 1 to 4294967295");
  EXPECT_EQ(Searcher::make(search_config("random", 1, -1)).error().message(),
            "searcher.max_concurrent_trials is -1; it must not be negative");
}

TEST(Searcher, ASnapshotThatCannotBeReadIsRefusedAndNotStartedAnew) {  // V6
  const auto config = search_config("random", 3, 1);
  auto searcher = make(config);
  searcher.start();
  const auto good = searcher.snapshot();
  const auto problem = [&](auto&& change) {
    auto broken = good;
    change(broken.as_object());
    const auto restored = Searcher::restore(config, broken);
    return restored ? "" : restored.error().message();
  };
  EXPECT_EQ(problem([](auto&) {}), "");
  EXPECT_EQ(problem([](auto& o) { o["rand"].as_object()["position"] = -1; }),
            "the saved state of the search: rand: position is -1; must be from 0 to 624");
  EXPECT_EQ(
      problem([](auto& o) { o["search_method_state"].as_object()["search_method_type"] = "grid"; }),
      "the saved state of the search: search_method_state: search_method_type is \"grid\"; the configuration "
      "says \"random\"");
  EXPECT_EQ(problem([](auto& o) { o["search_method_state"].as_object()["created_trials"] = 4; }),
            "the saved state of the search: search_method_state: created_trials is 4; must be from 0 to 3");
  EXPECT_EQ(problem([](auto& o) { o["searcher"] = 7; }),
            "the saved state of the search: searcher: body: expected an object");
  EXPECT_FALSE(Searcher::restore(config, json::object{}));
}

}  // namespace
}  // namespace det::search
