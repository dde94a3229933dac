// Runs pools through days of work, each from a seed: requests come and go, agents
// drain, slots are disabled, groups have limits. After every plan the properties
// below must hold. A failing seed replays exactly:
//
//     DET_SEED=17 ctest -R SchedulerSimulation

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "det/base/random.h"
#include "det/scheduler/scheduler.h"
#include "det/scheduler/testing.h"

namespace det::scheduler {
namespace {

class World {
 public:
  explicit World(std::uint32_t seed) : world_(seed) {
    options_ = {.fitting = pick(2) == 0 ? Fitting::Best : Fitting::Worst, .heterogeneous = pick(2) == 0};
    const auto count = 1 + pick(6);
    for (int i = 0; i < count; ++i)
      agents_.push_back(testing::agent("a" + std::to_string(i), pick(9), 0, pick(3)));
  }

  void run() {
    for (int round = 0; round < 40 && !::testing::Test::HasFailure(); ++round) {
      for (int i = pick(4); i > 0; --i) submit();
      for (int i = pick(4); i > 0; --i) finish();
      disturb();
      apply(make_fifo(options_)->plan(agents_, requests_));
    }
  }

 private:
  int pick(int n) { return static_cast<int>(world_.below(n)); }

  void submit() {
    auto request = testing::request("r" + std::to_string(next_++), pick(4) == 0 ? 0 : 1 + pick(12));
    request.group = "g" + std::to_string(pick(4));
    if (request.group == "g0") request.slots_max = 6;
    request.single_agent = pick(4) == 0;
    request.submitted = {pick(1000)};
    if (pick(5) == 0) request.blocked_agents.insert("a" + std::to_string(pick(6)));
    requests_.push_back(std::move(request));
  }

  void finish() {
    if (held_.empty()) return;
    const auto it = std::next(held_.begin(), pick(static_cast<int>(held_.size())));
    for (const auto& share : it->second) mark(share, false);
    std::erase_if(requests_, [&](const Request& r) { return r.allocation_id == it->first; });
    held_.erase(it);
  }

  void disturb() {
    auto& agent = agents_[static_cast<std::size_t>(pick(static_cast<int>(agents_.size())))];
    if (pick(5) == 0) agent.draining = !agent.draining;
    if (pick(5) == 0) agent.enabled = !agent.enabled;
    if (pick(5) == 0 && !agent.slots.empty()) {
      auto& slot = agent.slots[static_cast<std::size_t>(pick(static_cast<int>(agent.slots.size())))];
      slot.enabled = !slot.enabled;
    }
  }

  Request& by_id(const std::string& id) { return *std::ranges::find(requests_, id, &Request::allocation_id); }

  void mark(const Share& share, bool used) {
    auto& agent = *std::ranges::find(agents_, share.agent, &Agent::id);
    if (share.slots.empty()) agent.zero_slot_running += used ? 1 : -1;
    for (const int id : share.slots) std::ranges::find(agent.slots, id, &Slot::id)->used = used;
  }

  void expect_usable(const Request& request, const Share& share) {
    const auto& agent = *std::ranges::find(agents_, share.agent, &Agent::id);
    EXPECT_TRUE(agent.enabled && !agent.draining) << "started on an agent that takes nothing";
    EXPECT_FALSE(request.blocked_agents.contains(share.agent)) << "started on a blocked agent";
    for (const int id : share.slots) {
      const auto slot = std::ranges::find(agent.slots, id, &Slot::id);
      EXPECT_TRUE(slot->enabled) << "took a disabled slot";
      EXPECT_FALSE(slot->used) << "took a slot twice";
    }
    EXPECT_TRUE(!share.slots.empty() || agent.zero_slot_running < agent.zero_slot_max);
  }

  void apply(const Plan& plan) {
    for (const auto& placement : plan.start) {
      auto& request = by_id(placement.allocation_id);
      EXPECT_FALSE(request.running) << "started twice";
      int slots = 0;
      for (const auto& share : placement.shares) {
        expect_usable(request, share);
        mark(share, true);
        slots += static_cast<int>(share.slots.size());
      }
      EXPECT_EQ(slots, request.slots) << "a gang that is not complete";
      EXPECT_TRUE(!request.single_agent || placement.shares.size() == 1);
      request.running = true;
      held_[request.allocation_id] = placement.shares;
    }
    expect_limits_and_reasons(plan);
    EXPECT_EQ(make_fifo(options_)->plan(agents_, requests_).start.size(), 0u)
        << "a second pass finds more to start";
  }

  void expect_limits_and_reasons(const Plan& plan) {
    std::map<std::string, int> used;
    const auto reasons = testing::waiting_texts(plan, requests_);
    EXPECT_EQ(reasons.size(), plan.waiting.size()) << "a request waits twice";
    for (const auto& request : requests_) {
      EXPECT_EQ(reasons.contains(request.allocation_id), !request.running) << request.allocation_id;
      if (request.running) used[request.group] += request.slots;
    }
    EXPECT_LE(used["g0"], 6);
  }

  Random world_;
  FittingOptions options_;
  std::vector<Agent> agents_;
  std::vector<Request> requests_;
  std::map<std::string, std::vector<Share>> held_;
  int next_ = 0;
};

void simulate(std::uint32_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  World(seed).run();
}

TEST(SchedulerSimulation, EveryPlanKeepsItsPromises) {
  if (const char* seed = std::getenv("DET_SEED"))
    return simulate(static_cast<std::uint32_t>(std::strtoul(seed, nullptr, 10)));
  for (std::uint32_t seed = 0; seed < 500 && !::testing::Test::HasFailure(); ++seed) simulate(seed);
}

}  // namespace
}  // namespace det::scheduler
