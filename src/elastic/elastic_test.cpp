#include "det/elastic/elastic.h"

#include <gtest/gtest.h>

namespace det::elastic {
namespace {

constexpr Time kNow{1'000'000 * kSecond};
Time ago(std::int64_t seconds) {
  return kNow + -seconds * kSecond;
}

/// Four nodes of two slots at most.
Pool pool() {
  return {.limits = {.max_nodes = 4, .slots_per_node = 2}};
}

std::vector<Demand> trials(int count, int slots) {
  return std::vector<Demand>(static_cast<std::size_t>(count), Demand{.slots = slots});
}

Allotment allotment(const std::string& id, State state, int nodes = 1) {
  Allotment made{.id = id, .nodes = nodes, .state = state, .requested = ago(2'000)};
  if (state == State::Running) made.granted = ago(30), made.joined = true;
  return made;
}

/// Adds a running allotment whose nodes have `free` of two slots each.
void add_running(Pool& pool, const std::string& id, std::vector<int> free, std::int64_t idle_seconds = 0) {
  pool.allotments.push_back(allotment(id, State::Running, static_cast<int>(free.size())));
  for (std::size_t i = 0; i < free.size(); ++i) {
    Node node{.agent = id + "-" + std::to_string(i), .allotment = id, .slots = 2, .free = free[i]};
    if (free[i] == 2) node.idle_since = ago(idle_seconds);
    pool.nodes.push_back(std::move(node));
  }
}

using Requests = std::vector<Request>;
using Releases = std::vector<Release>;

TEST(Elastic, AsksForAsManyNodesAsTheRequestsThatWaitNeed) {
  struct Case {
    std::string title;
    std::vector<Demand> demands;
    Requests asked;
  };
  const std::vector<Case> cases = {
      {"nobody waits", {}, {}},
      {"one slot", trials(1, 1), {1}},
      {"two of one slot share a node", trials(2, 1), {1}},
      {"three of one slot", trials(3, 1), {1, 1}},
      {"two whole nodes", trials(2, 2), {1, 1}},
      {"more than the pool may have", trials(20, 1), {1, 1, 1, 1}},
      {"a gang of two nodes is one job", trials(1, 4), {2}},
      {"two gangs", trials(2, 4), {2, 2}},
      {"a gang larger than the pool", trials(1, 10), {}},
      {"a gang that leaves a slot over", trials(1, 3), {}},
      {"a task without slots", trials(1, 0), {1}},
      {"one node has too few slots", {{.slots = 4, .single_node = true}}, {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.title);
    auto p = pool();
    p.demands = c.demands;
    EXPECT_EQ(decide(p, kNow).requests, c.asked);
  }
}

TEST(Elastic, CountsWhatIsFreeAndWhatIsOnItsWay) {
  auto p = pool();
  add_running(p, "1", {1});
  p.allotments.push_back(allotment("2", State::Pending));
  p.demands = trials(3, 1);  // one beside the trial that runs, two on the node that comes
  EXPECT_EQ(decide(p, kNow).requests, Requests{});
  p.demands = trials(4, 1);
  EXPECT_EQ(decide(p, kNow).requests, Requests{1});
}

TEST(Elastic, JobsOfSeveralNodesAreAskedForWhole) {
  auto p = pool();
  p.limits.nodes_per_job = 3;
  p.demands = trials(7, 1);
  EXPECT_EQ(decide(p, kNow).requests, (Requests{3, 1})) << "four nodes at most";
}

TEST(Elastic, AGangNeverWaitsWithSomeOfItsNodes) {
  auto p = pool();
  for (const auto* id : {"1", "2", "3"}) add_running(p, id, {2});
  p.demands = trials(1, 8);
  const auto decision = decide(p, kNow);
  EXPECT_EQ(decision.requests, Requests{}) << "four nodes at once are possible only without those three";
  ASSERT_EQ(decision.releases.size(), 3u);
  EXPECT_EQ(decision.releases[0], (Release{"1", "a request for 4 nodes needs its place"}));
  EXPECT_EQ(decision.why_not_more, "the pool has 3 of at most 4 nodes");
}

TEST(Elastic, AGangWaitsForTheJobThatWasAskedForItAndForNoOther) {
  auto p = pool();
  p.demands = trials(1, 4);
  p.allotments.push_back(allotment("1", State::Pending, 2));
  EXPECT_EQ(decide(p, kNow).requests, Requests{});
  p.allotments[0].state = State::Running;
  p.nodes.push_back({.agent = "1-0", .allotment = "1", .slots = 2, .free = 2, .idle_since = kNow});
  EXPECT_EQ(decide(p, kNow).requests, Requests{}) << "its other node is on the way";
  p.allotments[0] = allotment("1", State::Pending, 1);
  p.nodes.clear();
  EXPECT_EQ(decide(p, kNow).requests, Requests{2});
}

TEST(Elastic, InOrderNothingIsAskedForBehindAGangThatWaits) {
  auto p = pool();
  p.demands = {{.slots = 4}, {.slots = 1}};
  EXPECT_EQ(decide(p, kNow).requests, (Requests{2, 1}));
  p.in_order = true;
  EXPECT_EQ(decide(p, kNow).requests, Requests{2});
}

TEST(Elastic, GivesBackWhatNobodyNeeds) {
  struct Case {
    std::string title;
    State state;
    std::int64_t idle;  ///< seconds; -1: it is busy
    int min_nodes;
    std::vector<Demand> demands;
    bool released;
  };
  const std::vector<Case> cases = {
      {"a request", State::Pending, 0, 0, {}, true},
      {"a request that somebody needs", State::Pending, 0, 0, trials(1, 1), false},
      {"a node idle for long", State::Running, 300, 0, {}, true},
      {"a node idle for a moment", State::Running, 299, 0, {}, false},
      {"an idle node of the minimum", State::Running, 300, 1, {}, false},
      {"a request of the minimum", State::Pending, 0, 1, {}, false},
      {"a busy node", State::Running, -1, 0, {}, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.title);
    auto p = pool();
    p.limits.min_nodes = c.min_nodes;
    p.demands = c.demands;
    if (c.state == State::Running)
      add_running(p, "1", {c.idle < 0 ? 0 : 2}, c.idle);
    else
      p.allotments.push_back(allotment("1", c.state));
    EXPECT_EQ(decide(p, kNow).releases.size(), c.released ? 1u : 0u);
  }
}

TEST(Elastic, ARequestIsNotWithdrawnInTheMomentBetweenTwoTrials) {
  auto p = pool();
  p.allotments.push_back(allotment("1", State::Requested));
  p.allotments[0].requested = ago(kWithdrawAfter - 1);
  EXPECT_TRUE(decide(p, kNow).releases.empty());
}

TEST(Elastic, AJobOfSeveralNodesGoesBackWhenAllOfThemAreIdle) {
  auto p = pool();
  add_running(p, "1", {2, 0}, 1'000);
  EXPECT_TRUE(decide(p, kNow).releases.empty());
  p.nodes[1].free = 2, p.nodes[1].idle_since = ago(300);
  EXPECT_EQ(decide(p, kNow).releases, (std::vector<Release>{{"1", "idle for 300 s"}}));
}

TEST(Elastic, KeepsTheMinimum) {
  auto p = pool();
  p.limits.min_nodes = 3;
  add_running(p, "1", {2});
  EXPECT_EQ(decide(p, kNow).requests, (Requests{1, 1}));
}

TEST(Elastic, LeavesBeforeTheEndOfAnAllotment) {
  auto p = pool();
  add_running(p, "1", {0});
  p.allotments[0].ends = kNow + 121 * kSecond;
  EXPECT_TRUE(decide(p, kNow).leaving.empty());
  p.allotments[0].ends = kNow + 120 * kSecond;
  EXPECT_EQ(decide(p, kNow).leaving, std::vector<std::string>{"1"});
  p.allotments[0].leaving = true;
  EXPECT_TRUE(decide(p, kNow).leaving.empty()) << "once is enough";
  EXPECT_TRUE(decide(p, kNow).releases.empty()) << "its trials save";
  p.nodes[0].free = 2, p.nodes[0].idle_since = kNow;
  EXPECT_EQ(decide(p, kNow).releases, (std::vector<Release>{{"1", "its time is almost over"}}));
}

/// One whose trials leave in `seconds` (grace 120 s), with one that uses `slots` of each of its nodes.
Pool ending(std::int64_t seconds, int slots, std::size_t nodes = 1) {
  auto p = pool();
  p.limits.lead_time = 100;
  add_running(p, "1", std::vector<int>(nodes, 2 - std::min(slots, 2)));
  p.allotments[0].granted = ago(10'000);
  p.allotments[0].ends = kNow + (120 + seconds) * kSecond;
  p.running = {{.slots = slots, .on = {"1"}}};
  return p;
}

TEST(Elastic, AsksForTheNextNodesBeforeTheEndOfAnAllotment) {
  EXPECT_EQ(decide(ending(101, 2), kNow).requests, Requests{});
  EXPECT_EQ(decide(ending(100, 2), kNow).requests, Requests{1});
  EXPECT_EQ(decide(ending(100, 4, 2), kNow).requests, Requests{2}) << "a gang's come together";
  EXPECT_EQ(decide(ending(-1, 2), kNow).requests, Requests{1}) << "while it saves, too";
  auto p = ending(100, 2);
  p.running[0].goes_on = false;
  EXPECT_EQ(decide(p, kNow).requests, Requests{}) << "it is paused or killed";
}

TEST(Elastic, WhatIsThereForTheNextMoveIsKeptAndNotAskedForAgain) {
  for (const bool joined : {false, true}) {
    for (const std::size_t nodes : {1, 2}) {
      auto p = ending(50, static_cast<int>(2 * nodes), nodes);
      if (joined)
        add_running(p, "2", std::vector<int>(nodes, 2), 1'000);
      else
        p.allotments.push_back(allotment("2", State::Pending, static_cast<int>(nodes)));
      EXPECT_EQ(decide(p, kNow).requests, Requests{}) << joined << nodes;
      EXPECT_TRUE(decide(p, kNow).releases.empty()) << joined << nodes;
    }
  }
}

TEST(Elastic, TheNextNodeIsNotOneThatEndsAsSoon) {
  EXPECT_EQ(decide(ending(80, 1), kNow).requests, Requests{1}) << "not the free slot of its own";
  auto p = ending(80, 2);
  add_running(p, "2", {2});
  EXPECT_EQ(decide(p, kNow).requests, Requests{}) << "one that stays will do";
  p.allotments[1].granted = ago(10'000);
  p.allotments[1].ends = p.allotments[0].ends;
  EXPECT_EQ(decide(p, kNow).requests, Requests{1});
}

TEST(Elastic, TwoThatLeaveShareTheNextNode) {
  auto p = ending(80, 1);
  p.running.push_back({.slots = 1, .on = {"1"}});
  EXPECT_EQ(decide(p, kNow).requests, Requests{1});
  p.demands = trials(1, 1);  // and the free slot of the old one is for who waits now
  p.nodes[0].free = 1;
  EXPECT_EQ(decide(p, kNow).requests, Requests{1});
}

TEST(Elastic, AsksAheadNeverForMoreThanTheMaximumAndAfterThoseThatWait) {
  auto p = ending(50, 2);
  p.limits.max_nodes = 1;
  EXPECT_EQ(decide(p, kNow).requests, Requests{});
  EXPECT_EQ(decide(p, kNow).why_not_more, "");
  p.limits.max_nodes = 2;
  p.demands = trials(1, 2);
  EXPECT_EQ(decide(p, kNow).requests, Requests{1});
  auto gang = ending(50, 4, 2);
  add_running(gang, "2", {2}, 0);  // an idle node in its way
  gang.limits.max_nodes = 4;
  EXPECT_TRUE(decide(gang, kNow).releases.empty()) << "nobody waits yet";
}

TEST(Elastic, PlansNothingNewForANodeThatEndsBeforeItWouldBeOfUse) {
  auto p = pool();
  add_running(p, "1", {1});
  p.allotments[0].granted = ago(10'000);
  p.demands = trials(1, 1);
  p.allotments[0].ends = kNow + (120 + 61) * kSecond;
  EXPECT_EQ(decide(p, kNow).requests, Requests{});
  p.allotments[0].ends = kNow + (120 + 60) * kSecond;
  EXPECT_EQ(decide(p, kNow).requests, Requests{1});
  EXPECT_TRUE(decide(p, kNow).releases.empty()) << "what runs there goes on";
  p.nodes[0].free = 2, p.nodes[0].idle_since = kNow;
  EXPECT_EQ(decide(p, kNow).releases, (std::vector<Release>{{"1", "its time is almost over"}}));
}

TEST(Elastic, AsksForNoMoreThanAJobMayUse) {
  auto p = pool();
  p.demands = trials(4, 2);
  for (auto& demand : p.demands) demand.group = "search", demand.group_room = 4;
  EXPECT_EQ(decide(p, kNow).requests, (Requests{1, 1}));
  p.demands.push_back({.slots = 1});
  EXPECT_EQ(decide(p, kNow).requests, (Requests{1, 1, 1})) << "it holds back nobody else";
}

TEST(Elastic, ANodeThatLeavesTakesNoMoreWork) {
  auto p = pool();
  add_running(p, "1", {2});
  p.allotments[0].leaving = true;
  p.demands = trials(1, 1);
  EXPECT_EQ(decide(p, kNow).requests, Requests{1});
}

TEST(Elastic, ANodeWithoutAnAgentIsGivenUp) {
  auto p = pool();
  p.allotments.push_back(allotment("1", State::Running));
  p.allotments[0].joined = false;
  p.allotments[0].granted = ago(600);
  p.demands = trials(1, 1);
  EXPECT_EQ(decide(p, kNow).releases,
            (std::vector<Release>{{"1", "no agent has joined within 600 s of its start"}}));
}

TEST(Elastic, ATrialThatMustNotUseANodeGetsAnother) {
  auto p = pool();
  add_running(p, "1", {2});
  p.demands = {{.slots = 1, .blocked_agents = {"1-0"}}};
  EXPECT_EQ(decide(p, kNow).requests, Requests{1});
}

TEST(Elastic, AfterFailuresAsksForOneAtATimeAndEverLater) {
  struct Case {
    int failures;
    std::int64_t delay;
  };
  for (const auto& c : std::vector<Case>{{1, 5}, {2, 10}, {3, 20}, {8, 600}, {100, 600}}) {
    SCOPED_TRACE(c.failures);
    auto p = pool();
    p.demands = trials(8, 1);
    p.failures = {.count = c.failures, .last = ago(c.delay - 1), .why = "Invalid account"};
    EXPECT_EQ(decide(p, kNow).requests, Requests{});
    EXPECT_EQ(decide(p, kNow).why_not_more, "Invalid account");
    EXPECT_EQ(decide(p, kNow + kSecond).requests, Requests{1});
    p.allotments.push_back(allotment("1", State::Pending));
    EXPECT_EQ(decide(p, kNow + kSecond).requests, Requests{}) << "the one that tries is on its way";
  }
}

TEST(Elastic, SaysWhichRequestsCanNeverFit) {
  const Limits limits{.max_nodes = 2, .slots_per_node = 4};
  struct Case {
    Demand demand;
    bool fits;
  };
  const std::vector<Case> cases = {{{.slots = 0}, true},   {{.slots = 4}, true},
                                   {{.slots = 8}, true},   {{.slots = 6}, false},
                                   {{.slots = 12}, false}, {{.slots = 8, .single_node = true}, false}};
  for (const auto& c : cases) EXPECT_EQ(can_fit(limits, c.demand), c.fits) << c.demand.slots;
}

TEST(Elastic, NodesWhoseAgentWasLostAreNotWaitedFor) {
  struct Case {
    std::string title;
    Allotment allotment;
    std::vector<int> free;  ///< of those that are there
    int lost = 0;
    std::vector<Demand> demands;
    Requests asked;
    Releases released;
  };
  const std::vector<Case> cases = {
      {"the only one",
       allotment("1", State::Running),
       {},
       1,
       trials(1, 1),
       {1},
       {{"1", "its agent was lost"}}},
      {"nobody waits", allotment("1", State::Running), {}, 1, {}, {}, {{"1", "its agent was lost"}}},
      {"both", allotment("1", State::Running, 2), {}, 2, trials(1, 4), {2}, {{"1", "its agents were lost"}}},
      {"one of two, and the other has room", allotment("1", State::Running, 2), {2}, 1, trials(1, 1), {}, {}},
      {"one of two, and a gang needs both", allotment("1", State::Running, 2), {2}, 1, trials(1, 4), {2}, {}},
      {"one of two, and the pool has no room for a gang",
       allotment("1", State::Running, 3),
       {2, 2},
       1,
       trials(1, 6),
       {},
       {{"1", "a request for 3 nodes needs its place"}}},
      {"one of two is still to come", allotment("1", State::Running, 3), {0}, 1, trials(1, 2), {}, {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.title);
    auto state = pool();
    state.allotments.push_back(c.allotment);
    for (std::size_t i = 0; i < c.free.size(); ++i) {
      Node node{.agent = "1-" + std::to_string(i), .allotment = "1", .slots = 2, .free = c.free[i]};
      if (c.free[i] == 2) node.idle_since = kNow;
      state.nodes.push_back(std::move(node));
    }
    state.lost["1"] = c.lost;
    state.demands = c.demands;
    const auto decision = decide(state, kNow);
    EXPECT_EQ(decision.requests, c.asked);
    EXPECT_EQ(decision.releases, c.released);
  }
}

}  // namespace
}  // namespace det::elastic
