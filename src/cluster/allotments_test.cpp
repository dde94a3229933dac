// Pools whose machines an engine gives: the cluster with events as an engine and its pilots bring them about.

#include <gtest/gtest.h>

#include "det/cluster/testing.h"

namespace det::cluster {
namespace {

using elastic::State;

class Allotments : public ::testing::Test {
 protected:
  Allotments() {
    Pools pools{
        .pools = {{.name = "default",
                   .idle_seconds = 0,
                   .elastic = elastic::Limits{.max_nodes = 2, .slots_per_node = 2, .idle_timeout = 30},
                   .provider = "Slurm partition a100"}}};
    handle(MasterStarted{.epoch = 1, .pools = pools});
  }
  void handle(Event event) {
    const auto outcome = bench_.handle(std::move(event));
    EXPECT_FALSE(outcome.refused) << outcome.refused->message();
  }
  /// Lets time pass, with what it brings about.
  void pass(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      bench_.clock += kSecond;
      for (auto& event : cluster().due(Time{bench_.clock})) handle(std::move(event));
    }
  }
  void join(const std::string& agent, const std::string& allotment) {
    handle(AgentJoined{.agent = agent,
                       .resource_pool = "default",
                       .hostname = "node1",
                       .version = "1",
                       .slots = {{.id = 0}, {.id = 1}},
                       .allotment = allotment});
  }
  /// Its machine is there and its trial runs.
  std::string run_trial() {
    bench_.submit();
    pass(1);
    join("1-0", "1");
    const auto id = bench_.allocation();
    handle(AllocationStarted{id, "1-0"});
    return id;
  }
  Cluster& cluster() { return bench_.cluster; }
  const Allocation& allocation() { return *cluster().allocation(bench_.allocation()); }

