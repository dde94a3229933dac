#include "det/agent/reconcile.h"

#include <gtest/gtest.h>

#include "det/base/json.h"

namespace det::agent {
namespace {

constexpr std::int64_t kLease = 20'000;

api::DesiredAllocation wanted(std::string id, std::vector<int> slots = {0}) {
  api::DesiredAllocation a;
  a.allocation_id = std::move(id);
  a.size = static_cast<int>(std::max<std::size_t>(slots.size(), 1));
  a.slot_ids = std::move(slots);
  return a;
}

api::RankExit exit_of(int rank, int code = 0) {
  api::RankExit exit;
  exit.rank = rank;
  exit.code = code;
  return exit;
}

Terminate terminate(std::string id) {
  return Terminate{std::move(id)};
}
Kill kill(std::string id) {
  return Kill{std::move(id)};
}
Forget forget(std::string id) {
  return Forget{std::move(id)};
}

/// One agent, and what a master would say to it.
struct World {
  explicit World(OnDisconnect on_disconnect = OnDisconnect::Continue, Memory memory = {})
      : agent(ReconcilerOptions{"s", {0, 1, 2, 3}, on_disconnect}, std::move(memory)) {}

  api::SyncReply reply(std::vector<api::DesiredAllocation> desired,
                       std::vector<std::string> acknowledged = {}) {
    api::SyncReply r;
    r.epoch = epoch;
    r.sequence = agent.next_request(now, 0).sequence;
    r.version = ++version;
    r.lease_milliseconds = kLease;
    r.cluster_id = "c";
    r.desired = std::move(desired);
    r.acknowledged = std::move(acknowledged);
    return r;
  }
  Actions hears(std::vector<api::DesiredAllocation> desired, std::vector<std::string> acknowledged = {}) {
    return agent.on_reply(reply(std::move(desired), std::move(acknowledged)), now);
  }
  /// Ends rank 0 of `id` and ships its logs.
  void ends(const std::string& id, int code = 0) {
    agent.exited(id, exit_of(0, code), now);
    agent.logs_shipped(id);
  }
  api::AllocationReport report(const std::string& id) {
    for (auto& r : agent.next_request(now, 0).allocations)
      if (r.allocation_id == id) return r;
    return {};
  }

