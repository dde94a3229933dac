// Pools in which each trial or task has an allotment of its own.

#include <gtest/gtest.h>

#include "det/elastic/elastic.h"

namespace det::elastic::per_task {
namespace {

constexpr Time kNow{1'000'000 * kSecond};
Time ago(std::int64_t seconds) {
  return kNow + -seconds * kSecond;
}
using Requests = std::vector<Request>;
using Releases = std::vector<Release>;

/// Four nodes of two slots at most.
Pool pool() {
  return {
      .limits = {.max_nodes = 4, .slots_per_node = 2, .granularity = Granularity::Task, .lead_time = 100}};
}

void wait(Pool& pool, const std::string& task, int slots = 1, const std::string& owner = "1") {
  pool.demands.push_back({.slots = slots, .task = task, .owner = owner});
  pool.tasks.insert(task);
}

Allotment& add(Pool& pool, const std::string& id, const std::string& task, State state, int nodes = 1) {
  Allotment made{.id = id, .nodes = nodes, .state = state, .requested = ago(1'000)};
  made.task = task, made.owner = "1";
  if (state == State::Running) {
    made.granted = ago(900), made.joined = true;
    for (int i = 0; i < nodes; ++i)
      pool.nodes.push_back({.agent = id + "-" + std::to_string(i),
                            .allotment = id,
                            .slots = 2,
                            .free = 2,
                            .idle_since = ago(10)});
  }
  pool.allotments.push_back(std::move(made));
  return pool.allotments.back();
}

/// Has the task run on the allotment.
void run(Pool& pool, const std::string& id, const std::string& task, int slots = 1) {
  for (auto& node : pool.nodes)
    if (node.allotment == id) node.free -= slots, node.idle_since.reset();
  pool.running.push_back({.slots = slots, .task = task, .owner = "1", .on = {id}});
  pool.tasks.insert(task);
}

TEST(PerTask, EachTaskGetsAnAllotmentOfItsOwn) {
  struct Case {
    std::string title;
    std::vector<int> slots;
    Requests asked;
  };
  const std::vector<Case> cases = {
      {"nobody waits", {}, {}},
      {"two small ones do not share", {1, 1}, {{1, "t0", "1"}, {1, "t1", "1"}}},
      {"a gang is one job", {4, 1}, {{2, "t0", "1"}, {1, "t1", "1"}}},
      {"at most max_nodes", {4, 2, 4, 1}, {{2, "t0", "1"}, {1, "t1", "1"}}},
      {"what never fits holds nobody back", {3, 10, 1}, {{1, "t2", "1"}}},
      {"a task without slots", {0}, {{1, "t0", "1"}}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.title);
    auto p = pool();
    for (std::size_t i = 0; i < c.slots.size(); ++i) wait(p, "t" + std::to_string(i), c.slots[i]);
    EXPECT_EQ(decide(p, kNow).requests, c.asked);
  }
}

TEST(PerTask, OnesThatTheFirstHasNoRoomForDoNotOvertakeIt) {
  auto p = pool();
  add(p, "1", "t9", State::Running), run(p, "1", "t9");
  wait(p, "t0", 8);
  wait(p, "t1", 1);
  EXPECT_EQ(decide(p, kNow).requests, Requests{});
  EXPECT_EQ(decide(p, kNow).why_not_more, "the pool has 1 of at most 4 nodes");
}

TEST(PerTask, IsRequestedOnce) {
  auto p = pool();
  wait(p, "t0");
  add(p, "1", "t0", State::Pending);
  EXPECT_EQ(decide(p, kNow).requests, Requests{});
  EXPECT_EQ(decide(p, kNow).releases, Releases{});
}

TEST(PerTask, ANodeWhoseAgentWasLostIsReplaced) {
  auto p = pool();
  add(p, "1", "t0", State::Running);
  p.nodes.clear();
  p.lost["1"] = 1;
  wait(p, "t0");
  EXPECT_EQ(decide(p, kNow).releases, (Releases{{"1", "its agent was lost"}}));
  EXPECT_EQ(decide(p, kNow).requests, (Requests{{1, "t0", "1"}}));
}

TEST(PerTask, AGangOfWhichANodeWasLostGetsAnother) {
  auto p = pool();
  add(p, "1", "t0", State::Running, 2);
  p.nodes.pop_back();
  p.lost["1"] = 1;
  wait(p, "t0", 4);
  EXPECT_EQ(decide(p, kNow).releases, (Releases{{"1", "its trial or task needs another"}}));
  EXPECT_EQ(decide(p, kNow).requests, (Requests{{2, "t0", "1"}}));
}

TEST(PerTask, GoesBackAsSoonAsItsTaskHasEnded) {
  for (const auto state : {State::Requested, State::Pending, State::Running}) {
    auto p = pool();
    add(p, "1", "t0", state).requested = kNow;
    wait(p, "t1");
    const auto decision = decide(p, kNow);
    EXPECT_EQ(decision.releases, (Releases{{"1", "its trial or task has ended"}}));
    EXPECT_EQ(decision.requests, (Requests{{1, "t1", "1"}})) << "no other takes it";
  }
}

TEST(PerTask, StaysWhileItsTaskRunsAndWhileItRestarts) {
  auto p = pool();
  add(p, "1", "t0", State::Running), run(p, "1", "t0");
  EXPECT_EQ(decide(p, kNow).releases, Releases{});
  auto again = pool();
  add(again, "1", "t0", State::Running);
  wait(again, "t0");
  EXPECT_EQ(decide(again, kNow).releases, Releases{});
  EXPECT_EQ(decide(again, kNow).requests, Requests{});
  again.demands.clear();  // it waits for something that no machine could change
  EXPECT_EQ(decide(again, kNow).releases, Releases{});
}

TEST(PerTask, AnotherSizeOrAMachineThatMustNotBeUsedIsReplaced) {
  auto larger = pool();
  add(larger, "1", "t0", State::Running);
  wait(larger, "t0", 4);
  EXPECT_EQ(decide(larger, kNow).releases, (Releases{{"1", "its trial or task needs another"}}));
  EXPECT_EQ(decide(larger, kNow).requests, (Requests{{2, "t0", "1"}}));
  auto blocked = pool();
  add(blocked, "1", "t0", State::Running);
  wait(blocked, "t0");
  blocked.demands[0].blocked_agents = {"1-0"};
  EXPECT_EQ(decide(blocked, kNow).releases.size(), 1u);
  EXPECT_EQ(decide(blocked, kNow).requests, (Requests{{1, "t0", "1"}}));
}

TEST(PerTask, ItsSuccessorIsRequestedBeforeItLeavesAndNotWithoutNeed) {
  struct Case {
    std::string title;
    std::int64_t ends_in;  // grace 120 s, lead 100 s
    bool goes_on, room;
    Requests asked;
  };
  const std::vector<Case> cases = {
      {"later", 221, true, true, {}},
      {"now", 220, true, true, {{1, "t0", "1"}}},
      {"while it saves", 60, true, true, {{1, "t0", "1"}}},
      {"it is paused", 220, false, true, {}},
      {"never above max_nodes", 220, true, false, {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.title);
    auto p = pool();
    if (!c.room) p.limits.max_nodes = 1;
    add(p, "1", "t0", State::Running).ends = kNow + c.ends_in * kSecond;
    run(p, "1", "t0");
    p.running[0].goes_on = c.goes_on;
    EXPECT_EQ(decide(p, kNow).requests, c.asked);
    EXPECT_EQ(decide(p, kNow).releases, Releases{});
    add(p, "2", "t0", State::Pending);
    EXPECT_EQ(decide(p, kNow).requests, Requests{}) << "once is enough";
    const bool kept = c.goes_on && c.ends_in <= 220;
    EXPECT_EQ(decide(p, kNow).releases.size(), kept ? 0u : 1u) << "kept only for that";
  }
}

TEST(PerTask, WaitsForItsSuccessorAndGivesTheOldOneBack) {
  auto p = pool();
  auto& old = add(p, "1", "t0", State::Running);
  old.ends = kNow + 100 * kSecond;
  old.leaving = true;
  add(p, "2", "t0", State::Running);
  wait(p, "t0");
  EXPECT_EQ(decide(p, kNow).releases, (Releases{{"1", "its time is almost over"}}));
  EXPECT_EQ(decide(p, kNow).requests, Requests{});
}

TEST(PerTask, FailuresHoldBackTheirOwnerOnly) {
  auto p = pool();
  wait(p, "t0", 1, "1");
  wait(p, "t1", 1, "2");
  wait(p, "t2", 1, "1");
  p.owner_failures["1"] = {.count = 2, .last = ago(5), .why = "Invalid account"};
  EXPECT_EQ(decide(p, kNow).requests, (Requests{{1, "t1", "2"}}));
  EXPECT_EQ(decide(p, kNow).why_not_more, "Invalid account");
  EXPECT_EQ(decide(p, kNow + 5 * kSecond).requests, (Requests{{1, "t0", "1"}, {1, "t1", "2"}}))
      << "one tries";
  add(p, "1", "t0", State::Pending);
  EXPECT_EQ(decide(p, kNow + 5 * kSecond).requests, (Requests{{1, "t1", "2"}}));
}

TEST(PerTask, AJobNeverUsesMoreThanItMay) {
  auto p = pool();
  for (const auto* task : {"t0", "t1", "t2"}) wait(p, task);
  for (auto& demand : p.demands) demand.group = "search", demand.group_room = 2;
  EXPECT_EQ(decide(p, kNow).requests.size(), 2u);
}

TEST(PerTask, OneThatDoesNotComeOrDoesNotStartIsGivenUp) {
  auto silent = pool();
  auto& a = add(silent, "1", "t0", State::Running);
  silent.nodes.clear();
  a.joined = false, a.granted = ago(600);
  wait(silent, "t0");
  EXPECT_EQ(decide(silent, kNow).releases,
            (Releases{{"1", "no agent has joined within 600 s of its start"}}));
  auto odd = pool();
  add(odd, "1", "t0", State::Running);
  wait(odd, "t0");
  odd.nodes[0].idle_since = ago(300);
  EXPECT_EQ(decide(odd, kNow).releases, (Releases{{"1", "its trial or task has not started within 300 s"}}));
}

}  // namespace
}  // namespace det::elastic::per_task
