// How long does one plan take, for the largest pool that one master has to serve?

#include <benchmark/benchmark.h>

#include <algorithm>

#include "det/base/random.h"
#include "det/scheduler/scheduler.h"

namespace det::scheduler {
namespace {

std::vector<Agent> pool(std::int64_t count, bool busy, Random& random) {
  std::vector<Agent> agents;
  const int sizes[] = {1, 2, 4, 8};
  for (std::int64_t i = 0; i < count; ++i) {
    Agent agent{.id = fmt::format("agent-{:05}", i), .slots = {}};
    for (int slot = 0; slot < sizes[random.below(4)]; ++slot)
      agent.slots.push_back({.id = slot, .used = busy});
    agents.push_back(std::move(agent));
  }
  return agents;
}

std::vector<Request> queue(std::int64_t count, Random& random) {
  std::vector<Request> requests;
  const int sizes[] = {0, 1, 1, 1, 2, 4, 8, 16};
  for (std::int64_t i = 0; i < count; ++i) {
    Request request;
    request.allocation_id = random.uuid();
    request.group = fmt::format("experiment-{}", i / 10);
    request.slots = sizes[random.below(8)];
    request.submitted = {random.below(1'000'000)};
    requests.push_back(std::move(request));
  }
  return requests;
}

/// Everything is queued at once: requests start while there is room, the others wait with a reason.
void plan(benchmark::State& state, bool busy, Options options) {
  Random random(1);
  const auto agents = pool(state.range(0), busy, random);
  auto requests = queue(state.range(1), random);
  for (auto& request : requests) request.priority = 40 + static_cast<int>(random.below(4));
  const auto scheduler = make_scheduler(options);
  std::size_t started = 0;
  for (auto _ : state) {
    const auto plan = scheduler->plan(agents, requests);
    started = plan.start.size();
  }
  state.counters["started"] = static_cast<double>(started);
}

/// A pool full of low-priority tasks on one slot each, and more important requests that preempt them.
void preempt(benchmark::State& state) {
  Random random(1);
  const auto agents = pool(state.range(0), true, random);
  auto requests = queue(state.range(1), random);
  for (const auto& agent : agents)
    for (const auto& slot : agent.slots) {
      Request running;
      running.allocation_id = random.uuid();
      running.group = "running-" + agent.id;
      running.priority = 60 + static_cast<int>(random.below(20));
      running.submitted = {random.below(1'000'000)};
      running.running = true;
      running.held = {{.agent = agent.id, .slots = {slot.id}}};
      requests.push_back(std::move(running));
    }
  const auto scheduler = make_scheduler({.policy = Policy::Priority, .preemption = true});
  std::size_t preempted = 0;
  for (auto _ : state) preempted = scheduler->plan(agents, requests).preempt.size();
  state.counters["preempted"] = static_cast<double>(preempted);
}

/// What a plan costs that looks at every agent for every request: first fit in order of submission.
void naive(benchmark::State& state) {
  Random random(1);
  const auto agents = pool(state.range(0), false, random);
  auto requests = queue(state.range(1), random);
  std::ranges::sort(requests, {}, &Request::submitted);
  std::size_t started = 0;
  for (auto _ : state) {
    started = 0;
    std::vector<int> free;
    for (const auto& agent : agents) free.push_back(static_cast<int>(agent.slots.size()));
    for (const auto& request : requests) {
      std::size_t best = free.size();
      for (std::size_t at = 0; at < free.size(); ++at)
        if (free[at] >= request.slots && (best == free.size() || free[at] < free[best])) best = at;
      if (best == free.size()) continue;
      free[best] -= request.slots;
      ++started;
    }
  }
  state.counters["started"] = static_cast<double>(started);
}

constexpr FittingOptions kBest{.fitting = Fitting::Best}, kWorst{.fitting = Fitting::Worst};

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"agents", "requests"})->Unit(benchmark::kMillisecond);
  bench->Args({1'000, 10'000})->Args({10'000, 100'000});
}
BENCHMARK_CAPTURE(plan, fifo_idle_best, false, {.policy = Policy::Fifo, .fitting = kBest})->Apply(sizes);
BENCHMARK_CAPTURE(plan, fifo_idle_worst, false, {.policy = Policy::Fifo, .fitting = kWorst})->Apply(sizes);
BENCHMARK_CAPTURE(plan, fifo_full, true, {.policy = Policy::Fifo})->Apply(sizes);
BENCHMARK_CAPTURE(plan, round_robin_idle, false, {.policy = Policy::RoundRobin})->Apply(sizes);
BENCHMARK_CAPTURE(plan, round_robin_full, true, {.policy = Policy::RoundRobin})->Apply(sizes);
BENCHMARK_CAPTURE(plan, fair_share_idle, false, {.policy = Policy::FairShare})->Apply(sizes);
BENCHMARK_CAPTURE(plan, fair_share_full, true, {.policy = Policy::FairShare})->Apply(sizes);
BENCHMARK_CAPTURE(plan, priority_idle, false, {.policy = Policy::Priority})->Apply(sizes);
BENCHMARK_CAPTURE(plan, priority_full, true, {.policy = Policy::Priority})->Apply(sizes);
BENCHMARK(preempt)->Apply(sizes);
BENCHMARK(naive)->Apply(sizes);

}  // namespace
}  // namespace det::scheduler
