// How long does one event take in a pool of 10,000 nodes that an engine gives, and how long the decision
// about them? Every node runs a trial of its own; nodes fail, are requested anew, come, and run the next
// trial.

#include <benchmark/benchmark.h>

#include "det/cluster/testing.h"

namespace det::cluster {
namespace {

constexpr int kTrials = 1'000;  // per experiment, all at once
constexpr std::int64_t kTimeLimit = 100'000;

class Nodes {
 public:
  Nodes(std::int64_t count, elastic::Granularity granularity) {
    elastic::Limits limits{.max_nodes = static_cast<int>(count), .granularity = granularity};
    Pools pools;
    pools.pools.push_back({.name = "default", .idle_seconds = 0, .elastic = limits, .provider = "Slurm"});
    bench_.handle(MasterStarted{.epoch = 1, .pools = pools});
    // The nodes come first: each that came while all wait would take a plan of all.
    std::vector<std::string> tasks(static_cast<std::size_t>(count));
    if (granularity == elastic::Granularity::Task) tasks = tasks_of(count);
    for (const auto& task : tasks) arrive(request(task, task.empty() ? "" : "0"));
    submit(bench_, count);
    bench_.clock += 120 * kSecond;  // what fails now is no machine that never worked
  }

  std::vector<Event> due() const { return bench_.cluster.due(Time{bench_.clock}); }

  /// A node is lost, and with its job the allotment; the next one is requested and comes.
  void fail_one() {
    handle(AllotmentEnded{std::to_string(++failed_), "job ended: NODE_FAIL"});
    come(due());
  }
  std::int64_t events() const { return events_; }
  const Cluster& cluster() const { return bench_.cluster; }

 private:
  static void submit(Bench& bench, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += kTrials)
      bench.submit(fmt::format(
          "searcher: {{name: random, metric: loss, max_length: {{batches: 100}}, max_trials: {0}, "
          "max_concurrent_trials: {0}}}\nmax_restarts: 1000000\n",
          kTrials));
  }
  /// What the tasks of so many trials will be called.
  static std::vector<std::string> tasks_of(std::int64_t count) {
    Bench bench;
    bench.handle(MasterStarted{.epoch = 1, .pools = {.pools = {{.name = "default"}}}});
    submit(bench, count);
    std::vector<std::string> tasks;
    for (const auto& [id, allocation] : bench.cluster.allocations())
      tasks.push_back(allocation.record.task_id);
    return tasks;
  }
  void handle(const Event& event) {
    ++events_;
    bench_.cluster.handle(event, Time{bench_.clock += kSecond / 100});
  }
  std::string request(const std::string& task, const std::string& owner) {
    handle(AllotmentRequested{"default", 1, task, owner});
    return std::to_string(++made_);
  }
  void arrive(const std::string& id) {
    handle(AllotmentReported{
        .id = id, .running = true, .engine_id = id, .ends = Time{bench_.clock + kTimeLimit * kSecond}});
    handle(AllotmentClaimed{id, 0, "secret"});
    const auto agent = "default-" + id + "-0";
    handle(AgentJoined{.agent = agent,
                       .resource_pool = "default",
                       .hostname = agent,
                       .version = "1",
                       .slots = {{.id = 0}},
                       .allotment = id});
    for (const auto& run : bench_.cluster.desired(agent)) handle(AllocationStarted{run.allocation_id, agent});
  }
  void come(const std::vector<Event>& events) {
    for (const auto& event : events)
      if (const auto* wanted = event.as<AllotmentRequested>())
        arrive(request(wanted->task, wanted->owner));
      else
        handle(event);
  }

  Bench bench_;
  std::int64_t made_ = 0, failed_ = 0, events_ = 0;
};

/// Seconds for each event of a node that fails and of the one that follows, with the decision in between.
void a_node_comes_and_goes(benchmark::State& state, elastic::Granularity granularity) {
  Nodes nodes(state.range(0), granularity);
  const auto before = nodes.events();
  for (auto _ : state) nodes.fail_one();
  state.counters["nodes"] = static_cast<double>(nodes.cluster().agents().size());
  state.counters["events"] =
      static_cast<double>(nodes.events() - before) / static_cast<double>(state.iterations());
}

void the_decision(benchmark::State& state, elastic::Granularity granularity) {
  Nodes nodes(state.range(0), granularity);
  for (auto _ : state) benchmark::DoNotOptimize(nodes.due());
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgName("nodes")->Unit(benchmark::kMillisecond)->Arg(1'000)->Arg(10'000);
}
BENCHMARK_CAPTURE(a_node_comes_and_goes, pool, elastic::Granularity::Pool)->Apply(sizes);
BENCHMARK_CAPTURE(a_node_comes_and_goes, task, elastic::Granularity::Task)->Apply(sizes);
BENCHMARK_CAPTURE(the_decision, pool, elastic::Granularity::Pool)->Apply(sizes);
BENCHMARK_CAPTURE(the_decision, task, elastic::Granularity::Task)->Apply(sizes);

}  // namespace
}  // namespace det::cluster
