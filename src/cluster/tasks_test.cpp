// Tasks that are no trials: queue, slots, ends, reports.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "det/cluster/cluster.h"

namespace det::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct TaskBench {
  Outcome handle(Event event) {
    auto outcome = cluster.handle(event, Time{clock += kSecond});
    if (outcome.refused) return outcome;
    events.emplace_back(std::move(event), Time{clock});
    for (const auto& effect : outcome.effects)
      if (const auto* put = std::get_if<PutTask>(&effect)) rows[put->record.id] = put->record;
    return outcome;
  }
  void submit(const std::string& id, int slots, std::optional<std::int64_t> idle = std::nullopt) {
    const TaskSubmitted event{{.id = id,
                               .owner = UserId{2},
                               .command = {"true"},
                               .job_id = "job-" + id,
                               .resource_pool = "default",
                               .slots = slots,
                               .idle_timeout_seconds = idle,
                               .start_time = Time{clock}}};
    ASSERT_FALSE(handle(event).refused);
  }
  void join(const std::string& agent, int slots) {
    AgentJoined event{
        .agent = agent, .resource_pool = "default", .hostname = agent, .version = "1", .slots = {}};
    for (int i = 0; i < slots; ++i) event.slots.push_back({.id = i});
    handle(event);
  }
  void exit(const std::string& allocation, int code, const std::string& agent = "a") {
    handle(AllocationExited{allocation, agent, {{.rank = 0, .code = code}}});
  }
  task::State state(const std::string& id) { return rows.at(id).state; }

  std::int64_t clock = 0;
  Cluster cluster;
  std::vector<std::pair<Event, Time>> events;
  std::map<std::string, task::TaskRecord> rows;
};

TEST(ClusterTasks, ATaskRunsOnceInOneProcessOnAllItsSlots) {
  TaskBench bench;
  bench.join("a", 2);
  bench.submit("t", 2);
  ASSERT_EQ(bench.cluster.desired("a").size(), 1u);
  const auto wanted = bench.cluster.desired("a")[0];
  EXPECT_EQ(wanted.allocation_id, "t.1");
  EXPECT_EQ(wanted.slot_ids, (std::vector{0, 1}));
  EXPECT_EQ(wanted.ranks(), 1);
  EXPECT_EQ(wanted.size, 1);
  EXPECT_EQ(wanted.framework, api::kCommandFramework);
  EXPECT_FALSE(api::problem(wanted));
  bench.handle(AllocationStarted{"t.1", "a"});
  EXPECT_EQ(bench.state("t"), task::State::Running);
  bench.exit("t.1", 3);
  EXPECT_EQ(bench.state("t"), task::State::Terminated);
  EXPECT_EQ(bench.rows.at("t").exit_code, 3);
  EXPECT_TRUE(bench.cluster.allocations().empty());
  EXPECT_TRUE(bench.cluster.tasks().empty());
}

TEST(ClusterTasks, WaitsWithAReasonAndRunsBesideAFullClusterWithoutSlots) {
  TaskBench bench;
  bench.join("a", 1);
  bench.submit("first", 1);
  bench.submit("second", 1);
  bench.submit("free", 0);
  EXPECT_EQ(bench.state("first"), task::State::Starting);
  EXPECT_EQ(bench.state("second"), task::State::Queued);
  EXPECT_THAT(bench.cluster.waiting_reason("second.1"), HasSubstr("needs 1 slot"));
  EXPECT_EQ(bench.state("free"), task::State::Starting);
  EXPECT_THAT(bench.cluster.queue("default"), ElementsAre(Job("first"), Job("second"), Job("free")));
  bench.exit("first.1", 0);
  EXPECT_EQ(bench.state("second"), task::State::Starting);
}

TEST(ClusterTasks, NeedsItsSlotsOnOneAgent) {
  TaskBench bench;
  bench.join("a", 2);
  bench.join("b", 2);
  bench.submit("t", 4);
  EXPECT_EQ(bench.state("t"), task::State::Queued);
  EXPECT_TRUE(bench.cluster.can_never_run("t.1"));
}

TEST(ClusterTasks, KilledInTheQueueItEndsAtOnceAndRunningWhenItsProcessEnds) {
  TaskBench bench;
  bench.submit("waits", 1);
  bench.handle(TaskKilled{"waits", "killed by user ada"});
  EXPECT_EQ(bench.state("waits"), task::State::Terminated);
  EXPECT_EQ(bench.rows.at("waits").exit_status, "killed by user ada");
  EXPECT_EQ(bench.handle(TaskKilled{"waits", "again"}).refused->code(), ErrorCode::NotFound);
  bench.join("a", 1);
  bench.submit("runs", 1);
  bench.handle(AllocationStarted{"runs.1", "a"});
  bench.handle(TaskKilled{"runs", "killed by user ada"});
  EXPECT_EQ(bench.state("runs"), task::State::Terminating);
  EXPECT_TRUE(bench.cluster.desired("a").at(0).kill);
  bench.handle(AllocationExited{"runs.1", "a", {{.rank = 0, .code = 143, .signal = 15}}});
  EXPECT_EQ(bench.rows.at("runs").exit_status, "killed by user ada");
  EXPECT_EQ(bench.rows.at("runs").exit_code, 143);
}