  Bench bench_;
};

TEST_F(Allotments, AreRequestedForATrialThatWaits) {
  pass(5);
  EXPECT_TRUE(cluster().allotments().empty()) << "nobody needs a machine";
  bench_.submit();
  EXPECT_FALSE(cluster().can_never_run(bench_.allocation()));
  EXPECT_EQ(cluster().waiting_reason(bench_.allocation()), "waits for nodes of Slurm partition a100");
  pass(1);
  ASSERT_EQ(cluster().allotments().size(), 1u);
  handle(AllotmentReported{.id = "1", .engine_id = "4711", .reason = "job 4711 is pending: Priority"});
  EXPECT_EQ(cluster().waiting_reason(bench_.allocation()),
            "waits for 1 node of Slurm partition a100 (job 4711 is pending: Priority)");
  pass(60);
  EXPECT_EQ(cluster().allotments().size(), 1u) << "once is enough";
}

TEST_F(Allotments, ATrialThatNoNodeFitsIsToldSo) {
  bench_.submit("resources: {slots_per_trial: 3}\n");
  pass(1);
  EXPECT_TRUE(cluster().allotments().empty());
  EXPECT_TRUE(cluster().can_never_run(bench_.allocation()));
  EXPECT_EQ(cluster().waiting_reason(bench_.allocation()),
            "needs 3 slots; the pool has at most 2 nodes of 2 slots each, which larger requests use whole");
}

TEST_F(Allotments, GoBackWhenTheirTrialIsOver) {
  const auto id = run_trial();
  EXPECT_EQ(cluster().allotment("1")->state, State::Running);
  pass(100);
  EXPECT_EQ(cluster().allotment("1")->state, State::Running) << "the trial uses it";
  handle(ExperimentCommanded{ExperimentId{1}, Verb::Kill});
  handle(exited(id, "1-0", 137));
  pass(29);
  EXPECT_EQ(cluster().allotment("1")->state, State::Running);
  pass(2);
  EXPECT_EQ(cluster().allotment("1")->state, State::Releasing);
  EXPECT_EQ(cluster().allotment("1")->why_released, "idle for 30 s");
  handle(AllotmentEnded{"1", "job 4711 ended: CANCELLED"});
  EXPECT_TRUE(cluster().allotments().empty());
  EXPECT_FALSE(cluster().agents().contains("1-0"));
  EXPECT_EQ(cluster().failures("default").count, 0);
}

TEST_F(Allotments, ATrialLeavesBeforeTheTimeLimitAndGoesOnElsewhere) {
  const auto first = run_trial();
  handle(AllotmentReported{
      .id = "1", .running = true, .engine_id = "4711", .ends = Time{bench_.clock} + 200 * kSecond});
  pass(70);
  EXPECT_FALSE(allocation().preempt);
  pass(20);
  EXPECT_TRUE(cluster().allotment("1")->leaving);
  EXPECT_TRUE(allocation().preempt);
  EXPECT_EQ(cluster().allotments().size(), 2u) << "the next is on its way while it saves";
  handle(PreemptionAcknowledged{.allocation_id = first});
  handle(exited(first, "1-0", 0));
  ASSERT_NE(bench_.allocation(), first);
  pass(2);
  EXPECT_EQ(cluster().allotment("1")->state, State::Releasing);
  ASSERT_NE(cluster().allotment("2"), nullptr);
  join("2-0", "2");
  EXPECT_EQ(allocation().record.shares.front().agent, "2-0");
}

TEST_F(Allotments, ATrialWhoseMachineIsLostRunsAgainWithoutCountingARestart) {
  const auto first = run_trial();
  pass(100);
  handle(AllotmentEnded{"1", "job 4711 ended: NODE_FAIL"});
  EXPECT_NE(bench_.allocation(), first);
  EXPECT_EQ(cluster().trial(TrialId{1})->record.restarts, 0);
  EXPECT_EQ(cluster().failures("default").count, 0) << "a machine that worked may be lost";
  pass(1);
  EXPECT_NE(cluster().allotment("2"), nullptr);
}

TEST_F(Allotments, MachinesThatEndBeforeTrialsCouldSaveAreNotRequestedInAStorm) {
  bench_.submit();
  pass(1);
  int requested = 0;
  for (int second = 0; second < 300; ++second) {
    std::vector<std::pair<std::string, elastic::Allotment>> there(cluster().allotments().begin(),
                                                                  cluster().allotments().end());
    for (const auto& [id, allotment] : there) {
      if (allotment.state == State::Requested) {
        ++requested;
        handle(AllotmentReported{
            .id = id, .running = true, .engine_id = id, .ends = Time{bench_.clock + 60 * kSecond}});
        join(id + "-0", id);
      } else if (allotment.state == State::Releasing) {
        handle(AllotmentEnded{id, "job " + id + " ended: CANCELLED"});
      }
    }
    pass(1);
  }
  EXPECT_LT(requested, 10);
  const auto why = cluster().failures("default").why;
  EXPECT_NE(why.find("trials leave 120 s before the end (grace_period)"), why.npos) << why;
}

TEST_F(Allotments, AMachineWhoseAgentIsLostIsReplacedAlthoughItsEngineTakesItForOneThatRuns) {
  const auto first = run_trial();
  pass(100);
  handle(AgentLost{"1-0"});
  EXPECT_NE(bench_.allocation(), first);
  pass(1);
  EXPECT_EQ(cluster().allotment("1")->state, State::Releasing);
  EXPECT_EQ(cluster().allotment("1")->why_released, "its agent was lost");
  ASSERT_NE(cluster().allotment("2"), nullptr);
  join("2-0", "2");
  EXPECT_EQ(allocation().record.shares.front().agent, "2-0");
  EXPECT_EQ(cluster().trial(TrialId{1})->record.restarts, 0);
}

TEST_F(Allotments, AJobThatIsRequeuedGivesItsTrialBackAndMayBeClaimedAgain) {
  const auto first = run_trial();
  handle(AllotmentClaimed{"1", 0, "secret"});
  handle(AllotmentReported{.id = "1", .engine_id = "4711", .reason = "job 4711 is pending: BeginTime"});
  EXPECT_NE(bench_.allocation(), first);
  EXPECT_FALSE(cluster().agents().contains("1-0"));
  handle(AllotmentClaimed{"1", 0, "another"});
  join("1-0b", "1");
  EXPECT_EQ(allocation().record.shares.front().agent, "1-0b");
}

TEST_F(Allotments, FailuresAreSaidAndRepeatedEverLater) {
  bench_.submit();
  pass(1);
  handle(AllotmentEnded{"1", "Invalid account"});
  EXPECT_EQ(cluster().waiting_reason(bench_.allocation()),
            "waits for nodes of Slurm partition a100; the last request failed: Invalid account");
  pass(3);
  EXPECT_TRUE(cluster().allotments().empty());
  pass(3);
  ASSERT_EQ(cluster().allotments().size(), 1u);
  handle(AllotmentEnded{"2", "Invalid account"});
  pass(8);
  EXPECT_TRUE(cluster().allotments().empty());
  pass(3);
  EXPECT_EQ(cluster().allotments().size(), 1u);
}

TEST_F(Allotments, ATokenIsGoodForOnePilotOfEachNode) {
  bench_.submit("resources: {slots_per_trial: 4}\n");
  pass(1);
  ASSERT_EQ(cluster().allotment("1")->nodes, 2);
  handle(AllotmentClaimed{"1", 0, "a"});
  handle(AllotmentClaimed{"1", 0, "a"});  // its answer was lost
  handle(AllotmentClaimed{"1", 1, "b"});
  EXPECT_EQ(bench_.handle(AllotmentClaimed{"1", 0, "thief"}).refused->message(),
            "the token of allotment 1 has already been used for node 0");
  EXPECT_EQ(bench_.handle(AllotmentClaimed{"1", 2, "c"}).refused->code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(bench_.handle(AllotmentClaimed{"7", 0, "c"}).refused->code(), ErrorCode::Gone);
}

TEST_F(Allotments, AGangRunsWhenAllOfItsNodesHaveJoined) {
  bench_.submit("resources: {slots_per_trial: 4}\n");
  pass(1);
  join("1-0", "1");
  EXPECT_TRUE(allocation().record.shares.empty());
  pass(5);
  EXPECT_EQ(cluster().allotments().size(), 1u);
  join("1-1", "1");
  EXPECT_EQ(allocation().record.shares.size(), 2u);
}

TEST_F(Allotments, AreReleasedWhereTheirPoolHasNoProviderAnyMore) {
  run_trial();
  handle(MasterStarted{.epoch = 2, .pools = {.pools = {{.name = "default"}}}});
  pass(1);
  EXPECT_EQ(cluster().allotment("1")->why_released, "the pool has no provider any more");
  EXPECT_TRUE(allocation().preempt);
}

TEST_F(Allotments, TheNextMachineIsAskedForBeforeATrialLeavesAndTheTrialMovesThereAtOnce) {
  bench_.submit();
  pass(20);
  join("1-0", "1");
  const auto first = bench_.allocation();
  handle(AllocationStarted{first, "1-0"});
  handle(AllotmentReported{
      .id = "1", .running = true, .engine_id = "4711", .ends = Time{bench_.clock} + 400 * kSecond});
  pass(250);
  EXPECT_EQ(cluster().allotments().size(), 1u) << "280 s until it leaves; a machine takes 20 s";
  pass(15);
  ASSERT_EQ(cluster().allotments().size(), 2u);
  EXPECT_FALSE(allocation().preempt);
  join("2-0", "2");
  pass(20);
  EXPECT_TRUE(allocation().preempt);
  handle(PreemptionAcknowledged{.allocation_id = first});
  handle(exited(first, "1-0", 0));
  EXPECT_EQ(allocation().record.shares.front().agent, "2-0");
  pass(2);
  EXPECT_EQ(cluster().allotment("1")->state, State::Releasing);
  EXPECT_EQ(cluster().allotment("2")->state, State::Running);
}

TEST_F(Allotments, OfAPausedTrialNoSuccessorIsAskedFor) {
  const auto first = run_trial();
  handle(AllotmentReported{
      .id = "1", .running = true, .engine_id = "4711", .ends = Time{bench_.clock} + 125 * kSecond});
  handle(ExperimentCommanded{ExperimentId{1}, Verb::Pause});
  pass(10);
  EXPECT_TRUE(cluster().allotment("1")->leaving);
  EXPECT_EQ(cluster().allotments().size(), 1u);
}

TEST_F(Allotments, NothingNewStartsWhereItWouldSoonLeave) {
  run_trial();
  handle(AllotmentReported{
      .id = "1", .running = true, .engine_id = "4711", .ends = Time{bench_.clock} + 400 * kSecond});
  pass(225);  // 60 s before its trial leaves
  bench_.submit();
  EXPECT_TRUE(cluster().allocation(bench_.allocation(2))->record.shares.empty());
  pass(1);
  join("2-0", "2");
  EXPECT_EQ(cluster().allocation(bench_.allocation(2))->record.shares.front().agent, "2-0");
  EXPECT_FALSE(allocation().preempt) << "what runs there goes on";
}

TEST_F(Allotments, ATrialStartsWhereItMayStayLongest) {
  run_trial();
  bench_.submit("resources: {slots_per_trial: 2}\n");
  pass(1);
  join("2-0", "2");
  handle(AllocationStarted{bench_.allocation(2), "2-0"});
  handle(AllotmentReported{
      .id = "1", .running = true, .engine_id = "1", .ends = Time{bench_.clock} + 4'000 * kSecond});
  handle(AllotmentReported{
      .id = "2", .running = true, .engine_id = "2", .ends = Time{bench_.clock} + 8'000 * kSecond});
  for (const auto id : {1, 2}) {
    const auto allocation = bench_.allocation(id);
    handle(ExperimentCommanded{ExperimentId{id}, Verb::Kill});
    handle(exited(allocation, fmt::format("{}-0", id), 137));
  }
  bench_.submit();
  EXPECT_EQ(cluster().allocation(bench_.allocation(3))->record.shares.front().agent, "2-0");
}

/// Each trial has machines of its own.
class OwnAllotments : public Allotments {
 protected:
  OwnAllotments() {
    handle(MasterStarted{
        .epoch = 2,
        .pools = {.pools = {{.name = "default",
                             .idle_seconds = 300,
                             .elastic = elastic::Limits{.max_nodes = 2,
                                                        .slots_per_node = 2,
                                                        .granularity = elastic::Granularity::Task},
                             .provider = "Slurm"}}}});
  }
  const Allocation& allocation(int experiment) {
    return *cluster().allocation(bench_.allocation(experiment));
  }
};

TEST_F(OwnAllotments, ATrialRunsOnItsOwnMachineAndNothingElseDoes) {
  bench_.submit();
  bench_.submit();
  pass(1);
  ASSERT_EQ(cluster().allotments().size(), 2u);
  EXPECT_EQ(cluster().allotment("1")->task, allocation(1).record.task_id);
  EXPECT_EQ(cluster().allotment("2")->task, allocation(2).record.task_id);
  join("2-0", "2");
  EXPECT_TRUE(allocation(1).record.shares.empty()) << "two slots are free, and both are another's";
  EXPECT_EQ(allocation(2).record.shares.front().agent, "2-0");
  handle(AllotmentReported{.id = "1", .engine_id = "4711", .reason = "job 4711 is pending: Priority"});
  EXPECT_EQ(cluster().waiting_reason(bench_.allocation(1)),
            "waits for 1 node of Slurm (job 4711 is pending: Priority)");
}

TEST_F(OwnAllotments, TheMachineGoesBackAsSoonAsItsTrialEnds) {
  bench_.submit();
  pass(1);
  join("1-0", "1");
  const auto id = bench_.allocation();
  handle(AllocationStarted{id, "1-0"});
  bench_.submit();
  handle(ExperimentCommanded{ExperimentId{1}, Verb::Kill});
  handle(exited(id, "1-0", 137));
  pass(1);
  EXPECT_EQ(cluster().allotment("1")->why_released, "its trial or task has ended");
  EXPECT_EQ(cluster().allotment("2")->task, allocation(2).record.task_id);
}

TEST_F(OwnAllotments, ATrialThatRestartsKeepsItsMachine) {
  bench_.submit("max_restarts: 3\n");
  pass(1);
  join("1-0", "1");
  const auto first = bench_.allocation();
  handle(AllocationStarted{first, "1-0"});
  handle(exited(first, "1-0", 1));
  ASSERT_NE(bench_.allocation(), first);
  EXPECT_EQ(allocation(1).record.shares.front().agent, "1-0");
  pass(5);
  EXPECT_EQ(cluster().allotments().size(), 1u);
  EXPECT_EQ(cluster().allotment("1")->state, State::Running);
}

TEST_F(OwnAllotments, TheFailuresOfOneOwnerHoldBackNobodyElse) {
  const auto submit = [&](int owner) {
    bench_.owner = UserId{owner};
    bench_.submit();
  };
  submit(5);
  submit(6);
  pass(1);
  handle(AllotmentEnded{"1", "Invalid account"});
  handle(AllotmentEnded{"2", "no"});
  EXPECT_EQ(cluster().failures("default").count, 1);
  EXPECT_EQ(cluster().waiting_reason(bench_.allocation(1)),
            "waits for nodes of Slurm; the last request failed: Invalid account");
  EXPECT_EQ(cluster().waiting_reason(bench_.allocation(2)),
            "waits for nodes of Slurm; the last request failed: no");
  pass(6);
  EXPECT_EQ(cluster().allotments().size(), 2u) << "each tries again";
  join("4-0", "4");
  handle(AllocationStarted{bench_.allocation(2), "4-0"});
  handle(AllotmentEnded{"3", "Invalid account"});
  EXPECT_EQ(cluster().failures("default").count, 2);
  submit(6);
  pass(1);
  EXPECT_EQ(cluster().allotments().rbegin()->second.owner, "6");
}

TEST_F(Allotments, AreTheSameAfterARestart) {
  run_trial();
  handle(AllotmentClaimed{"1", 0, "a"});
  const auto restored = Cluster::restore(cluster().snapshot());
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->snapshot(), cluster().snapshot());
  EXPECT_EQ(restored->allotments(), cluster().allotments());
  Cluster replayed;
  for (const auto& [event, time] : bench_.events) replayed.handle(event, time);
  EXPECT_EQ(replayed.snapshot(), cluster().snapshot());
}

}  // namespace
}  // namespace det::cluster