  Time now{};
  std::int64_t epoch = 3;
  std::int64_t version = 0;
  Reconciler agent;
};

TEST(Reconciler, StartsWhatIsMissingOnce) {
  World w;
  EXPECT_EQ(w.hears({wanted("a.1")}), (Actions{Start{wanted("a.1")}}));
  EXPECT_EQ(w.hears({wanted("a.1")}), Actions{});
  EXPECT_EQ(w.report("a.1").state, api::AllocationState::starting);
  w.agent.running("a.1");
  EXPECT_EQ(w.report("a.1").state, api::AllocationState::running);
}

TEST(Reconciler, RemembersBeforeItStarts) {
  World w;
  w.hears({});
  const auto before = w.agent.memory_revision();
  w.hears({wanted("a.1")});
  EXPECT_GT(w.agent.memory_revision(), before);
  EXPECT_TRUE(w.agent.memory().allocations.contains("a.1"));
}

TEST(Reconciler, NeverStartsAnEndedAllocationAgain) {
  World w;
  w.hears({wanted("a.1")});
  w.ends("a.1", 1);
  EXPECT_EQ(w.hears({wanted("a.1")}), Actions{});
  EXPECT_EQ(w.hears({wanted("a.1")}, {"a.1"}), Actions{}) << "acknowledged, but still wanted";
  EXPECT_EQ(w.report("a.1").state, api::AllocationState::exited);
  EXPECT_EQ(w.hears({}, {"a.1"}), (Actions{forget("a.1")}));
}

TEST(Reconciler, ReportsAnExitUntilItIsAcknowledged) {
  World w;
  w.hears({wanted("a.1")});
  w.ends("a.1", 7);
  for (int i = 0; i < 3; ++i) {
    w.hears({});
    ASSERT_EQ(w.report("a.1").exits, (std::vector{exit_of(0, 7)}));
  }
  w.hears({}, {"a.1"});
  EXPECT_EQ(w.agent.memory().allocations.size(), 0u);
}

TEST(Reconciler, SaysExitedOnlyWhenTheLogsAreShipped) {
  World w;
  w.hears({wanted("a.1")});
  w.agent.running("a.1");
  w.agent.exited("a.1", exit_of(0), w.now);
  EXPECT_EQ(w.report("a.1").state, api::AllocationState::running);
  EXPECT_EQ(w.report("a.1").exits.size(), 1u);
  EXPECT_EQ(w.hears({}, {"a.1"}), Actions{}) << "too early to forget";
  w.agent.logs_shipped("a.1");
  EXPECT_EQ(w.report("a.1").state, api::AllocationState::exited);
}

TEST(Reconciler, ReportsAFailureAtOnceAndAGoodEndWithItsLogs) {
  World w;
  w.hears({wanted("a.1", {0}), wanted("b.1", {1})});
  const auto before = w.agent.report_revision();
  w.agent.exited("a.1", exit_of(0), w.now);
  EXPECT_EQ(w.agent.report_revision(), before) << "the master can do nothing with it yet";
  w.agent.logs_shipped("a.1");
  EXPECT_GT(w.agent.report_revision(), before);
  const auto then = w.agent.report_revision();
  w.agent.exited("b.1", exit_of(0, 1), w.now);
  EXPECT_GT(w.agent.report_revision(), then) << "ranks on other agents wait for it in vain";
}

TEST(Reconciler, WhatIsForgottenNeedNotBeWrittenAtOnce) {
  World w;
  w.hears({wanted("a.1")});
  w.ends("a.1");
  const auto before = w.agent.memory_revision();
  EXPECT_EQ(w.hears({}, {"a.1"}), (Actions{forget("a.1")}));
  EXPECT_EQ(w.agent.memory_revision(), before);
}

TEST(Reconciler, ExitedMeansAllRanks) {
  World w;
  w.hears({wanted("a.1", {0, 1})});
  w.agent.running("a.1");
  w.agent.exited("a.1", exit_of(1, 1), w.now);
  w.agent.exited("a.1", exit_of(1, 0), w.now);
  w.agent.exited("a.1", exit_of(9), w.now);
  w.agent.logs_shipped("a.1");
  EXPECT_EQ(w.report("a.1").exits, (std::vector{exit_of(1, 1)})) << "the first word about a rank counts";
  EXPECT_EQ(w.report("a.1").state, api::AllocationState::running);
  w.agent.exited("a.1", exit_of(0), w.now);
  w.agent.logs_shipped("a.1");
  EXPECT_EQ(w.report("a.1").state, api::AllocationState::exited);
}

TEST(Reconciler, AsksToEndThenKillsAfterTheGracePeriodAndAgain) {
  World w;
  w.hears({wanted("a.1")});
  EXPECT_EQ(w.hears({}), (Actions{terminate("a.1")}));
  EXPECT_EQ(w.hears({}), Actions{});
  EXPECT_EQ(w.agent.next_deadline(), Time{} + 15 * kSecond);
  EXPECT_EQ(w.agent.on_time(Time{} + 14 * kSecond), Actions{});
  EXPECT_EQ(w.agent.on_time(Time{} + 15 * kSecond), (Actions{kill("a.1")}));
  EXPECT_EQ(w.agent.on_time(Time{} + 20 * kSecond), (Actions{kill("a.1")}));
  w.ends("a.1", 137);
  EXPECT_EQ(w.agent.next_deadline(), std::nullopt);
}

TEST(Reconciler, AShorterGracePeriodCutsARunningOneShort) {
  World w;
  w.hears({wanted("a.1")});
  w.hears({});
  auto now = wanted("a.1");
  now.kill = true;
  now.grace_seconds = 1;
  EXPECT_EQ(w.hears({now}), Actions{});
  EXPECT_EQ(w.agent.next_deadline(), Time{} + kSecond);
}

TEST(Reconciler, KillDuringTheStartGivesUpTheStart) {  // V24
  World w;
  w.hears({wanted("a.1", {0, 1})});
  auto ended = wanted("a.1", {0, 1});
  ended.kill = true;
  EXPECT_EQ(w.hears({ended}), (Actions{terminate("a.1")}));
  w.agent.exited("a.1", exit_of(0, 143), w.now);
  w.agent.exited("a.1", exit_of(1, 143), w.now);
  w.agent.logs_shipped("a.1");
  EXPECT_EQ(w.report("a.1").state, api::AllocationState::exited);
}

TEST(Reconciler, AKillOfWhatWasNeverStartedIsAnsweredWithAnExit) {  // V24
  World w;
  auto ended = wanted("a.1");
  ended.kill = true;
  EXPECT_EQ(w.hears({ended}), Actions{});
  EXPECT_EQ(w.report("a.1").state, api::AllocationState::exited);
  EXPECT_EQ(w.report("a.1").exits.at(0).reason, "stopped before it started");
  EXPECT_EQ(w.hears({wanted("a.1")}), Actions{}) << "and it is not started later";
}

TEST(Reconciler, ASlotIsGivenOnlyAfterItsHolderHasEnded) {
  World w;
  w.hears({wanted("a.1", {0, 1})});
  EXPECT_EQ(w.hears({wanted("b.1", {1})}), (Actions{terminate("a.1")}));
  w.agent.exited("a.1", exit_of(0), w.now);
  EXPECT_EQ(w.agent.exited("a.1", exit_of(1), w.now), (Actions{Start{wanted("b.1", {1})}}));
}

TEST(Reconciler, TwoThatWantOneSlotAreStartedOneAfterTheOther) {
  World w;
  EXPECT_EQ(w.hears({wanted("a.1"), wanted("b.1")}), (Actions{Start{wanted("a.1")}}));
  EXPECT_EQ(w.agent.exited("a.1", exit_of(0), w.now), (Actions{Start{wanted("b.1")}}));
}

TEST(Reconciler, WhatCannotBeStartedIsAnExitWithAReason) {
  World w;
  EXPECT_EQ(w.hears({wanted("a.1", {9})}), Actions{});
  EXPECT_EQ(w.report("a.1").exits.at(0).reason, "slot 9 does not exist on this agent");
  EXPECT_EQ(w.report("a.1").exits.at(0).code, api::kLostStatus) << "not the trial's failure";
  auto twice = wanted("b.1", {0, 0});
  EXPECT_EQ(w.hears({twice}), Actions{});
  EXPECT_EQ(w.report("b.1").exits.size(), 2u);
  EXPECT_EQ(w.hears({wanted("../../etc/passwd")}), Actions{});
  EXPECT_EQ(w.agent.memory().allocations.size(), 2u);
}

TEST(Reconciler, DropsAnswersOfOlderEpochs) {
  World w;
  w.hears({wanted("a.1")});
  w.epoch = 2;
  EXPECT_EQ(w.hears({}), Actions{});
  EXPECT_EQ(w.agent.last_dropped(), Dropped::OldEpoch);
  w.epoch = 4;
  EXPECT_EQ(w.hears({}), (Actions{terminate("a.1")}));
  EXPECT_EQ(w.agent.memory().epoch, 4);
}

TEST(Reconciler, RemembersTheEpochOverItsOwnRestart) {
  World w;
  w.hears({});
  World restarted(OnDisconnect::Continue, w.agent.memory());
  restarted.epoch = 2;
  EXPECT_EQ(restarted.hears({wanted("a.1")}), Actions{});
  EXPECT_EQ(restarted.agent.last_dropped(), Dropped::OldEpoch);
}

TEST(Reconciler, DropsAnswersThatAreOlderRepeatedOrNotAskedFor) {
  World w;
  const auto first = w.reply({wanted("a.1")});
  const auto second = w.reply({});
  EXPECT_EQ(w.agent.on_reply(second, w.now), Actions{});
  EXPECT_EQ(w.agent.on_reply(first, w.now), Actions{});
  EXPECT_EQ(w.agent.last_dropped(), Dropped::OldSequence);
  EXPECT_EQ(w.agent.on_reply(second, w.now), Actions{});
  EXPECT_EQ(w.agent.last_dropped(), Dropped::OldSequence);
  auto invented = second;
  invented.sequence = 99;
  w.agent.on_reply(invented, w.now);
  EXPECT_EQ(w.agent.last_dropped(), Dropped::OldSequence);
}

TEST(Reconciler, AForgottenAllocationIsNotStartedByALateAnswer) {
  World w;
  w.hears({wanted("a.1")});
  const auto late = w.reply({wanted("a.1")});
  w.ends("a.1");
  EXPECT_EQ(w.hears({}, {"a.1"}), (Actions{forget("a.1")}));
  EXPECT_EQ(w.agent.on_reply(late, w.now), Actions{});
}

TEST(Reconciler, KeepsToItsClusterWhileItHasTasksOfIt) {
  World w;
  w.hears({wanted("a.1")});
  auto foreign = w.reply({});
  foreign.cluster_id = "other";
  EXPECT_EQ(w.agent.on_reply(foreign, w.now), Actions{});
  EXPECT_EQ(w.agent.last_dropped(), Dropped::ForeignCluster);
  w.ends("a.1");
  w.hears({}, {"a.1"});
  auto fresh = w.reply({wanted("1.x.1")});
  fresh.cluster_id = "other";
  fresh.epoch = 1;
  EXPECT_EQ(w.agent.on_reply(fresh, w.now).size(), 1u);
  EXPECT_EQ(w.agent.memory().epoch, 1);
}

TEST(Reconciler, TheLeaseBeginsWhenTheRequestWasSent) {
  World w;
  const auto reply = w.reply({wanted("a.1")});
  w.now = w.now + 5 * kSecond;
  w.agent.on_reply(reply, w.now);
  EXPECT_EQ(w.agent.lease_end(), Time{} + 20 * kSecond);
}

TEST(Reconciler, AReplyWhoseLeaseIsOverStartsNothing) {
  World w;
  const auto reply = w.reply({wanted("a.1")});
  w.now = w.now + 20 * kSecond;
  EXPECT_EQ(w.agent.on_reply(reply, w.now), Actions{});
  EXPECT_EQ(w.hears({wanted("a.1")}).size(), 1u);
}

TEST(Reconciler, ContinuesWithoutAMasterForAsLongAsItTakes) {  // V3
  World w;
  w.hears({wanted("a.1")});
  EXPECT_EQ(w.agent.on_time(Time{} + 11 * 60 * kSecond), Actions{});
  EXPECT_EQ(w.agent.next_deadline(), std::nullopt);
}

TEST(Reconciler, OrStopsWhenTheLeaseEndsIfThePoolSaysSo) {
  World w(OnDisconnect::Stop);
  w.hears({wanted("a.1")});
  EXPECT_EQ(w.agent.next_deadline(), Time{} + 20 * kSecond);
  EXPECT_EQ(w.agent.on_time(Time{} + 19 * kSecond), Actions{});
  EXPECT_EQ(w.agent.on_time(Time{} + 20 * kSecond), (Actions{terminate("a.1")}));
  EXPECT_EQ(w.agent.on_time(Time{} + 35 * kSecond), (Actions{kill("a.1")}));
}

TEST(Reconciler, AfterARestartItGoesOnWithWhatRuns) {
  World w;
  w.hears({wanted("a.1"), wanted("b.1", {1}), wanted("c.1", {2})});
  w.agent.running("a.1");
  World restarted(OnDisconnect::Continue, w.agent.memory());
  EXPECT_EQ(restarted.agent.not_started("c.1", w.now), Actions{});
  restarted.agent.running("b.1");
  EXPECT_EQ(restarted.hears({wanted("a.1"), wanted("b.1", {1}), wanted("c.1", {2})}),
            (Actions{Start{wanted("c.1", {2})}}))
      << "only what certainly never began is started";
  EXPECT_EQ(restarted.report("b.1").state, api::AllocationState::running);
}

TEST(Reconciler, NotStartedIsRefusedOnceAProcessRan) {
  World w;
  w.hears({wanted("a.1")});
  w.agent.running("a.1");
  w.agent.not_started("a.1", w.now);
  EXPECT_EQ(w.hears({wanted("a.1")}), Actions{});
}

TEST(Reconciler, MemorySurvivesJson) {
  World w;
  w.hears({wanted("a.1", {0, 1})});
  w.agent.exited("a.1", exit_of(0, 3), w.now);
  EXPECT_EQ(json::from_json<Memory>(json::to_json(w.agent.memory())).value(), w.agent.memory());
}

}  // namespace
}  // namespace det::agent
