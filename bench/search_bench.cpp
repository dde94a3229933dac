// How many events per second does a search handle, and what does a snapshot cost?

#include <benchmark/benchmark.h>

#include <deque>

#include "det/search/preview.h"
#include "det/search/searcher.h"

namespace det::search {
namespace {

config::ExperimentConfig random_search(std::int64_t trials, std::int64_t concurrent) {
  config::ExperimentConfig config;
  config.searcher.name = "random";
  config.searcher.max_length = {.unit = config::Unit::Batches, .count = 1000};
  config.searcher.max_trials = trials;
  config.searcher.max_concurrent_trials = concurrent;
  config.hyperparameters = {{"act", {config::Categorical{{"relu", "tanh", "gelu"}}}},
                            {"dropout", {config::Double{0.2, 0.8, {}}}},
                            {"k", {config::Constant{64}}},
                            {"learning_rate", {config::Log{10, -4, -2, {}}}},
                            {"n", {config::Integer{1, 10, {}}}}};
  return config;
}

/// A whole search with four events per trial: created, progress, validated, closed.
void search_events(benchmark::State& state) {
  const auto trials = state.range(0);
  for (auto _ : state) {
    auto searcher = *Searcher::make(random_search(trials, state.range(1)));
    std::deque<RequestId> open;
    const auto take = [&](const Operations& operations) {
      for (const auto& operation : operations)
        if (const auto* create = std::get_if<Create>(&operation)) open.push_back(create->request_id);
    };
    take(searcher.start());
    while (!open.empty()) {
      const auto id = std::move(open.front());
      open.pop_front();
      take(searcher.trial_created(id));
      searcher.set_trial_progress(id, 500);
      take(searcher.validation_completed(id, 0.5, 1000));
      take(searcher.trial_closed(id));
    }
    if (searcher.progress() != 1) state.SkipWithError("the search did not end");
  }
  state.SetItemsProcessed(state.iterations() * trials * 4);
}
BENCHMARK(search_events)
    ->ArgNames({"trials", "concurrent"})
    ->Args({10'000, 16})
    ->Args({1'000'000, 16})
    ->Args({1'000'000, 10'000})
    ->Unit(benchmark::kMillisecond);

void preview_search(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(preview(random_search(state.range(0), 16)));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(preview_search)->ArgName("trials")->Arg(2'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

config::ExperimentConfig halving(std::int64_t trials, bool deterministic) {
  auto config = random_search(trials, 64);
  config.searcher.name = "async_halving";
  config.searcher.fields = {{"num_rungs", 5},       {"divisor", 4},
                            {"max_trials", trials}, {"max_concurrent_trials", 64},
                            {"stop_once", true},    {"deterministic", deterministic}};
  return config;
}

void preview_halving(benchmark::State& state) {
  for (auto _ : state) {
    const auto played = preview(halving(state.range(0), state.range(1) != 0));
    if (!played) state.SkipWithError(played.error().message().c_str());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(preview_halving)
    ->ArgNames({"trials", "deterministic"})
    ->Args({1'000'000, 0})
    ->Args({1'000'000, 1})
    ->Unit(benchmark::kMillisecond);

void preview_tpe(benchmark::State& state) {
  auto config = random_search(state.range(0), 16);
  config.searcher.name = "tpe";
  for (auto _ : state) benchmark::DoNotOptimize(preview(config));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(preview_tpe)->ArgName("trials")->Arg(100)->Arg(2'000)->Unit(benchmark::kMillisecond);

/// A custom search: its answers create, train and close each trial, 64 at a time.
void custom_search(benchmark::State& state) {
  config::ExperimentConfig config;
  config.searcher.name = "custom";
  for (auto _ : state) {
    auto searcher = *Searcher::make(config);
    searcher.start();
    Random ids(1);
    std::int64_t created = 0;
    std::vector<RequestId> open;
    while (created < state.range(0) || !open.empty()) {
      std::vector<SearchWish> wishes;
      for (const auto& id : open) {
        searcher.set_trial_progress(id, 50);
        searcher.validation_completed(id, 0.5, 100);
        wishes.push_back({.kind = SearchWish::Kind::Close, .request_id = id});
      }
      std::vector<RequestId> next;
      for (; next.size() < 64 && created < state.range(0); ++created) {
        next.push_back(ids.uuid());
        wishes.push_back({.request_id = next.back(), .hparams = {{"lr", 0.1}}});
        wishes.push_back({.kind = SearchWish::Kind::ValidateAfter, .request_id = next.back(), .length = 100});
      }
      if (!searcher.answer(searcher.events()->back().id, wishes)) state.SkipWithError("refused");
      for (const auto& id : open) searcher.trial_closed(id);
      for (const auto& id : next) searcher.trial_created(id);
      open = std::move(next);
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(custom_search)->ArgName("trials")->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void search_snapshot(benchmark::State& state) {
  auto searcher = *Searcher::make(random_search(state.range(0), state.range(0)));
  searcher.start();
  std::size_t bytes = 0;
  for (auto _ : state) bytes = json::serialize(searcher.snapshot()).size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(search_snapshot)->ArgName("open")->Arg(1)->Arg(16)->Arg(10'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace det::search
