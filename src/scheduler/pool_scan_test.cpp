// Pools at random, asked by way of their indexes and by looking at every agent: both must answer the same.
//
//     DET_SEED=17 ctest -R PoolScan

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "det/base/random.h"
#include "det/scheduler/pool.h"
#include "det/scheduler/testing.h"

namespace det::scheduler {
namespace {

std::vector<int> free_slots(const Agent& agent) {
  std::vector<int> free;
  if (!agent.enabled || agent.draining) return free;
  for (const auto& slot : agent.slots)
    if (slot.enabled && !slot.used) free.push_back(slot.id);
  std::ranges::sort(free);
  return free;
}

bool has_used_slots(const Agent& agent) {
  return std::ranges::any_of(agent.slots, &Slot::used);
}

bool may_use(const Agent& agent, const Request& request) {
  return agent.enabled && !agent.draining && !request.blocked_agents.contains(agent.id) &&
         std::ranges::includes(agent.attributes, request.attributes);
}

/// scheduler.md §3, to the letter. Agents in the order of their ids.
class Scan {
 public:
  Scan(std::vector<Agent> agents, const FittingOptions& options)
      : agents_(std::move(agents)), options_(options) {
    const auto ends = [](const Agent& agent) { return agent.until.value_or(Time{INT64_MAX}); };
    for (auto& agent : agents_) agent.draining = agent.draining || ends(agent) <= options.now;
    std::ranges::sort(agents_, {},
                      [&](const Agent& agent) { return std::pair(-ends(agent).microseconds, agent.id); });
  }

  std::vector<Share> place(const Request& request) {
    const Agent* best = nullptr;
    for (const auto& agent : agents_) {
      const auto room = request.slots == 0 ? agent.zero_slot_max > agent.zero_slot_running
                                           : static_cast<int>(free_slots(agent).size()) >= request.slots;
      if (!may_use(agent, request) || !room) continue;
      if (best == nullptr || score(agent, request) > score(*best, request)) best = &agent;
    }
    if (best != nullptr) return taken({{best->id, first_free(*best, request.slots)}});
    if (request.slots < 2 || request.single_agent) return {};
    return taken(whole(request));
  }

  void give_back(const Share& share) {
    auto& agent = *std::ranges::find(agents_, share.agent, &Agent::id);
    if (share.slots.empty()) --agent.zero_slot_running;
    for (const int id : share.slots) std::ranges::find(agent.slots, id, &Slot::id)->used = false;
  }

  int free() const {
    int all = 0;
    for (const auto& agent : agents_) all += static_cast<int>(free_slots(agent).size());
    return all;
  }

 private:
  double score(const Agent& agent, const Request& request) const {
    const bool best = options_.fitting == Fitting::Best;
    const auto free = static_cast<double>(free_slots(agent).size());
    const auto room = static_cast<double>(agent.zero_slot_max - agent.zero_slot_running);
    if (request.slots > 0 || has_used_slots(agent))
      return best ? 1 / (1 + free) : agent.slots.empty() ? 0 : free / static_cast<double>(agent.slots.size());
    return best ? 1 / (1 + room) : room / agent.zero_slot_max;
  }

  static std::vector<int> first_free(const Agent& agent, int slots) {
    auto free = free_slots(agent);
    free.resize(static_cast<std::size_t>(slots));
    return free;
  }

  std::vector<Share> whole(const Request& request) const {
    std::map<int, std::vector<const Agent*>, std::greater<>> idle;
    for (const auto& agent : agents_)
      if (may_use(agent, request) && !has_used_slots(agent) && !free_slots(agent).empty())
        idle[static_cast<int>(free_slots(agent).size())].push_back(&agent);
    std::vector<Share> shares;
    const auto take = [&](const std::vector<const Agent*>& agents, int count, int size) {
      for (int i = 0; i < count; ++i)
        shares.push_back({agents[static_cast<std::size_t>(i)]->id,
                          first_free(*agents[static_cast<std::size_t>(i)], size)});
    };
    for (const auto& [size, agents] : idle)
      if (request.slots % size == 0 && static_cast<int>(agents.size()) >= request.slots / size) {
        take(agents, request.slots / size, size);
        return shares;
      }
    if (!options_.heterogeneous) return {};
    int missing = request.slots;
    for (const auto& [size, agents] : idle) {
      const int count = std::min(missing / size, static_cast<int>(agents.size()));
      take(agents, count, size);
      missing -= count * size;
    }
    return missing == 0 ? shares : std::vector<Share>{};
  }

