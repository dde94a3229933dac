// What the schedulers are asked is kept from event to event. Here random lives of a cluster, each from a
// seed, are compared with a cluster that is made anew from a snapshot before each event, and so has
// everything from scratch. A failing seed replays exactly:
//
//     DET_SEED=17 det_cluster_test --gtest_filter='KeptRequests.*'

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "det/base/random.h"
#include "det/cluster/testing.h"

namespace det::cluster {
namespace {

class Life {
 public:
  explicit Life(std::uint32_t seed) : random_(seed) {
    for (const auto* name : {"default", "other"}) pools_.pools.push_back({.name = name});
    restart();
  }

  void run() {
    for (int i = 0; i < 100 && !::testing::Test::HasFailure(); ++i) {
      happen();
      expect_the_same_as_from_scratch();
    }
  }

 private:
  int pick(int n) { return static_cast<int>(random_.below(n)); }
  bool chance(int one_in) { return pick(one_in) == 0; }
  std::string agent() { return fmt::format("a{}", pick(5)); }
  template <class Map>
  auto any(const Map& map) {
    return std::next(map.begin(), pick(static_cast<int>(map.size())))->first;
  }

  void handle(const Event& event) {
    const Time now{clock_ += kSecond};
    const auto refused = scratch_.handle(event, now).refused.has_value();
    EXPECT_EQ(cluster_.handle(event, now).refused.has_value(), refused);
  }

  void happen() {
    const auto& allocations = cluster_.allocations();
    const auto& experiments = cluster_.experiments();
    switch (pick(20)) {
      case 0: return restart();
      case 1: return submit_task();
      case 2:
      case 3: return join();
      case 4: return handle(AgentLost{agent()});
      case 5:
        return handle(AgentSet{.agent = agent(),
                               .slot = chance(2) ? std::optional(pick(3)) : std::nullopt,
                               .enabled = chance(2),
                               .drain = chance(2)});
      case 6:
      case 7:
        if (experiments.size() < 6) return submit();
        return handle(ExperimentCommanded{experiments.begin()->first, Verb::Kill});
      case 8:
        for (const auto& [id, experiment] : experiments)
          if (experiment.finished()) return handle(CheckpointsCollected{id});
        break;
      default: break;
    }
    if (experiments.empty() || allocations.empty()) return submit();
    switch (pick(9)) {
      case 0:
        return handle(ExperimentCommanded{any(experiments), chance(6)   ? Verb::Kill
                                                            : chance(6) ? Verb::Cancel
                                                            : chance(2) ? Verb::Pause
                                                                        : Verb::Activate});
      case 1: return patch(any(experiments));
      case 2: return handle(JobMoved{.id = any(experiments), .anchor = any(experiments), .ahead = chance(2)});
      case 3:
        if (cluster_.tasks().empty()) return;
        if (chance(3)) return handle(TaskPaused{any(cluster_.tasks())});
        if (chance(3)) return handle(TaskUnpaused{any(cluster_.tasks())});
        if (chance(2)) return handle(TaskKilled{any(cluster_.tasks()), "killed"});
        return handle(TaskPrioritySet{any(cluster_.tasks()), 40 + pick(5)});
      default: return happen_to(allocations.at(any(allocations)));
    }
  }

  void happen_to(const Allocation& allocation) {
    if (allocation.record.shares.empty()) return;
    const auto id = allocation.record.id;
    const auto& shares = allocation.record.shares;
    const auto on = shares.at(static_cast<std::size_t>(pick(static_cast<int>(shares.size())))).agent;
    switch (pick(6)) {
      case 0: return handle(AllocationStarted{id, on});
      case 1: return handle(exited(id, on, chance(2) ? 0 : 1));
      case 2: return handle(LogPolicyMatched{id, on, fmt::format("policy {}", pick(3)), "exclude_node", "x"});
      case 3: return handle(PreemptionAcknowledged{id, chance(4) ? false : true, allocation.preemptions});
      case 4: return handle(chance(2) ? Event(PreemptionExpired{id}) : Event(IdleExpired{id}));
      default: return handle(OperationCompleted{id, 100, 0.5});
    }
  }

  void restart() {
    for (auto& pool : pools_.pools) {
      pool.policy = static_cast<scheduler::Policy>(pick(4));
      pool.preemption = chance(2);
      pool.default_priority = 40 + pick(4);
      pool.idle_seconds = chance(3) ? 0 : 300;
      pool.zero_slot_max = pick(3);
    }
    handle(MasterStarted{.epoch = ++epoch_, .pools = pools_});
  }

  void join() {
    AgentJoined event{.agent = agent(), .resource_pool = chance(3) ? "other" : "default", .version = "1"};
    if (chance(4)) event.label = "red";
    if (chance(2)) event.attributes["gpu"] = chance(2) ? "a" : "b";
    for (int i = 0; i < 1 + pick(4); ++i) event.slots.push_back({.id = i});
    handle(event);
  }

