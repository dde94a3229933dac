// How long does one event take in a large cluster? 100,000 allocations wait for 10,000 full agents.

#include <benchmark/benchmark.h>

#include "det/cluster/testing.h"

namespace det::cluster {
namespace {

constexpr int kTrials = 1'000;  // per experiment, all at once

class Crowd {
 public:
  Crowd(scheduler::Options options, std::int64_t agents, std::int64_t waiting) : agents_(agents) {
    Pools pools;
    pools.pools.push_back({.name = "default", .policy = options.policy, .preemption = options.preemption});
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

  /// What the first that waits is told.
  std::string reason() const {
    for (const auto& [id, allocation] : bench_.cluster.allocations())
      if (auto text = bench_.cluster.waiting_reason(id); !text.empty()) return text;
    return "";
  }

  const Cluster& cluster() const { return bench_.cluster; }

 private:
  static std::string name(std::int64_t i) { return fmt::format("agent-{:05}", i); }

  Bench bench_;
  std::int64_t agents_;
  std::int64_t next_ = 0;
};

void a_run_fails(benchmark::State& state, scheduler::Options options) {
  Crowd crowd(options, state.range(0), state.range(1));
  for (auto _ : state) crowd.exit_one();
  state.counters["allocations"] = static_cast<double>(crowd.cluster().allocations().size());
}

/// … and somebody asks why a trial waits.
void a_run_fails_and_a_page_shows_why_others_wait(benchmark::State& state) {
  Crowd crowd({}, state.range(0), state.range(1));
  for (auto _ : state) {
    crowd.exit_one();
    benchmark::DoNotOptimize(crowd.reason());
  }
}

void nothing_changes(benchmark::State& state) {
  Crowd crowd({}, state.range(0), state.range(1));
  for (auto _ : state) crowd.join_again();
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"agents", "waiting"})->Unit(benchmark::kMillisecond);
  bench->Args({1'000, 10'000})->Args({10'000, 100'000});
}
BENCHMARK_CAPTURE(a_run_fails, fifo, {.policy = scheduler::Policy::Fifo})->Apply(sizes);
BENCHMARK_CAPTURE(a_run_fails, round_robin, {.policy = scheduler::Policy::RoundRobin})->Apply(sizes);
BENCHMARK_CAPTURE(a_run_fails, priority, {.policy = scheduler::Policy::Priority})->Apply(sizes);
BENCHMARK_CAPTURE(a_run_fails, fair_share, {.policy = scheduler::Policy::FairShare})->Apply(sizes);
BENCHMARK_CAPTURE(a_run_fails, preemption, {.policy = scheduler::Policy::Priority, .preemption = true})
    ->Apply(sizes);
BENCHMARK(a_run_fails_and_a_page_shows_why_others_wait)->Apply(sizes);
BENCHMARK(nothing_changes)->Apply(sizes);

}  // namespace
}  // namespace det::cluster