  std::vector<Share> taken(std::vector<Share> shares) {
    for (const auto& share : shares) {
      auto& agent = *std::ranges::find(agents_, share.agent, &Agent::id);
      if (share.slots.empty()) ++agent.zero_slot_running;
      for (const int id : share.slots) std::ranges::find(agent.slots, id, &Slot::id)->used = true;
    }
    return shares;
  }

  std::vector<Agent> agents_;
  FittingOptions options_;
};

class PoolWorld {
 public:
  explicit PoolWorld(std::uint32_t seed) : random_(seed), ends_(pick(2) == 0) {}

  void run() {
    const FittingOptions options{.fitting = pick(2) == 0 ? Fitting::Best : Fitting::Worst,
                                 .heterogeneous = pick(2) == 0,
                                 .now = Time{1}};
    const bool many = pick(20) == 0;  // more than the bits of a word
    std::vector<Agent> agents;
    for (int i = many ? 200 : 1 + pick(12); i > 0; --i) agents.push_back(agent(i));
    Pool pool(agents, options);
    Scan scan(agents, options);
    std::vector<std::vector<Share>> held;
    for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
      if (!held.empty() && pick(3) == 0) {
        const auto at = held.begin() + pick(static_cast<int>(held.size()));
        pool.give_back(*at);
        for (const auto& share : *at) scan.give_back(share);
        held.erase(at);
      } else {
        const auto wanted = request();
        const auto expected = scan.place(wanted);
        EXPECT_EQ(pool.fits(wanted), !expected.empty());
        EXPECT_EQ(pool.place(wanted).value_or(std::vector<Share>()), expected) << wanted.slots << " slots";
        if (!expected.empty()) held.push_back(expected);
      }
      EXPECT_EQ(pool.free_slots(), scan.free());
    }
  }

 private:
  int pick(int n) { return static_cast<int>(random_.below(n)); }

  Agent agent(int number) {
    auto agent = testing::agent("a" + std::to_string(number), pick(9), 0, 1 + pick(3));
    agent.enabled = pick(9) != 0;
    agent.draining = pick(9) == 0;
    for (auto& slot : agent.slots) slot.enabled = pick(9) != 0;
    if (pick(2) == 0) agent.attributes["gpu"] = pick(2) == 0 ? "a100" : "v100";
    if (pick(4) == 0) agent.attributes["host"] = agent.id;
    if (ends_ && pick(2) == 0) agent.until = Time{pick(5)};
    return agent;
  }

  Request request() {
    auto request = testing::request("r", pick(4) == 0 ? 0 : 1 + pick(14));
    request.single_agent = pick(4) == 0;
    if (pick(4) == 0) request.attributes["gpu"] = "a100";
    if (pick(4) == 0)
      for (int i = pick(4); i >= 0; --i) request.blocked_agents.insert("a" + std::to_string(1 + pick(12)));
    return request;
  }

  Random random_;
  bool ends_;  ///< some agents go
};

TEST(PoolScan, AnIndexFindsWhatLookingAtEveryAgentFinds) {
  const auto play = [](std::uint32_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PoolWorld(seed).run();
  };
  if (const char* seed = std::getenv("DET_SEED"))
    return play(static_cast<std::uint32_t>(std::strtoul(seed, nullptr, 10)));
  for (std::uint32_t seed = 0; seed < 200 && !::testing::Test::HasFailure(); ++seed) play(seed);
}

TEST(Numbers, SkipLongGapsAndForgetWhatIsErased) {
  Numbers numbers;
  EXPECT_EQ(numbers.next(0), Numbers::kNone);
  for (const std::size_t number : {3, 63, 64, 4095, 4096, 1'000'000}) numbers.insert(number);
  std::vector<std::size_t> found;
  for (auto n = numbers.next(0); n != Numbers::kNone; n = numbers.next(n + 1)) found.push_back(n);
  EXPECT_EQ(found, (std::vector<std::size_t>{3, 63, 64, 4095, 4096, 1'000'000}));
  for (const std::size_t number : {3, 4096, 5, 5'000'000}) numbers.erase(number);
  EXPECT_EQ(numbers.next(0), 63u);
  EXPECT_EQ(numbers.next(4096), 1'000'000u);
  EXPECT_EQ(numbers.next(1'000'001), Numbers::kNone);
  EXPECT_EQ(numbers.size(), 4u);
}

}  // namespace
}  // namespace det::scheduler
