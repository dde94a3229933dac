// Pools live through events at random. Whatever is kept from plan to plan, each plan must be that of a
// scheduler that sees all agents and requests for the first time.
//
//     DET_SEED=17 ctest -R PoolState

#include "det/scheduler/pool_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "det/base/random.h"
#include "det/scheduler/testing.h"

namespace det::scheduler {
namespace {

class Life {
 public:
  explicit Life(std::uint32_t seed) : random_(seed) {
    groups_ = 1 + pick(12);
    sizes_ = 1 + pick(8);
    limits_ = pick(3) == 0;
    choices_ = pick(8) == 0;
    special_ = pick(10) == 0;
    change_options();
    for (int i = pick(12); i >= 0; --i) put_agent("a" + std::to_string(i));
    for (int i = pick(60); i > 0; --i) submit();
  }

  void run() {
    for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
      for (int changes = pick(4); changes > 0; --changes) change();
      plan();
    }
  }

 private:
  int pick(int n) { return static_cast<int>(random_.below(n)); }

  void change_options() {
    options_ = {.policy = static_cast<Policy>(pick(4)),
                .fitting = {.fitting = pick(2) == 0 ? Fitting::Best : Fitting::Worst,
                            .heterogeneous = special_ && pick(2) == 0},
                .preemption = pick(2) == 0};
  }

  void change() {
    switch (pick(12)) {
      case 0: return put_agent("a" + std::to_string(pick(14)));
      case 1:
        if (pick(3) == 0) return remove_agent("a" + std::to_string(pick(14)));
        return;
      case 2:
        if (pick(6) == 0) change_options();
        return;
      case 3:
      case 4:
      case 5:
      case 6: return submit();
      case 7: return put_changed();
      default: return finish();
    }
  }

  void put_agent(const std::string& id) {
    Agent agent{.id = id, .enabled = pick(6) != 0, .draining = pick(6) == 0, .zero_slot_max = pick(4)};
    if (pick(4) == 0) agent.attributes["gpu"] = pick(2) == 0 ? "a" : "b";
    if (special_ && pick(4) == 0) agent.label = "red";
    for (int i = pick(9); i > 0; --i) agent.slots.push_back({.id = i, .enabled = pick(8) != 0});
    if (const auto* known = state_.agent(id); known != nullptr && pick(2) == 0) {
      agent.slots = known->slots;
      for (auto& slot : agent.slots) slot.enabled = pick(8) != 0;
    }
    put(std::move(agent));
  }

  /// With what runs on it.
  void put(Agent agent) {
    for (auto& slot : agent.slots) slot.used = false;
    agent.zero_slot_running = 0;
    for (const auto& request : state_.requests())
      for (const auto& share : request.held) {
        if (share.agent != agent.id) continue;
        if (share.slots.empty()) ++agent.zero_slot_running;
        for (auto& slot : agent.slots)
          if (std::ranges::find(share.slots, slot.id) != share.slots.end()) slot.used = true;
      }
    state_.put_agent(std::move(agent));
  }
  void put_again(const std::vector<Share>& held) {
    for (const auto& share : held)
      if (const auto* agent = state_.agent(share.agent)) put(*agent);
  }

  void remove_agent(const std::string& id) {
    const auto on = [&](const Request& request) {
      return std::ranges::find(request.held, id, &Share::agent) != request.held.end();
    };
    if (std::ranges::none_of(state_.requests(), on)) state_.remove_agent(id);
  }

  void submit() {
    auto request = testing::request("r" + std::to_string(++count_), pick(6) == 0 ? 0 : 1 + pick(sizes_));
    const int group = pick(groups_);
    request.group = "g" + std::to_string(group);
    if (limits_ && group % 2 == 0) request.slots_max = 2 + group;
    request.single_agent = pick(5) == 0;
    request.preemptible = pick(5) != 0;
    request.priority = 40 + group % 3;
    request.weight = group + 0.5;
    request.submitted = {group * 10 + (pick(4) == 0 ? pick(100) : 0)};
    request.requested = {pick(1000)};
    if (pick(6) == 0) request.position = 1 + pick(200 * kPositionsPerMicrosecond);
    if (pick(8) == 0) request.blocked_agents.insert("a" + std::to_string(pick(12)));
    if (pick(8) == 0) request.attributes["gpu"] = pick(2) == 0 ? "a" : "c";
    if (special_ && pick(3) == 0) request.label = "red";
    if (choices_ && request.slots > 0) request.slot_counts = {request.slots, request.slots + 1 + pick(3)};
    state_.put_request(std::move(request));
  }

  const Request* any(bool running) {
    std::vector<const Request*> all;
    for (const auto& request : state_.requests())
      if (request.running == running) all.push_back(&request);
    return all.empty() ? nullptr : all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))];
  }

  void finish() {
    const auto* request = any(pick(5) != 0);
    if (request == nullptr) return;
    const auto held = request->held;
    const auto id = request->allocation_id;
    state_.remove_request(id);
    put_again(held);
  }

  void put_changed() {
    const auto* known = any(pick(2) == 0);
    if (known == nullptr) return;
    auto request = *known;
    if (request.running)
      request.releasing = pick(2) == 0;
    else
      request.position = 1 + pick(200 * kPositionsPerMicrosecond);
    state_.put_request(std::move(request));
  }

  void plan() {
    const auto whole = make_scheduler(options_)->plan(state_.agents(), state_.requests());
    const auto plan = state_.plan(options_);
    EXPECT_EQ(plan.start, whole.start);
    EXPECT_EQ(plan.preempt, whole.preempt);
    EXPECT_EQ(plan.resize, whole.resize);
    for (const auto& waiting : whole.waiting) {
      const auto* why = state_.why(state_.requests()[waiting.request].allocation_id);
      ASSERT_NE(why, nullptr);
      EXPECT_EQ(*why, waiting.why);
    }
    EXPECT_EQ(state_.waiting().size(), whole.waiting.size());
    if (pick(4) == 0) return;  // it is not carried out at once
    for (const auto& start : plan.start) {
      auto request = *state_.request(start.allocation_id);
      request.running = true;
      request.held = start.shares;
      state_.put_request(std::move(request));
      put_again(start.shares);
    }
    for (const auto& id : plan.preempt) {
      auto request = *state_.request(id);
      request.releasing = request.asked = true;
      state_.put_request(std::move(request));
    }
  }

  Random random_;
  PoolState state_;
  Options options_;
  int groups_ = 1, sizes_ = 1, count_ = 0;
  bool limits_ = false, choices_ = false, special_ = false;
};

TEST(PoolState, PlansWhatASchedulerPlansThatSeesEverythingForTheFirstTime) {
  const auto* const seed = std::getenv("DET_SEED");
  const std::uint32_t first = seed != nullptr ? static_cast<std::uint32_t>(std::stoul(seed)) : 1;
  const std::uint32_t count = seed != nullptr ? 1 : 300;
  for (std::uint32_t i = first; i < first + count && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(fmt::format("DET_SEED={}", i));
    Life(i).run();
  }
}

}  // namespace
}  // namespace det::scheduler
