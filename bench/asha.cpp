// How many decisions per second does ASHA make, and how much memory does it need, by the number of trials?
//
//     asha_bench TRIALS [promote|stop|barrier] [CONCURRENT, default 64] [SNAPSHOT_AT, default at the end]
//
// `barrier` promotes too, but sees results only when all trials have reported (`deterministic`). SNAPSHOT_AT
// is a number of decisions, after which the search is saved and restored with its trials open; the memory
// shown then includes the snapshot's.
//
// A process runs one size, so that its peak memory is that of the search. A decision is one reported
// validation and all that follows from it. Trials report in random order, with random results.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "det/search/searcher.h"

namespace det::search {
namespace {

config::ExperimentConfig asha(std::int64_t trials, const std::string& kind, std::int64_t concurrent) {
  config::ExperimentConfig config;
  config.searcher.name = "async_halving";
  config.searcher.max_length = {.unit = config::Unit::Batches, .count = 1024};
  config.searcher.max_trials = trials;
  config.searcher.max_concurrent_trials = concurrent;
  config.searcher.fields = {{"num_rungs", 5},
                            {"divisor", 4},
                            {"max_trials", trials},
                            {"max_concurrent_trials", concurrent},
                            {"stop_once", kind == "stop"},
                            {"deterministic", kind == "barrier"}};
  config.hyperparameters = {{"dropout", {config::Double{0.2, 0.8, {}}}},
                            {"learning_rate", {config::Log{10, -4, -2, {}}}},
                            {"n", {config::Integer{1, 10, {}}}}};
  return config;
}

/// Resident bytes of this process: now, and at the peak.
struct Resident {
  std::size_t now = 0, most = 0;
};
Resident resident() {
  std::ifstream file("/proc/self/status");
  Resident bytes;
  for (std::string word; file >> word;) {
    if (word == "VmHWM:") file >> bytes.most;
    if (word == "VmRSS:") file >> bytes.now;
  }
  return {.now = bytes.now * 1024, .most = bytes.most * 1024};
}

struct Asked {
  RequestId trial;
  std::int64_t length = 0;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
/// In processor time.
double seconds_worked_since(std::clock_t begin) {
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

void save_and_restore(const Searcher& searcher, const config::ExperimentConfig& config) {
  auto begin = std::clock();
  const auto text = json::serialize(searcher.snapshot());
  const auto saved = seconds_worked_since(begin);
  begin = std::clock();
  const auto restored = Searcher::restore(config, *json::parse(text));
  std::printf("snapshot with %lld trials closed: %.1f MB in %.2f s of CPU, restored in %.2f s%s\n",
              static_cast<long long>(searcher.trials_closed()), static_cast<double>(text.size()) / 1e6, saved,
              seconds_worked_since(begin), restored ? "" : ": restoring it failed");
}

int play(std::int64_t trials, const std::string& kind, std::int64_t concurrent, std::int64_t snapshot_at) {
  const auto config = asha(trials, kind, concurrent);
  auto made = Searcher::make(config);
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().message().c_str());
    return 1;
  }
  auto searcher = *std::move(made);
  Random chance(7);
  std::vector<Asked> asked;
  std::vector<RequestId> created, closed;
  const auto take = [&](Operations operations) {
    for (auto& operation : operations) {
      if (auto* create = std::get_if<Create>(&operation)) created.push_back(std::move(create->request_id));
      if (auto* after = std::get_if<ValidateAfter>(&operation))
        asked.push_back({.trial = std::move(after->request_id), .length = after->length});
      if (auto* close = std::get_if<Close>(&operation)) closed.push_back(std::move(close->request_id));
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
  const auto before = resident().now;
  const auto begin = std::chrono::steady_clock::now();
  double paused = 0;
  auto work = std::clock();
  std::int64_t decisions = 0;
  std::size_t most = before;  // sampled between decisions: a single one may close most of the trials
  take(searcher.start());
  settle();
  while (!asked.empty()) {
    const auto at = static_cast<std::size_t>(chance.below(static_cast<std::int64_t>(asked.size())));
    std::swap(asked[at], asked.back());
    const auto next = std::move(asked.back());
    asked.pop_back();
    take(searcher.validation_completed(next.trial, chance.unit(), next.length));
    settle();
    if (++decisions % 4096 == 0) most = std::max(most, resident().now);
    if (decisions != snapshot_at) continue;
    const auto pause = std::chrono::steady_clock::now();
    const auto rest = std::clock();
    save_and_restore(searcher, config);
    paused = seconds_since(pause);
    work += std::clock() - rest;
  }
  const auto seconds = seconds_since(begin) - paused;
  const auto worked = seconds_worked_since(work);
  std::printf(
      "%-7s %8lld trials, %lld at once: %lld decisions in %.3f s (%.3f of CPU), %.0f per second of CPU; "
      "%.1f MB above the empty process, %.0f bytes per trial, peak %.1f MB; closed %lld\n",
      kind.c_str(), static_cast<long long>(trials), static_cast<long long>(concurrent),
      static_cast<long long>(decisions), seconds, worked, static_cast<double>(decisions) / worked,
      static_cast<double>(most - before) / 1e6,
      static_cast<double>(most - before) / static_cast<double>(trials),
      static_cast<double>(resident().most - before) / 1e6, static_cast<long long>(searcher.trials_closed()));
  save_and_restore(searcher, config);
  return searcher.trials_closed() == searcher.trials_requested() ? 0 : 1;
}

}  // namespace
}  // namespace det::search

int main(int count, char** words) {
  const auto trials = count > 1 ? std::atoll(words[1]) : 0;
  const std::string kind = count > 2 ? words[2] : "promote";
  const auto concurrent = count > 3 ? std::atoll(words[3]) : 64;
  const auto snapshot_at = count > 4 ? std::atoll(words[4]) : 0;
  if (trials < 1 || concurrent < 1 || (kind != "promote" && kind != "stop" && kind != "barrier")) {
    std::fprintf(stderr, "usage: %s TRIALS [promote|stop|barrier] [CONCURRENT] [SNAPSHOT_AT]\n", words[0]);
    return 2;
  }
  return det::search::play(trials, kind, concurrent, snapshot_at);
}
