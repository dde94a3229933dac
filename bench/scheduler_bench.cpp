// How long does one plan take, for the largest pool that one master shall have?

#include <benchmark/benchmark.h>

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

/// Everything is queued at once: as many start as there is room for, the others wait with their reasons.
void plan(benchmark::State& state, bool busy, Fitting fitting) {
  Random random(1);
  const auto agents = pool(state.range(0), busy, random);
  const auto requests = queue(state.range(1), random);
  const auto fifo = make_fifo(fitting);
  std::size_t started = 0;
  for (auto _ : state) {
    const auto plan = fifo->plan(agents, requests);
    started = plan.start.size();
  }
  state.counters["started"] = static_cast<double>(started);
}
BENCHMARK_CAPTURE(plan, idle_pool_best, false, Fitting::Best)
    ->ArgNames({"agents", "requests"})
    ->Args({10, 100})
    ->Args({1'000, 10'000})
    ->Args({10'000, 100'000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan, idle_pool_worst, false, Fitting::Worst)
    ->ArgNames({"agents", "requests"})
    ->Args({10'000, 100'000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan, full_pool, true, Fitting::Best)
    ->ArgNames({"agents", "requests"})
    ->Args({10'000, 100'000})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace det::scheduler
