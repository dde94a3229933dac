// Runs pools through days of work, each from a seed, under each policy: requests come
// and go, agents drain, slots are disabled, groups have limits, some give way only
// slowly. After every plan the properties below must hold; once nothing new comes,
// everything that can run must have run. A failing seed replays exactly:
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
    options_ = {
        .policy = static_cast<Policy>(pick(4)),
        .fitting = {.fitting = pick(2) == 0 ? Fitting::Best : Fitting::Worst, .heterogeneous = pick(2) == 0},
        .preemption = pick(2) == 0};
    const auto count = 1 + pick(6);
    for (int i = 0; i < count; ++i)
      agents_.push_back(testing::agent("a" + std::to_string(i), pick(9), 0, pick(3)));
  }

  std::string describe() const {
    return std::string("policy ") + boost::describe::enum_to_string(options_.policy, "?") +
           (options_.preemption ? " with preemption" : "") +
           (options_.fitting.heterogeneous ? ", heterogeneous" : "");
  }

  void run() {
    for (int round = 0; round < 40 && !::testing::Test::HasFailure(); ++round) {
      for (int i = pick(4); i > 0; --i) submit();
      for (int i = pick(4); i > 0; --i) finish();
      disturb();
      if (pick(2) == 0) leave();
      if (pick(3) == 0) pass_time();
      plan();
    }
    expect_everything_to_run();
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
    request.preemptible = pick(5) != 0;
    const auto group = request.group.back();  // what is a property of the job
    request.priority = 40 + (group - '0') / 2;
    request.weight = group - '0' + 0.5;
    if (pick(3) == 0 && request.slots > 0) {
      request.slot_counts = {request.slots};
      for (int i = pick(4); i > 0; --i)
        request.slot_counts.push_back(request.slot_counts.back() + 1 + pick(3));
    }
    if (pick(8) == 0) request.group += std::to_string(next_), request.position = 1 + pick(1000);
    requests_.push_back(std::move(request));
  }

  void finish() {
    if (held_.empty()) return;
    const auto it = std::next(held_.begin(), pick(static_cast<int>(held_.size())));
    end(it->first);
  }

  void end(const std::string id) {
    for (const auto& share : held_.at(id)) mark(share, false);
    std::erase_if(requests_, [&](const Request& r) { return r.allocation_id == id; });
    held_.erase(id);
  }

  /// Those that were asked go, and ask for slots again, behind the others of their job.
  bool leave() {
    std::vector<Request> again;
    for (const auto& request : requests_)
      if (request.releasing) again.push_back(request);
    for (auto& request : again) {
      end(request.allocation_id);
      request.allocation_id += "'";
      request.running = request.releasing = request.asked = false;
      request.held.clear();
      if (!request.slot_counts.empty()) request.slots = request.slot_counts.front();
      request.requested = {1000 + clock_++};
      requests_.push_back(request);
    }
    return !again.empty();
  }

  /// Those that run have kept their slots for long enough.
  void pass_time() {
    for (auto& request : requests_) request.resizable = request.running;
  }

  Plan ask() const { return make_scheduler(options_)->plan(agents_, requests_); }

  void plan() {
    auto next = ask();
    apply(next);
    // What must not give way and starts changes the shares of the others, so that one pass may not be all.
    int passes = 0;
    for (next = ask(); !next.start.empty() || !next.preempt.empty() || !next.resize.empty(); next = ask()) {
      ASSERT_LT(++passes, 10) << "each pass finds something else to do";
      apply(next);
    }
  }

  /// No livelock: when nothing comes or ends, giving way comes to an end. No starvation: when what runs ends
  /// one day, everything starts that can run at all.
  void expect_everything_to_run() {
    for (auto& agent : agents_) {
      agent.enabled = true, agent.draining = false;
      for (auto& slot : agent.slots) slot.enabled = true;
    }
    const auto enough = 50 + 20 * requests_.size();
    std::size_t rounds = 0;
    const auto settle = [&] {
      plan();
      while (!::testing::Test::HasFailure() && leave()) {
        pass_time();
        plan();
        ASSERT_LT(++rounds, enough) << "requests keep one another from running";
      }
    };
    for (settle(); !held_.empty() && !::testing::Test::HasFailure(); settle()) {
      if (pick(2) == 0) pass_time();
      finish();
    }
    for (const auto& request : requests_)
      EXPECT_TRUE(never_fits(agents_, request, options_.fitting) ||
                  request.slots > request.slots_max.value_or(request.slots))
          << request.allocation_id << " was left waiting";
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
      const auto& counts = request.slot_counts;
      EXPECT_TRUE(counts.empty() ? slots == request.slots : std::ranges::count(counts, slots) == 1)
          << "a gang that is not complete";
      request.slots = slots;
      request.resizable = false;
      EXPECT_TRUE(!request.single_agent || placement.shares.size() == 1);
      request.running = true;
      request.held = placement.shares;
      held_[request.allocation_id] = placement.shares;
    }
    for (const auto& id : plan.preempt) {
      auto& request = by_id(id);
      EXPECT_TRUE(request.running && request.preemptible && !request.releasing) << id << " cannot give way";
      request.releasing = request.asked = true;
    }
    for (const auto& [id, slots] : plan.resize) {
      auto& request = by_id(id);
      EXPECT_TRUE(request.running && request.preemptible && !request.releasing && request.resizable) << id;
      EXPECT_NE(slots, request.slots) << id;
      request.releasing = true;
    }
    expect_limits_and_reasons(plan);
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
  Options options_;
  std::vector<Agent> agents_;
  std::vector<Request> requests_;
  std::map<std::string, std::vector<Share>> held_;
  int next_ = 0;
  std::int64_t clock_ = 0;
};

void simulate(std::uint32_t seed) {
  World world(seed);
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + world.describe());
  world.run();
}

TEST(SchedulerSimulation, EveryPlanKeepsItsPromises) {
  if (const char* seed = std::getenv("DET_SEED"))
    return simulate(static_cast<std::uint32_t>(std::strtoul(seed, nullptr, 10)));
  for (std::uint32_t seed = 0; seed < 500 && !::testing::Test::HasFailure(); ++seed) simulate(seed);
}

}  // namespace
}  // namespace det::scheduler