TEST(ClusterTasks, WhatNeverBeganRunsAgainAndWhatWasLostDoesNot) {
  TaskBench bench;
  bench.join("a", 1);
  bench.submit("t", 1);
  bench.handle(AllocationExited{"t.1", "a", {}});
  EXPECT_EQ(bench.state("t"), task::State::Starting) << "its second run has the slot";
  ASSERT_EQ(bench.cluster.desired("a").size(), 1u);
  EXPECT_EQ(bench.cluster.desired("a")[0].allocation_id, "t.2");
  bench.handle(AllocationStarted{"t.2", "a"});
  bench.handle(AgentLost{"a"});
  EXPECT_EQ(bench.state("t"), task::State::Terminated);
  EXPECT_EQ(bench.rows.at("t").exit_status, "agent a was lost");
  EXPECT_FALSE(bench.rows.at("t").exit_code);
}

TEST(ClusterTasks, DisablingItsAgentEndsItUnlessItMayFinish) {
  for (const bool drain : {false, true}) {
    TaskBench bench;
    bench.join("a", 1);
    bench.submit("t", 1);
    bench.handle(AgentSet{.agent = "a", .enabled = false, .drain = drain});
    EXPECT_EQ(bench.state("t"), drain ? task::State::Starting : task::State::Terminating);
    bench.exit("t.1", 0);
    EXPECT_EQ(bench.rows.at("t").exit_status, drain ? "exited with status 0" : "agent a was disabled");
  }
}

TEST(ClusterTasks, IdlenessEndsItWhenItsTimeIsOver) {
  TaskBench bench;
  bench.join("a", 1);
  bench.submit("t", 0, 30);
  bench.handle(AllocationStarted{"t.1", "a"});
  ASSERT_FALSE(bench.handle(TaskReady{"t.1", {"h", 4000}}).refused);
  EXPECT_EQ(bench.rows.at("t").address, (task::Address{"h", 4000}));
  const Time now{bench.clock};
  ASSERT_FALSE(bench.handle(TaskIdled{"t.1", now}).refused);
  EXPECT_TRUE(bench.cluster.due(now + 29 * kSecond).empty());
  const auto due = bench.cluster.due(now + 30 * kSecond);
  ASSERT_EQ(due.size(), 1u);
  bench.handle(due[0]);
  EXPECT_TRUE(bench.cluster.due(now + 60 * kSecond).empty()) << "it is ending";
  bench.exit("t.1", 143);
  EXPECT_EQ(bench.rows.at("t").exit_status, "idle for more than 30s");
}

TEST(ClusterTasks, OnlyItsOwnKindOfReportIsTaken) {
  TaskBench bench;
  bench.join("a", 1);
  bench.submit("t", 1);
  bench.handle(AllocationStarted{"t.1", "a"});
  for (const Event& event : {Event(OperationCompleted{"t.1", 1, 0.5}), Event(TrialProgressed{"t.1", 1, ""}),
                             Event(ValidationReported{"t.1", 1, 0.5}), Event(EarlyExitReported{"t.1"}),
                             Event(PreemptionAcknowledged{"t.1"}), Event(PreemptionRequested{"t.1"}),
                             Event(CheckpointReported{{.uuid = "c", .allocation_id = "t.1"}})}) {
    const auto refused = bench.handle(event).refused;
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), ErrorCode::PermissionDenied);
  }
  bench.exit("t.1", 0);
  EXPECT_EQ(bench.handle(TaskReady{"t.1", {"h", 1}}).refused->code(), ErrorCode::Gone);
  EXPECT_EQ(bench.handle(TaskIdled{"t.1", {}}).refused->code(), ErrorCode::Gone);
}

