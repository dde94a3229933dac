// How long does one event take in a large cluster? 100,000 allocations wait for 10,000 full agents.

#include <benchmark/benchmark.h>

#include "det/cluster/testing.h"

namespace det::cluster {
namespace {

constexpr int kTrials = 1'000;  // per experiment, all at once

class Crowd {
 public:
  Crowd(scheduler::Policy policy, std::int64_t agents, std::int64_t waiting) : agents_(agents) {
    Pools pools;
    pools.pools.push_back({.name = "default", .policy = policy});
    bench_.handle(MasterStarted{.epoch = 1, .pools = pools});
    for (std::int64_t i = 0; i < agents; ++i) bench_.join(name(i), 1);
    const auto experiment = fmt::format(
        "searcher: {{name: random, metric: loss, max_length: {{batches: 100}}, max_trials: {0}, "
        "max_concurrent_trials: {0}}}\nmax_restarts: 1000000\n",
        kTrials);
    for (std::int64_t i = 0; i < agents + waiting; i += kTrials) bench_.submit(experiment);
  }

  Outcome handle(const Event& event) { return bench_.cluster.handle(event, Time{bench_.clock += kSecond}); }

  /// A process fails: its trial is queued again, and a waiting one starts.
  void exit_one() {
    const auto agent = name(next_++ % agents_);
    const auto runs = bench_.cluster.desired(agent);
    handle(exited(runs.at(0).allocation_id, agent, 1));
  }
  /// An agent repeats what the master already knows.
  void join_again() { handle(bench_.events.at(1).first); }

  const Cluster& cluster() const { return bench_.cluster; }

 private:
  static std::string name(std::int64_t i) { return fmt::format("agent-{:05}", i); }

  Bench bench_;
  std::int64_t agents_;
  std::int64_t next_ = 0;
};

void a_run_fails(benchmark::State& state, scheduler::Policy policy) {
  Crowd crowd(policy, state.range(0), state.range(1));
  for (auto _ : state) crowd.exit_one();
  state.counters["allocations"] = static_cast<double>(crowd.cluster().allocations().size());
}

void nothing_changes(benchmark::State& state) {
  Crowd crowd(scheduler::Policy::Fifo, state.range(0), state.range(1));
  for (auto _ : state) crowd.join_again();
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"agents", "waiting"})->Unit(benchmark::kMillisecond);
  bench->Args({1'000, 10'000})->Args({10'000, 100'000});
}
BENCHMARK_CAPTURE(a_run_fails, fifo, scheduler::Policy::Fifo)->Apply(sizes);
BENCHMARK_CAPTURE(a_run_fails, priority, scheduler::Policy::Priority)->Apply(sizes);
BENCHMARK_CAPTURE(a_run_fails, fair_share, scheduler::Policy::FairShare)->Apply(sizes);
BENCHMARK(nothing_changes)->Apply(sizes);

}  // namespace
}  // namespace det::cluster
