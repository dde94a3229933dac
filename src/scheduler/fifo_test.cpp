#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "det/scheduler/scheduler.h"
#include "det/scheduler/testing.h"

namespace det::scheduler {
namespace {

using testing::agent;
using testing::idle_agents;
using testing::request;

std::string why_never(const std::vector<Agent>& agents, const Request& request) {
  return never_fits(agents, request).value_or("fits");
}

TEST(NeverFits, SaysWhatThePoolLacks) {
  auto draining = idle_agents({4, 4});
  draining[1].draining = true;
  auto blocked = request("r", 4);
  blocked.blocked_agents = {"a00", "elsewhere"};
  auto single = request("r", 8);
  single.single_agent = true;
  // clang-format off
  EXPECT_EQ(why_never({}, request("r", 1)), "needs 1 slot; the resource pool has no agents");
  EXPECT_EQ(why_never(idle_agents({4}), request("r", -1)), "asks for -1 slots; the number must not be negative");
  EXPECT_EQ(why_never(idle_agents({4}), request("r", 8)), "needs 8 slots; the resource pool has 4 slots on 1 agent");
  EXPECT_EQ(why_never(draining, request("r", 8)), "needs 8 slots; the resource pool has 4 slots on 1 agent; 1 agent is disabled, draining or silent");
  EXPECT_EQ(why_never(idle_agents({4, 4}), request("r", 6)), "needs 6 slots; the resource pool has 8 slots on 2 agents; they neither fit on one agent (the largest has 4) nor fill whole agents");
  EXPECT_EQ(why_never(idle_agents({4, 4}), single), "needs 8 slots on one agent; the largest has 4");
  EXPECT_EQ(why_never(idle_agents({4, 2}), blocked), "needs 4 slots; the resource pool has 6 slots on 2 agents; they neither fit on one agent (the largest has 4) nor fill whole agents; 1 agent is excluded because the trial failed there");
  EXPECT_EQ(why_never({agent("a", 4, 0, 0)}, request("r", 0)), "needs no slots; no agent takes tasks without slots");
  EXPECT_EQ(why_never(idle_agents({0}), request("r", 1)), "needs 1 slot; the resource pool has no slots on 1 agent");
  // clang-format on
}

TEST(NeverFits, DoesNotCountWhatRuns) {
  EXPECT_EQ(why_never({agent("a", 4, 4, 1, 1)}, request("r", 4)), "fits");
  EXPECT_EQ(why_never({agent("a", 4, 4, 1, 1)}, request("r", 0)), "fits");
}

TEST(NeverFits, DependsOnTheFittingPolicy) {
  const auto agents = idle_agents({2, 1, 1});
  EXPECT_TRUE(never_fits(agents, request("r", 4)));
  EXPECT_FALSE(never_fits(agents, request("r", 4), {.heterogeneous = true}));
}

TEST(Fifo, PlansForAnEmptyPoolAndAnEmptyQueue) {
  const auto fifo = make_fifo(Fitting::Best);
  EXPECT_TRUE(fifo->plan({}, {}).waiting.empty());
  EXPECT_TRUE(fifo->plan(idle_agents({4}), {}).start.empty());
}

}  // namespace
}  // namespace det::scheduler