TEST(ClusterTasks, TheQueueObeysMovesAndPriorities) {
  TaskBench bench;
  bench.handle(MasterStarted{1, {.pools = {{.name = "default", .policy = scheduler::Policy::Priority}}}});
  for (const auto* id : {"x", "y", "z"}) bench.submit(id, 1);
  bench.handle(JobMoved{.task = "z", .anchor_task = "x"});
  EXPECT_THAT(bench.cluster.queue("default"), ElementsAre(Job("z"), Job("x"), Job("y")));
  ASSERT_FALSE(bench.handle(TaskPrioritySet{"y", 10}).refused);
  EXPECT_THAT(bench.cluster.queue("default"), ElementsAre(Job("y"), Job("z"), Job("x")));
  EXPECT_EQ(bench.handle(TaskPrioritySet{"y", 0}).refused->code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(bench.handle(JobMoved{.task = "q", .anchor_task = "x"}).refused->code(), ErrorCode::NotFound);
  bench.join("a", 1);
  EXPECT_EQ(bench.state("y"), task::State::Starting);
}

TaskSubmitted generic(const std::string& id, int priority = 42, std::vector<std::string> ancestors = {}) {
  return {{.id = id,
           .type = task::Type::Generic,
           .command = {"true"},
           .job_id = "job-" + id,
           .resource_pool = "default",
           .slots = 1,
           .priority = priority,
           .ancestors = std::move(ancestors)}};
}

TEST(ClusterTasks, AGenericTaskGivesWayToAMoreImportantOneAndRunsAgainAfterIt) {
  for (const bool heeds : {false, true}) {
    TaskBench bench;
    bench.handle(MasterStarted{
        1, {.pools = {{.name = "default", .policy = scheduler::Policy::Priority, .preemption = true}}}});
    bench.join("a", 1);
    bench.handle(generic("g"));
    bench.handle(AllocationStarted{"g.1", "a"});
    if (heeds) bench.handle(PreemptionHeeded{"g.1"});
    bench.handle(generic("urgent", 1));
    EXPECT_EQ(bench.state("g"), task::State::Yielding);
    EXPECT_EQ(bench.cluster.desired("a").at(0).kill, !heeds) << "a signal only where nothing else helps";
    if (heeds) {
      ASSERT_FALSE(bench.handle(PreemptionAcknowledged{"g.1"}).refused);
    }
    bench.exit("g.1", heeds ? 0 : 143);
    EXPECT_EQ(bench.state("g"), task::State::Queued);
    EXPECT_EQ(bench.state("urgent"), task::State::Starting);
    bench.exit("urgent.1", 0);
    EXPECT_EQ(bench.state("g"), task::State::Starting);
    EXPECT_EQ(bench.cluster.desired("a").at(0).allocation_id, "g.2");
  }
}

TEST(ClusterTasks, OneThatHeedsPreemptionAndDoesNotLeaveInTimeIsKilledAndIsPausedAllTheSame) {
  TaskBench bench;
  bench.join("a", 1);
  auto event = generic("g");
  event.record.preemption_timeout_seconds = 60;
  bench.handle(event);
  bench.handle(AllocationStarted{"g.1", "a"});
  bench.handle(PreemptionHeeded{"g.1"});
  bench.handle(TaskPaused{"g"});
  const Time now{bench.clock};
  EXPECT_TRUE(bench.cluster.due(now + 59 * kSecond).empty());
  const auto due = bench.cluster.due(now + 60 * kSecond);
  ASSERT_EQ(due.size(), 1u);
  bench.handle(due[0]);
  EXPECT_TRUE(bench.cluster.desired("a").at(0).kill);
  bench.exit("g.1", 137);
  EXPECT_EQ(bench.state("g"), task::State::Paused);
}

TEST(ClusterTasks, AGenericTaskMovesAwayFromADisabledAgent) {
  TaskBench bench;
  bench.join("a", 1);
  bench.handle(generic("g"));
  bench.join("b", 1);
  bench.handle(AllocationStarted{"g.1", "a"});
  bench.handle(AgentSet{.agent = "a", .enabled = false});
  bench.exit("g.1", 143);
  ASSERT_EQ(bench.cluster.desired("b").size(), 1u);
  EXPECT_EQ(bench.cluster.desired("b").at(0).allocation_id, "g.2");
}

TEST(ClusterTasks, KillingWhatHasEndedEndsItsDescendantsAndTheDeadHaveNoMoreChildren) {
  TaskBench bench;
  bench.join("a", 3);
  bench.handle(generic("root"));
  bench.handle(generic("child", 42, {"root"}));
  bench.handle(generic("grandchild", 42, {"root", "child"}));
  bench.exit("child.1", 0);
  EXPECT_EQ(bench.handle(generic("late", 42, {"root", "child"})).refused->code(),
            ErrorCode::FailedPrecondition);
  ASSERT_FALSE(bench.handle(TaskKilled{"child", "killed by user ada"}).refused);
  EXPECT_EQ(bench.state("grandchild"), task::State::Terminating);
  EXPECT_EQ(bench.state("root"), task::State::Starting);
}

TEST(ClusterTasks, ReplayAndSnapshotGiveTheSame) {
  TaskBench bench;
  bench.join("a", 1);
  bench.submit("t", 1, 30);
  bench.submit("u", 1);
  bench.handle(AllocationStarted{"t.1", "a"});
  bench.handle(TaskReady{"t.1", {"h", 4000}});
  bench.handle(TaskIdled{"t.1", Time{bench.clock}});
  bench.handle(JobMoved{.task = "u", .anchor_task = "t"});
  bench.handle(generic("g"));
  bench.handle(generic("h", 42, {"g"}));
  bench.handle(TaskPaused{"g"});
  bench.handle(TaskUnpaused{"h"});
  const auto snapshot = json::serialize(bench.cluster.snapshot());
  Cluster replayed;
  for (const auto& [event, time] : bench.events)
    replayed.handle(*json::from_json<Event>(*json::parse(json::serialize(json::to_json(event)))), time);
  EXPECT_EQ(json::serialize(replayed.snapshot()), snapshot);
  const auto restored = Cluster::restore(*json::parse(snapshot));
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_EQ(json::serialize(restored->snapshot()), snapshot);
}

}  // namespace
}  // namespace det::cluster
