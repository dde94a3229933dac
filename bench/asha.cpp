// How many decisions a second does ASHA take, and how much memory does it hold, by the number of trials?
//
//     asha_bench TRIALS [promote|stop] [CONCURRENT, default 64]
//
// One size a process, so that the peak of its memory is this search's. A decision is a validation that is
// told, and what follows from it. Trials report in random order, worse or better as chance has it.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <vector>

#include "det/search/searcher.h"

namespace det::search {
namespace {

config::ExperimentConfig asha(std::int64_t trials, bool stop, std::int64_t concurrent) {
  config::ExperimentConfig config;
  config.searcher.name = "async_halving";
  config.searcher.max_length = {.unit = config::Unit::Batches, .count = 1024};
  config.searcher.max_trials = trials;
  config.searcher.max_concurrent_trials = concurrent;
  config.searcher.fields = {{"num_rungs", 5},
                            {"divisor", 4},
                            {"max_trials", trials},
                            {"max_concurrent_trials", concurrent},
                            {"stop_once", stop}};
  config.hyperparameters = {{"dropout", {config::Double{0.2, 0.8, {}}}},
                            {"learning_rate", {config::Log{10, -4, -2, {}}}},
                            {"n", {config::Integer{1, 10, {}}}}};
  return config;
}

/// Bytes of this process in memory now.
std::size_t resident() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, pages = 0;
  file >> all >> pages;
  return pages * 4096;
}

struct Asked {
  RequestId trial;
  std::int64_t length = 0;
};

int play(std::int64_t trials, bool stop, std::int64_t concurrent) {
  auto made = Searcher::make(asha(trials, stop, concurrent));
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().message().c_str());
    return 1;
  }
  auto searcher = *std::move(made);
  Random chance(7);
  std::vector<Asked> asked;
  std::vector<RequestId> created, closed;
  const auto take = [&](const Operations& operations) {
    for (const auto& operation : operations) {
      if (const auto* create = std::get_if<Create>(&operation)) created.push_back(create->request_id);
      if (const auto* after = std::get_if<ValidateAfter>(&operation))
        asked.push_back({.trial = after->request_id, .length = after->length});
      if (const auto* close = std::get_if<Close>(&operation)) closed.push_back(close->request_id);
    }
  };
  const auto settle = [&] {
    while (!created.empty() || !closed.empty()) {
      if (!created.empty()) {
        const auto id = std::move(created.back());
        created.pop_back();
        take(searcher.trial_created(id));
      } else {
        const auto id = std::move(closed.back());
        closed.pop_back();
        take(searcher.trial_closed(id));
      }
    }
  };
  const auto before = resident();
  const auto begin = std::chrono::steady_clock::now();
  const auto work = std::clock();
  std::int64_t decisions = 0;
  std::size_t most = before;
  take(searcher.start());
  settle();
  while (!asked.empty()) {
    const auto at = static_cast<std::size_t>(chance.below(static_cast<std::int64_t>(asked.size())));
    std::swap(asked[at], asked.back());
    const auto next = std::move(asked.back());
    asked.pop_back();
    take(searcher.validation_completed(next.trial, chance.unit(), next.length));
    settle();
    if (++decisions % 4096 == 0) most = std::max(most, resident());
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const auto worked = static_cast<double>(std::clock() - work) / CLOCKS_PER_SEC;
  most = std::max(most, resident());
  const auto saving = std::chrono::steady_clock::now();
  const auto bytes = json::serialize(searcher.snapshot()).size();
  const std::chrono::duration<double, std::milli> saved = std::chrono::steady_clock::now() - saving;
  std::printf(
      "%-7s %8lld trials, %lld at once: %lld decisions in %.3f s (%.3f of the processor), %.0f a second of "
      "it; %.1f MB above the empty "
      "process, "
      "%.0f bytes a trial; closed %lld; the snapshot at its end %zu bytes in %.1f ms\n",
      stop ? "stop" : "promote", static_cast<long long>(trials), static_cast<long long>(concurrent),
      static_cast<long long>(decisions), seconds.count(), worked, static_cast<double>(decisions) / worked,
      static_cast<double>(most - before) / 1e6,
      static_cast<double>(most - before) / static_cast<double>(trials),
      static_cast<long long>(searcher.trials_closed()), bytes, saved.count());
  return searcher.trials_closed() == searcher.trials_requested() ? 0 : 1;
}

}  // namespace
}  // namespace det::search

int main(int count, char** words) {
  const auto trials = count > 1 ? std::atoll(words[1]) : 0;
  const bool stop = count > 2 && std::strcmp(words[2], "stop") == 0;
  const auto concurrent = count > 3 ? std::atoll(words[3]) : 64;
  if (trials < 1 || concurrent < 1) {
    std::fprintf(stderr, "usage: %s TRIALS [promote|stop] [CONCURRENT]\n", words[0]);
    return 2;
  }
  return det::search::play(trials, stop, concurrent);
}
