#include <gtest/gtest.h>

#include "det/cluster/testing.h"

namespace det::cluster {
namespace {

const std::string kHalving =
    "searcher: {name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 2, "
    "max_concurrent_trials: 2, max_length: {batches: 100}}\n";

ExperimentCommanded pause(int id = 1) {
  return {ExperimentId{id}, Verb::Pause};
}
ExperimentCommanded activate(int id = 1) {
  return {ExperimentId{id}, Verb::Activate};
}
/// What a process says that has saved everything and could go on from where it is.
PreemptionAcknowledged waits(const std::string& allocation, std::int64_t preemption = 1) {
  return {allocation, true, preemption};
}

struct Paused : Bench {
  explicit Paused(const PoolSettings& pool = {.name = "default"}) {
    handle(MasterStarted{1, {.pools = {pool}}});
    join("a", 1);
    submit();
    id = allocation();
    handle(pause());
    handle(waits(id));
  }
  const Allocation& held() const { return *cluster.allocation(id); }
  std::string id;
};

TEST(Idle, APausedTrialsProcessGoesOnWhereItIs) {
  Paused bench;
  EXPECT_EQ(wish_of(bench.held(), 1), Wish::Wait);
  EXPECT_FALSE(bench.held().uses("a"));
  bench.handle(activate());
  EXPECT_EQ(bench.allocation(), bench.id) << "no new run";
  EXPECT_EQ(wish_of(bench.held(), 1), Wish::GoOn);
  EXPECT_TRUE(bench.held().uses("a"));
  EXPECT_FALSE(bench.held().preempt);
}

TEST(Idle, WhoNeedsTheSlotsGetsThemAndTheTrialStartsAgainLater) {
  Paused bench;
  bench.submit();
  EXPECT_EQ(wish_of(bench.held(), 1), Wish::Leave);
  EXPECT_EQ(bench.cluster.desired("a").size(), 1u) << "not before the first has left";
  EXPECT_NE(bench.cluster.waiting_reason(bench.allocation(2)), "");
  bench.handle(exited(bench.id, "a", 0));
  ASSERT_EQ(bench.cluster.desired("a").size(), 1u);
  EXPECT_EQ(bench.cluster.desired("a")[0].experiment_id, ExperimentId{2});
}

TEST(Idle, WhatLeavesIsNotCalledBackAndAsksAgain) {
  Paused bench;
  bench.submit();
  bench.handle(activate());
  EXPECT_EQ(wish_of(bench.held(), 1), Wish::Leave);
  bench.handle(exited(bench.id, "a", 0));
  ASSERT_EQ(bench.cluster.desired("a").size(), 1u);
  EXPECT_EQ(bench.cluster.desired("a")[0].experiment_id, ExperimentId{1}) << "it was there first";
  EXPECT_EQ(bench.cluster.trial(TrialId{1})->record.run_id, 2);
}

TEST(Idle, OneProcessThatLeavesIsEnough) {
  Bench bench;
  bench.join("a", 1);
  bench.join("b", 1);
  for (int id : {1, 2}) {
    bench.submit();
    bench.handle(pause(id));
    bench.handle(waits(bench.allocation(id)));
  }
  bench.submit();
  bench.join("c", 0);  // whatever happens meanwhile
  bench.handle(AgentSet{.agent = "c", .slot = std::nullopt, .enabled = true});
  int leaving = 0;
  for (const auto& [id, allocation] : bench.cluster.allocations()) leaving += allocation.leaving() ? 1 : 0;
  EXPECT_EQ(leaving, 1);
}

TEST(Idle, AnotherSlotOfTheAgentThatIsFreeIsTakenFirst) {
  Bench bench;
  bench.join("a", 2);
  bench.submit();
  const auto first = bench.allocation();
  bench.handle(pause());
  bench.handle(waits(first));
  bench.submit();
  EXPECT_EQ(wish_of(*bench.cluster.allocation(first), 1), Wish::Wait);
  ASSERT_EQ(bench.cluster.desired("a").size(), 2u);
  EXPECT_EQ(bench.cluster.desired("a")[0].slot_ids, std::vector{0});
  EXPECT_EQ(bench.cluster.desired("a")[1].slot_ids, std::vector{1});
}

TEST(Idle, ActivatedBeforeItHasSavedItGoesOnAsSoonAsItHas) {
  Bench bench;
  bench.join("a", 1);
  bench.submit();
  const auto id = bench.allocation();
  bench.handle(pause());
  bench.handle(activate());
  EXPECT_TRUE(bench.cluster.allocation(id)->preempt);
  bench.handle(waits(id));
  EXPECT_FALSE(bench.cluster.allocation(id)->preempt);
  EXPECT_EQ(wish_of(*bench.cluster.allocation(id), 1), Wish::GoOn);
  bench.handle(pause());
  bench.handle(waits(id, 1));
  EXPECT_FALSE(bench.cluster.allocation(id)->idle()) << "what it says of the first pause comes late";
  bench.handle(waits(id, 2));
  EXPECT_TRUE(bench.cluster.allocation(id)->idle());
}

TEST(Idle, AProcessThatCannotWaitLeaves) {
  Bench bench;
  bench.join("a", 1);
  bench.submit();
  const auto id = bench.allocation();
  bench.handle(pause());
  bench.handle(PreemptionAcknowledged{id});
  EXPECT_FALSE(bench.cluster.allocation(id)->idle());
  bench.handle(activate());
  bench.handle(exited(id, "a", 0));
  EXPECT_EQ(bench.cluster.trial(TrialId{1})->record.run_id, 2);
  EXPECT_EQ(bench.cluster.trial(TrialId{1})->record.restarts, 0);
}

TEST(Idle, TheTimeToWaitIsThePools) {
  Paused bench({.name = "default", .idle_seconds = 20});
  EXPECT_TRUE(bench.cluster.due(Time{bench.clock + 19 * kSecond}).empty());
  const auto due = bench.cluster.due(Time{bench.clock + 20 * kSecond});
  ASSERT_EQ(due.size(), 1u);
  bench.handle(due[0]);
  EXPECT_EQ(wish_of(bench.held(), 1), Wish::Leave);

  Paused never({.name = "default", .idle_seconds = 0});
  EXPECT_EQ(wish_of(never.held(), 1), Wish::Leave);
}

TEST(Idle, APromotedTrialGoesOnInTheProcessThatWaits) {
  Bench bench;
  bench.join("a", 2);
  bench.submit(kHalving);
  const auto first = bench.cluster.trial(TrialId{1})->allocation;
  const auto second = bench.cluster.trial(TrialId{2})->allocation;
  bench.handle(OperationCompleted{first, 50, 0.1});
  EXPECT_TRUE(bench.cluster.allocation(first)->idle());
  EXPECT_FALSE(bench.cluster.allocation(first)->preempt);
  bench.handle(OperationCompleted{second, 50, 0.2});
  EXPECT_FALSE(bench.cluster.allocation(first)->idle());
  EXPECT_EQ(bench.cluster.trial(TrialId{1})->record.run_id, 1);
  EXPECT_EQ(bench.cluster.trial(TrialId{1})->operations.back().batches, 100);
}

TEST(Idle, WhatWasDoneBeforeItHeardOfAPauseThatIsOverNeedsNoSlots) {
  Bench bench;
  bench.join("a", 2);
  bench.submit(kHalving);
  const auto id = bench.cluster.trial(TrialId{1})->allocation;
  bench.handle(pause());
  bench.handle(activate());
  bench.handle(OperationCompleted{id, 50, 0.1});
  bench.handle(waits(id));
  EXPECT_TRUE(bench.cluster.allocation(id)->idle());
  bench.handle(OperationCompleted{bench.cluster.trial(TrialId{2})->allocation, 50, 0.2});
  EXPECT_EQ(wish_of(*bench.cluster.allocation(id), 1), Wish::GoOn);
}

TEST(Idle, AProcessThatDiesWhileItWaitsIsNobodysLoss) {
  Paused bench;
  bench.handle(exited(bench.id, "a", 137));
  EXPECT_EQ(bench.cluster.trial(TrialId{1})->record.restarts, 0);
  bench.handle(activate());
  EXPECT_EQ(bench.cluster.trial(TrialId{1})->record.run_id, 2);
}

TEST(Idle, WhatAUserEndsOrChangesDoesNotWait) {
  const std::pair<const char*, Event> cases[] = {
      {"cancel", ExperimentCommanded{ExperimentId{1}, Verb::Cancel}},
      {"kill", ExperimentCommanded{ExperimentId{1}, Verb::Kill}},
      {"kill of the trial", TrialKilled{TrialId{1}}},
      {"disable", AgentSet{.agent = "a", .slot = std::nullopt, .enabled = false}},
      {"drain", AgentSet{.agent = "a", .slot = std::nullopt, .enabled = false, .drain = true}},
      {"weight",
       ExperimentPatched{.id = ExperimentId{1}, .config = experiment::Reconfiguration{.weight = 2}}},
  };
  for (const auto& [name, event] : cases) {
    Paused bench;
    EXPECT_FALSE(bench.handle(event).refused) << name;
    EXPECT_EQ(wish_of(bench.held(), 1), Wish::Leave) << name;
  }
}

TEST(Idle, WhatIsWaitedOnIsNotInUse) {
  Paused bench;  // a second between two events
  bench.clock += 100 * kSecond;
  bench.handle(activate());
  bench.clock += 10 * kSecond;
  const auto& record = bench.held().record;
  EXPECT_EQ(experiment::slot_microseconds(record, Time{bench.clock}), (2 + 10) * kSecond);
}

}  // namespace
}  // namespace det::cluster
