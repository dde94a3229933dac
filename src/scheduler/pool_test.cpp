#include "det/scheduler/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "det/scheduler/testing.h"

namespace det::scheduler {
namespace {

using testing::agent;
using ::testing::ElementsAre;
using testing::idle_agents;
using testing::request;

struct SharedCase {
  const char* name;
  int slots;
  std::vector<Agent> agents;
  Fitting fitting;
  const char* chosen;
};

class Shared : public ::testing::TestWithParam<SharedCase> {};

TEST_P(Shared, GoesToTheAgentThatFitsItsPolicy) {
  const auto& c = GetParam();
  Pool pool(c.agents, {.fitting = c.fitting});
  const auto shares = pool.place(request("task1", c.slots));
  ASSERT_TRUE(shares);
  ASSERT_EQ(shares->size(), 1u);
  EXPECT_EQ(shares->at(0).agent, c.chosen);
  EXPECT_EQ(static_cast<int>(shares->at(0).slots.size()), c.slots);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, Shared, ::testing::Values(
    //         name                              slots agents (slots, used, zero max, zero running)           fitting         chosen
    SharedCase{"the_tightest_idle_agent",         2, {agent("a", 2, 0), agent("b", 4, 0)},                     Fitting::Best,  "a"},
    SharedCase{"the_smallest_agent",              1, {agent("a", 4, 0), agent("b", 1, 0)},                     Fitting::Best,  "b"},
    SharedCase{"the_emptier_half",                1, {agent("a", 2, 1), agent("b", 4, 1)},                     Fitting::Worst, "b"},
    SharedCase{"the_larger_free_fraction",        1, {agent("a", 2, 1), agent("b", 5, 3)},                     Fitting::Worst, "a"},
    SharedCase{"idle_before_used",                2, {agent("a", 2, 0), agent("b", 5, 3)},                     Fitting::Worst, "a"},
    SharedCase{"only_where_it_fits_best",         2, {agent("a", 1, 0), agent("b", 3, 0)},                     Fitting::Best,  "b"},
    SharedCase{"only_where_it_fits_worst",        2, {agent("a", 1, 0), agent("b", 3, 0)},                     Fitting::Worst, "b"},
    SharedCase{"ties_go_to_the_first_id",         1, {agent("b", 2, 0), agent("a", 2, 0)},                     Fitting::Best,  "a"},
    SharedCase{"without_slots_a_tie",             0, {agent("a", 4, 0, 2, 0), agent("b", 4, 0, 4, 2)},         Fitting::Best,  "a"},
    SharedCase{"without_slots_the_fuller",        0, {agent("a", 4, 0, 100, 1), agent("b", 4, 0, 100, 0)},     Fitting::Best,  "a"},
    SharedCase{"without_slots_the_emptier",       0, {agent("a", 4, 0, 100, 1), agent("b", 4, 0, 100, 0)},     Fitting::Worst, "b"},
    SharedCase{"without_slots_beside_a_busy_one", 0, {agent("a", 4, 0, 100, 0), agent("b", 4, 4, 100, 0)},     Fitting::Best,  "b"},
    SharedCase{"without_slots_where_there_is_room", 0, {agent("a", 4, 0, 0, 0), agent("b", 4, 0, 2, 1)},       Fitting::Best,  "b"}),
    [](const auto& info) { return info.param.name; });
// clang-format on

struct DedicatedCase {
  const char* name;
  int slots;
  std::vector<int> sizes;
  bool heterogeneous;
  std::vector<int> taken;
};

class Dedicated : public ::testing::TestWithParam<DedicatedCase> {};

TEST_P(Dedicated, TakesWholeIdleAgents) {
  const auto& c = GetParam();
  const auto agents = idle_agents(c.sizes);
  Pool pool(agents, {.heterogeneous = c.heterogeneous});
  const auto shares = pool.place(request("task", c.slots));
  std::vector<int> taken;
  if (shares)
    for (const auto& share : *shares) taken.push_back(static_cast<int>(share.slots.size()));
  EXPECT_EQ(taken, c.taken);
  EXPECT_EQ(pool.free_slots(), pool.slots() - (shares ? c.slots : 0));
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, Dedicated, ::testing::Values(
    //            name                          slots  sizes                                heterogeneous taken
    DedicatedCase{"one_agent_if_it_can",          10, {1, 5, 10},                             false, {10}},
    DedicatedCase{"the_size_that_divides",        16, {8, 7, 7, 4, 4, 4, 4},                  false, {4, 4, 4, 4}},
    DedicatedCase{"no_size_divides",              16, {5, 5, 5},                              false, {}},
    DedicatedCase{"too_few_of_the_size",          12, {8, 8, 3, 3, 3},                        false, {}},
    DedicatedCase{"no_more_than_needed",          8,  {4, 4, 4, 4, 4},                        false, {4, 4}},
    DedicatedCase{"mixed_sizes_not_by_default",   4,  {2, 1, 1},                              false, {}},
    DedicatedCase{"mixed_sizes",                  4,  {2, 1, 1},                              true,  {2, 1, 1}},
    DedicatedCase{"one_size_before_mixed",        4,  {2, 1, 1, 1, 1},                        true,  {1, 1, 1, 1}},
    DedicatedCase{"mixed_with_one_left",          4,  {2, 1, 1, 1},                           true,  {2, 1, 1}},
    DedicatedCase{"mixed_too_few",                8,  {2, 1, 1},                              true,  {}},
    DedicatedCase{"mixed_does_not_look_back",     9,  {7, 5, 4},                              true,  {}},
    DedicatedCase{"mixed_one_of_each_size",       63, {32, 32, 16, 16, 8, 8, 4, 4, 2, 2, 1, 1}, true, {32, 16, 8, 4, 2, 1}}),
    [](const auto& info) { return info.param.name; });
// clang-format on

TEST(Pool, WholeAgentsAreThoseWithoutAUsedSlot) {
  const std::vector<Agent> agents{agent("a", 4), agent("b", 4, 1), agent("c", 4)};
  Pool pool(agents, {});
  const auto shares = pool.place(request("r", 8));
  ASSERT_TRUE(shares);
  EXPECT_THAT(*shares, ElementsAre(Share{"a", {0, 1, 2, 3}}, Share{"c", {0, 1, 2, 3}}));
  EXPECT_FALSE(pool.place(request("s", 8)));
}

TEST(Pool, ASingleAgentRequestIsNotSpread) {
  const auto agents = idle_agents({4, 4});
  Pool pool(agents, {.heterogeneous = true});
  auto alone = request("r", 8);
  alone.single_agent = true;
  EXPECT_FALSE(pool.place(alone));
  EXPECT_TRUE(pool.place(request("r", 8)));
}

TEST(Pool, DisabledSlotsAndDrainingAgentsAreNotUsed) {
  auto disabled = agent("a", 4), draining = agent("b", 4), partly = agent("c", 4);
  disabled.enabled = false;
  draining.draining = true;
  partly.slots[0].enabled = partly.slots[2].enabled = false;
  const std::vector<Agent> agents{disabled, draining, partly};
  Pool pool(agents, {});
  EXPECT_EQ(pool.slots(), 2);
  EXPECT_EQ(pool.counts({}).agents_unusable, 2);
  EXPECT_FALSE(pool.place(request("r", 3)));
  EXPECT_THAT(pool.place(request("r", 2)).value(), ElementsAre(Share{"c", {1, 3}}));
  EXPECT_EQ(pool.place(request("zero", 0)).value(), (std::vector<Share>{{"c", {}}}));
}

TEST(Pool, ARequestThatDoesNotFitTakesNothing) {
  const auto agents = idle_agents({4, 4, 2});
  Pool pool(agents, {.heterogeneous = true});
  EXPECT_FALSE(pool.place(request("r", 11)));
  EXPECT_EQ(pool.free_slots(), 10);
  EXPECT_TRUE(pool.place(request("s", 10)));
  EXPECT_EQ(pool.free_slots(), 0);
}

}  // namespace
}  // namespace det::scheduler