  void submit() {
    const auto searcher = chance(2)
                              ? "{name: single, metric: loss, max_length: {batches: 100}}"
                              : "{name: random, metric: loss, max_length: {batches: 100}, max_trials: 4, "
                                "max_concurrent_trials: 3}";
    auto resources =
        fmt::format("slots_per_trial: {}, resource_pool: {}", pick(5), chance(3) ? "other" : "default");
    if (chance(4)) resources += fmt::format(", max_slots: {}", 4 + pick(4));
    if (chance(4)) resources += fmt::format(", priority: {}", 40 + pick(5));
    if (chance(5)) resources += ", agent_label: red";
    if (chance(5)) resources += ", agent_attributes: {gpu: a}";
    const auto event = submission(fmt::format("searcher: {}\nresources: {{{}}}\n", searcher, resources));
    handle(event);
  }
  ExperimentSubmitted submission(const std::string& more) const {
    Bench bench{.clock = clock_};
    bench.submit(more);
    return *bench.events.back().first.as<ExperimentSubmitted>();
  }

  void submit_task() {
    TaskSubmitted event;
    event.record.id = fmt::format("task-{}", ++tasks_);
    event.record.job_id = event.record.id;
    event.record.slots = pick(3);
    event.record.resource_pool = "default";
    event.record.start_time = Time{clock_};
    handle(event);
  }

  void patch(ExperimentId id) {
    experiment::Reconfiguration change{};
    switch (pick(5)) {
      case 0: change.priority = 40 + pick(5); break;
      case 1: change.max_slots = 4 + pick(4); break;
      case 2: change.weight = 1 + pick(3); break;
      case 3: change.resource_pool = chance(2) ? "default" : "other"; break;
      default: change.agent_label = chance(2) ? "red" : ""; break;
    }
    handle(ExperimentPatched{.id = id, .config = change});
  }

  static std::vector<scheduler::Request> sorted(std::vector<scheduler::Request> requests) {
    std::ranges::sort(requests, {}, &scheduler::Request::allocation_id);
    return requests;
  }

  /// Made anew before the last event, or after it: both times it must be the same.
  void expect_the_same_as_from_scratch() {
    const auto snapshot = cluster_.snapshot();
    ASSERT_TRUE(snapshot == scratch_.snapshot()) << "the last event has other consequences";
    auto anew = Cluster::restore(snapshot);
    ASSERT_TRUE(anew) << anew.error().message();
    for (const auto& name : {"default", "other"}) {
      const auto &kept = cluster_.planner().pool(name).state, &made = anew->planner().pool(name).state;
      EXPECT_TRUE(sorted(kept.requests()) == sorted(made.requests())) << "requests in pool " << name;
      EXPECT_TRUE(kept.agents() == made.agents()) << "agents of pool " << name;
    }
    EXPECT_EQ(cluster_.planner().idle(), anew->planner().idle());
    for (int i = 0; i < 5; ++i) {
      const auto on = fmt::format("a{}", i);
      EXPECT_EQ(cluster_.planner().allocations_on(on), anew->planner().allocations_on(on));
    }
    for (const auto& [id, allocation] : cluster_.allocations()) {
      EXPECT_EQ(cluster_.planner().allocations_of(Cluster::job_of(allocation)),
                anew->planner().allocations_of(Cluster::job_of(allocation)));
      // Who was planned from scratch by the last event waits for the same.
      if (scratch_.waiting_reason(id).empty()) continue;
      EXPECT_EQ(cluster_.waiting_reason(id), scratch_.waiting_reason(id));
      EXPECT_EQ(cluster_.behind(id), scratch_.behind(id));
    }
    scratch_ = *std::move(anew);
  }

  Random random_;
  Pools pools_;
  Cluster cluster_, scratch_;
  std::int64_t clock_ = 0, epoch_ = 0, tasks_ = 0;
};

TEST(KeptRequests, AreThoseMadeFromScratchAfterEachEvent) {
  const char* one = std::getenv("DET_SEED");
  const auto first = one == nullptr ? 1 : static_cast<std::uint32_t>(std::atoi(one));
  const char* many = std::getenv("DET_SEEDS");
  const auto last = one != nullptr    ? first
                    : many == nullptr ? 10
                                      : static_cast<std::uint32_t>(std::atoi(many));
  for (auto seed = first; seed <= last && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("replay it with DET_SEED={}", seed));
    Life(seed).run();
  }
}

TEST(KeptRequests, NoPlanIsMadeWhereNothingHasChanged) {
  Bench bench;
  bench.handle(MasterStarted{.epoch = 1, .pools = {}});
  bench.join("a", 1);
  bench.submit();
  bench.submit();
  const auto plans = [&] { return bench.cluster.planner().pool("default").plans; };
  const auto again = bench.events.at(1).first;  // the agent says what is known
  bench.handle(again);                          // after a plan that started something comes one without news
  const auto before = plans();
  bench.handle(again);
  EXPECT_EQ(plans(), before);
  bench.handle(AgentSet{.agent = "a", .slot = {}, .enabled = true, .drain = false});
  EXPECT_EQ(plans(), before);
  bench.join("b", 1);
  EXPECT_EQ(plans(), before + 1);
  EXPECT_EQ(bench.cluster.waiting_reason(bench.allocation(2)), "");
}

}  // namespace
}  // namespace det::cluster
