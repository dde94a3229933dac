#include "det/cluster/cluster.h"

#include <gtest/gtest.h>

#include "det/cluster/testing.h"

namespace det::cluster {
namespace {

TEST(Cluster, AnExperimentWaitsForAnAgentAndStartsWhenOneComes) {
  Bench bench;
  bench.submit();
  EXPECT_FALSE(bench.cluster.waiting_reason(bench.allocation()).empty());
  bench.join("a", 1);
  const auto desired = bench.cluster.desired("a");
  ASSERT_EQ(desired.size(), 1u);
  EXPECT_EQ(desired[0].slot_ids, std::vector{0});
  EXPECT_EQ(bench.cluster.waiting_reason(bench.allocation()), "");
}

TEST(Cluster, SecondInTheQueueWaitsUntilTheFirstIsDone) {
  Bench bench;
  bench.join("a", 1);
  bench.submit();
  bench.submit();
  EXPECT_EQ(bench.cluster.desired("a").size(), 1u);
  const auto first = bench.allocation(1);
  bench.handle(OperationCompleted{first, 100, 0.5});
  bench.handle(exited(first, "a", 0));
  ASSERT_EQ(bench.cluster.desired("a").size(), 1u);
  EXPECT_EQ(bench.cluster.desired("a")[0].experiment_id, ExperimentId{2});
}

TEST(Cluster, ACompletedSearchIsExtendedOnceItIsForgottenAndReplayGivesTheSame) {
  Bench bench;
  bench.join("a", 1);
  bench.submit("searcher: {name: random, metric: loss, max_trials: 1, max_length: {batches: 100}}\n");
  const auto first = bench.allocation(1);
  bench.handle(OperationCompleted{first, 100, 0.5});
  const auto ended = bench.handle(exited(first, "a", 0));
  ExperimentExtended extended{.change = {.max_trials = 2}};
  for (const auto& effect : ended.effects) {
    if (const auto* put = std::get_if<PutExperiment>(&effect)) extended.record = put->record;
    if (const auto* put = std::get_if<PutSearch>(&effect)) extended.search = put->search;
  }
  ASSERT_EQ(extended.record.state, experiment::State::Completed);
  EXPECT_TRUE(bench.cluster.handle(extended, Time{bench.clock}).refused) << "it is not forgotten yet";
  bench.handle(CheckpointsCollected{ExperimentId{1}});
  const auto again = bench.handle(extended);
  ASSERT_FALSE(again.refused) << again.refused->message();
  EXPECT_EQ(bench.cluster.experiment(ExperimentId{1})->record().state, experiment::State::Active);
  EXPECT_EQ(bench.cluster.desired("a").size(), 1u);
  Cluster replayed;
  for (const auto& [event, time] : bench.events)
    replayed.handle(*json::from_json<Event>(*json::parse(json::serialize(json::to_json(event)))), time);
  EXPECT_EQ(json::serialize(replayed.snapshot()), json::serialize(bench.cluster.snapshot()));
}

TEST(Cluster, ASearchThatWasKilledIsContinuedOnceItIsForgottenAndReplayGivesTheSame) {
  Bench bench;
  bench.join("a", 1);
  bench.submit("searcher: {name: random, metric: loss, max_trials: 3, max_length: {batches: 100}}\n");
  const auto first = bench.allocation(1);
  bench.handle(ExperimentCommanded{ExperimentId{1}, Verb::Kill});
  const auto ended = bench.handle(exited(first, "a", 137));
  SearchContinued continued{.checkpoints = {{TrialId{1}, {"c60", 60}}}};
  for (const auto& effect : ended.effects) {
    if (const auto* put = std::get_if<PutExperiment>(&effect)) continued.record = put->record;
    if (const auto* put = std::get_if<PutSearch>(&effect)) continued.at_end = put->search;
  }
  ASSERT_EQ(continued.record.state, experiment::State::Canceled);
  EXPECT_TRUE(bench.cluster.handle(continued, Time{bench.clock}).refused) << "it is not forgotten yet";
  bench.handle(CheckpointsCollected{ExperimentId{1}});
  const auto again = bench.handle(continued);
  ASSERT_FALSE(again.refused) << again.refused->message();
  EXPECT_EQ(bench.cluster.experiment(ExperimentId{1})->record().state, experiment::State::Active);
  EXPECT_EQ(bench.cluster.experiment(ExperimentId{1})->trials().size(), 3u);
  ASSERT_EQ(bench.cluster.desired("a").size(), 1u);
  EXPECT_EQ(bench.cluster.desired("a")[0].run_id, 2);
  Cluster replayed;
  for (const auto& [event, time] : bench.events)
    replayed.handle(*json::from_json<Event>(*json::parse(json::serialize(json::to_json(event)))), time);
  EXPECT_EQ(json::serialize(replayed.snapshot()), json::serialize(bench.cluster.snapshot()));
}

/// What an outcome writes, with the event.
std::size_t bytes_written(const Event& event, const Outcome& outcome) {
  std::size_t bytes = json::serialize(json::to_json(event)).size();
  for (const auto& effect : outcome.effects) {
    if (const auto* put = std::get_if<PutExperiment>(&effect))
      bytes += json::serialize(json::to_json(put->record)).size();
    else if (const auto* trial = std::get_if<PutTrial>(&effect))
      bytes += json::serialize(json::to_json(trial->record)).size();
    else if (const auto* allocation = std::get_if<PutAllocation>(&effect))
      bytes += json::serialize(json::to_json(allocation->record)).size();
    else if (const auto* search = std::get_if<PutSearch>(&effect))
      bytes += json::serialize(search->search).size();
  }
  return bytes;
}

TEST(Cluster, WhatAnEventOfASearchWritesDoesNotGrowWithItsTrials) {
  for (const auto* searcher : {"random, max_concurrent_trials: 100000",
                               "adaptive_asha, max_concurrent_trials: 100000, max_rungs: 3"}) {
    const auto of = [&](int trials) {
      Bench bench;
      bench.join("a", 1);
      bench.submit(
          fmt::format("searcher: {{name: {}, metric: loss, max_trials: {}, max_length: {{batches: 900}}}}\n",
                      searcher, trials));
      std::size_t most = 0;
      for (int i = 0; i < 5; ++i) {
        const auto desired = bench.cluster.desired("a");
        if (desired.empty()) break;
        const auto& trial = *bench.cluster.trial(desired[0].trial_id);
        const auto next = std::ranges::find_if(trial.operations, [](const auto& o) { return !o.completed; });
        if (next != trial.operations.end()) {
          const Event completed = OperationCompleted{desired[0].allocation_id, next->batches, 0.5};
          most = std::max(most, bytes_written(completed, bench.handle(completed)));
        }
        const Event left = exited(desired[0].allocation_id, "a", 0);
        most = std::max(most, bytes_written(left, bench.handle(left)));
      }
      return most;
    };
    const auto few = of(16), many = of(4'000);
    EXPECT_GT(few, 100u);
    EXPECT_LT(many, few + 200) << searcher;  // ids have more digits
  }
}

TEST(Cluster, AGangStartsTogetherAndOneFailureEndsItAll) {
  Bench bench;
  bench.join("a", 2);
  bench.join("b", 2);
  bench.submit("resources: {slots_per_trial: 4}\n");
  const auto id = bench.allocation();
  ASSERT_EQ(bench.cluster.desired("a").size(), 1u);
  ASSERT_EQ(bench.cluster.desired("b").size(), 1u);
  EXPECT_EQ(bench.cluster.desired("a")[0].size, 4);
  EXPECT_EQ(bench.cluster.desired("b")[0].rank_start, 2);
  bench.handle(AllocationExited{id, "b", {{.rank = 2, .code = 1}, {.rank = 3, .code = 143, .signal = 15}}});
  ASSERT_EQ(bench.cluster.desired("a").size(), 1u);
  EXPECT_TRUE(bench.cluster.desired("a")[0].kill);
  bench.handle(AllocationExited{
      id, "a", {{.rank = 0, .code = 143, .signal = 15}, {.rank = 1, .code = 143, .signal = 15}}});
  const auto& trial = *bench.cluster.trial(TrialId{1});
  EXPECT_EQ(trial.record.restarts, 1);
  EXPECT_NE(trial.allocation, id);
}

TEST(Cluster, ARankThatFailsWhileOthersRunOnTheSameAgentEndsThem) {
  Bench bench;
  bench.join("a", 2);
  bench.submit("resources: {slots_per_trial: 2}\n");
  api::SyncRequest report;
  report.allocations.push_back({.allocation_id = bench.allocation(),
                                .state = api::AllocationState::running,
                                .exits = {{.rank = 1, .code = 3}}});
  for (auto& event : bench.cluster.news("a", report)) bench.handle(event);
  EXPECT_TRUE(bench.cluster.desired("a")[0].kill);
  EXPECT_TRUE(bench.cluster.news("a", report).empty()) << "said once";
  bench.handle(AllocationExited{
      bench.allocation(), "a", {{.rank = 0, .code = 143, .signal = 15}, {.rank = 1, .code = 3}}});
  EXPECT_EQ(bench.cluster.trial(TrialId{1})->record.restarts, 1);
}

std::string exit_reason(const Outcome& outcome) {
  std::string reason;
  for (const auto& effect : outcome.effects)
    if (const auto* put = std::get_if<PutAllocation>(&effect)) reason = put->record.exit_reason;
  return reason;
}

TEST(Cluster, TheRankThatFailedFirstIsNamedAndNotTheOnesThatFollowedIt) {
  for (const bool together : {true, false}) {
    Bench bench;
    bench.join("a", 2);
    bench.submit("resources: {slots_per_trial: 2}\nmax_restarts: 0\n");
    const auto id = bench.allocation();
    const api::RankExit follower{.rank = 0, .code = api::kFollowedStatus};
    if (!together) bench.handle(RankFailed{id, "a", follower});
    const auto outcome = bench.handle(AllocationExited{id, "a", {follower, {.rank = 1, .code = 3}}});
    EXPECT_EQ(exit_reason(outcome), "rank 1 exited with status 3")
        << (together ? "together" : "one after the other");
  }
}

TEST(Cluster, ARunThatGaveWaySaysWhy) {
  const std::pair<Verb, const char*> rows[] = {{Verb::Pause, "the experiment was paused"},
                                               {Verb::Cancel, "the experiment was canceled"}};
  for (const auto& [verb, expected] : rows) {
    Bench bench;
    bench.join("a", 1);
    bench.submit();
    const auto id = bench.allocation();
    bench.handle(ExperimentCommanded{ExperimentId{1}, verb});
    const auto outcome = bench.handle(exited(id, "a", 0));
    EXPECT_EQ(exit_reason(outcome), expected);
  }
}

TEST(Cluster, ADeadAllocationChangesNothing) {
  Bench bench;
  bench.join("a", 1);
  bench.submit();
  const auto dead = bench.allocation();
  bench.handle(exited(dead, "a", 1));
  const auto before = json::serialize(bench.cluster.snapshot());
  CheckpointReported checkpoint;
  checkpoint.record.allocation_id = dead;
  for (const Event& event :
       {Event(OperationCompleted{dead, 100, 0.1}), Event(TrialProgressed{dead, 50, ""}),
        Event(ValidationReported{dead, 50, 0.1}), Event(checkpoint), Event(PreemptionAcknowledged{dead}),
        Event(PreemptionRequested{dead}), Event(EarlyExitReported{dead, search::ExitedReason::InvalidHp})}) {
    const auto outcome = bench.cluster.handle(event, Time{bench.clock});
    ASSERT_TRUE(outcome.refused);
    EXPECT_EQ(outcome.refused->code(), ErrorCode::Gone);
  }
  EXPECT_EQ(json::serialize(bench.cluster.snapshot()), before);
}

TEST(Cluster, ALostAgentsTrialsRunAgainElsewhereAndAreNotCharged) {
  Bench bench;
  bench.join("a", 1);
  bench.submit();
  bench.join("b", 1);
  bench.handle(AgentLost{"a"});
  EXPECT_TRUE(bench.cluster.desired("a").empty());
  ASSERT_EQ(bench.cluster.desired("b").size(), 1u);
  EXPECT_EQ(bench.cluster.trial(TrialId{1})->record.restarts, 0);
}

TEST(Cluster, ASilentAgentIsGivenNothingNewUntilItCallsAgainAndKeepsWhatItRuns) {
  Bench bench;
  bench.join("a", 2);
  bench.submit();
  bench.handle(AgentSilent{"a"});
  bench.submit();
  EXPECT_EQ(bench.cluster.desired("a").size(), 1u);
  EXPECT_EQ(
      bench.cluster.waiting_reason(bench.allocation(2)),
      "needs 1 slot; the resource pool has no slots on 0 agents; 1 agent is disabled, draining or silent");
  api::SyncRequest same;
  same.resource_pool = "default";
  same.slots = bench.cluster.agents().at("a").slots;
  same.version = bench.cluster.agents().at("a").version;
  EXPECT_TRUE(bench.cluster.joins("a", same)) << "its next call is news";
  bench.join("a", 2);
  EXPECT_EQ(bench.cluster.desired("a").size(), 2u);
  EXPECT_FALSE(bench.cluster.joins("a", same));
}

TEST(Cluster, AProcessThatTheMasterSentAwayIsNotCharged) {
  Bench bench;
  bench.join("a", 1);
  bench.submit();
  bench.handle(exited(bench.allocation(), "a", 80));
  EXPECT_EQ(bench.cluster.trial(TrialId{1})->record.restarts, 0);
}

TEST(Cluster, ATrialThatDoesNotGiveWayInItsTimeIsKilled) {
  Bench bench;
  bench.join("a", 1);
  bench.submit("preemption_timeout: 5\n");
  bench.handle(ExperimentCommanded{ExperimentId{1}, Verb::Pause});
  EXPECT_TRUE(bench.cluster.due(Time{bench.clock + 4 * kSecond}).empty());
  const auto due = bench.cluster.due(Time{bench.clock + 5 * kSecond});
  ASSERT_EQ(due.size(), 1u);
  bench.handle(due[0]);
  EXPECT_TRUE(bench.cluster.desired("a")[0].kill);
  EXPECT_TRUE(bench.cluster.due(Time{bench.clock + 60 * kSecond}).empty()) << "once is enough";
}

TEST(Cluster, ADisabledAgentGivesUpWhatItRunsUnlessItDrains) {
  Bench drained;
  drained.join("a", 1);
  drained.submit();
  drained.handle(AgentSet{.agent = "a", .slot = std::nullopt, .enabled = false, .drain = true});
  EXPECT_FALSE(drained.cluster.allocation(drained.allocation())->preempt);

  Bench disabled;
  disabled.join("a", 1);
  disabled.submit();
  disabled.handle(AgentSet{.agent = "a", .slot = std::nullopt, .enabled = false, .drain = false});
  EXPECT_TRUE(disabled.cluster.allocation(disabled.allocation())->preempt);
}

TEST(Cluster, ExitsAreAcknowledgedOnceKnownAndUnknownOnesAtOnce) {
  Bench bench;
  bench.join("a", 1);
  bench.submit();
  const auto id = bench.allocation();
  EXPECT_FALSE(bench.cluster.exit_is_known(id, "a"));
  bench.handle(exited(id, "a", 1));
  EXPECT_TRUE(bench.cluster.exit_is_known(id, "a"));
  EXPECT_TRUE(bench.cluster.exit_is_known("9.never.1", "a"));
}

TEST(Cluster, ReplayGivesTheSameClusterBitForBit) {
  Bench bench;
  bench.join("a", 2);
  bench.submit();
  bench.submit("resources: {slots_per_trial: 2}\n");
  bench.handle(ExperimentCommanded{ExperimentId{1}, Verb::Pause});
  bench.handle(exited(bench.allocation(1), "a", 0));
  bench.handle(AgentLost{"a"});
  bench.join("a", 2);
  bench.handle(ExperimentCommanded{ExperimentId{1}, Verb::Activate});
  expect_replay_gives_the_same(bench);
}

TEST(Cluster, ForgetsAnExperimentOnceItsCheckpointsAreCollected) {
  Bench bench;
  bench.submit();
  bench.handle(ExperimentCommanded{ExperimentId{1}, Verb::Kill});
  EXPECT_NE(bench.cluster.experiment(ExperimentId{1}), nullptr);
  bench.handle(CheckpointsCollected{ExperimentId{1}});
  EXPECT_EQ(bench.cluster.experiment(ExperimentId{1}), nullptr);
  EXPECT_EQ(bench.cluster.trial(TrialId{1}), nullptr);
}

ExperimentPatched patched(const experiment::Reconfiguration& change) {
  ExperimentPatched event{.id = ExperimentId{1}, .name = {}, .description = {}, .notes = {}, .labels = {}};
  event.config = change;
  return event;
}

TEST(Cluster, AnotherMaxSlotsPlansAtOnceAndIsThereAfterAReplay) {
  Bench bench;
  bench.join("a", 4);
  bench.submit(
      "resources: {max_slots: 1}\nsearcher: {name: random, max_trials: 3, max_concurrent_trials: 3, "
      "metric: loss, max_length: {batches: 100}}\n");
  EXPECT_EQ(bench.cluster.desired("a").size(), 1u);
  ASSERT_FALSE(bench.handle(patched({.max_slots = 2})).refused);
  EXPECT_EQ(bench.cluster.desired("a").size(), 2u);
  const auto outcome = bench.handle(patched({.no_max_slots = true, .weight = 2.5, .priority = 7}));
  EXPECT_EQ(bench.cluster.desired("a").size(), 3u);
  EXPECT_TRUE(std::any_of(outcome.effects.begin(), outcome.effects.end(), [](const auto& effect) {
    const auto* put = std::get_if<PutExperiment>(&effect);
    return put != nullptr && put->record.config.at("resources").at("priority") == 7;
  })) << "the row shows the new configuration";

  Cluster again;
  for (const auto& [event, time] : bench.events)
    again.handle(*json::from_json<Event>(json::to_json(event)), time);
  EXPECT_EQ(json::serialize(again.snapshot()), json::serialize(bench.cluster.snapshot()));
  const auto& resources = again.experiment(ExperimentId{1})->config().resources;
  EXPECT_FALSE(resources.max_slots);
  EXPECT_EQ(resources.weight, 2.5);
  EXPECT_EQ(resources.priority, 7);
}

TEST(Cluster, FewerMaxSlotsDisturbNothingThatRunsAndHoldBackWhatComes) {
  Bench bench;
  bench.join("a", 2);
  bench.submit(
      "searcher: {name: random, max_trials: 3, max_concurrent_trials: 2, metric: loss, max_length: "
      "{batches: 100}}\n");
  ASSERT_EQ(bench.cluster.desired("a").size(), 2u);
  ASSERT_FALSE(bench.handle(patched({.max_slots = 1})).refused);
  EXPECT_EQ(bench.cluster.desired("a").size(), 2u);
  const auto first = bench.allocation();
  bench.handle(OperationCompleted{first, 100, 0.5});
  bench.handle(exited(first, "a", 0));
  EXPECT_EQ(bench.cluster.desired("a").size(), 1u);
}

TEST(Cluster, AChangeThatTheConfigurationForbidsIsRefusedAndChangesNothing) {
  Bench bench;
  bench.submit("resources: {slots_per_trial: 2}\n");
  const auto before = json::serialize(bench.cluster.snapshot());
  for (const auto& wrong : {experiment::Reconfiguration{.max_slots = 1},
                            {.weight = 0.0},
                            {.priority = 100},
                            {.max_slots = 2, .no_max_slots = true},
                            {.save_trial_best = -1}}) {
    auto event = patched(wrong);
    event.name = "another";
    const auto outcome = bench.handle(event);
    ASSERT_TRUE(outcome.refused);
    EXPECT_EQ(outcome.refused->code(), ErrorCode::InvalidArgument) << outcome.refused->message();
  }
  EXPECT_EQ(json::serialize(bench.cluster.snapshot()), before);
}

TEST(Cluster, APatchOfBeforeTheConfigurationCouldChangeIsReadAsItWasMeant) {
  const auto event = json::from_json<Event>(*json::parse(R"({"ExperimentPatched":{"id":1,"name":"new"}})"));
  ASSERT_TRUE(event);
  EXPECT_FALSE(event->as<ExperimentPatched>()->config);
}

TEST(Cluster, OfAgentsThatComeAndGoUnderEverNewNamesOnlyTheNewestAreKept) {
  Bench bench;
  bench.join("disabled", 1);
  bench.handle(AgentSet{"disabled", std::nullopt, false, false});
  bench.handle(AgentLost{"disabled"});
  constexpr int kMore = 5;
  for (int i = 0; i < static_cast<int>(Cluster::kLostAgentsMax) + kMore; ++i) {
    bench.join(fmt::format("agent{:05}", i), 1);
    bench.handle(AgentLost{fmt::format("agent{:05}", i)});
  }
  EXPECT_EQ(bench.cluster.agents().size(), Cluster::kLostAgentsMax + 1);
  EXPECT_TRUE(bench.cluster.agents().contains("disabled"));
  EXPECT_FALSE(bench.cluster.agents().contains("agent00004"));
  EXPECT_TRUE(bench.cluster.agents().contains("agent00005"));
}

}  // namespace
}  // namespace det::cluster
