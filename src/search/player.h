#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "det/search/searcher.h"
#include "det/search/testing.h"

/// Searches to play, and who plays them, for the tests of this module.
namespace det::search::testing {

/// Does what a search asks, first asked first.
struct Player {
  explicit Player(const config::ExperimentConfig& config) : searcher(*Searcher::make(config)) {
    take(searcher.start());
  }
  void take(const Operations& operations) {
    std::vector<RequestId> made;
    for (const auto& operation : operations) {
      if (const auto* create = std::get_if<Create>(&operation)) {
        if (creates.emplace(create->request_id, *create).second) hparams.push_back(create->hparams);
        made.push_back(create->request_id);
        numbers.emplace(create->request_id, numbers.size());
      } else if (const auto* after = std::get_if<ValidateAfter>(&operation)) {
        queue.push_back(*after);
      } else if (const auto* close = std::get_if<Close>(&operation)) {
        closing.insert(close->request_id);
      } else {
        ++shutdowns;
        last = std::get<Shutdown>(operation);
      }
    }
    for (const auto& id : made) take(searcher.trial_created(id));
  }
  bool step() {
    if (!queue.empty()) {
      const auto next = queue.front();
      queue.pop_front();
      reached[next.request_id] = next.length;
      most = std::max(most, queue.size() + 1);
      const auto number = static_cast<double>(numbers.at(next.request_id));
      take(searcher.validation_completed(next.request_id, number, next.length));
      return true;
    }
    if (closing.empty()) return false;
    const auto id = *closing.begin();
    closing.erase(closing.begin());
    take(searcher.trial_closed(id));
    return true;
  }
  void finish() {
    while (step()) continue;
  }
  Result<Operations> reconfigure(const config::ExperimentConfig& config) {
    auto operations = searcher.reconfigure(config);
    if (operations) take(*operations);
    return operations;
  }

  Searcher searcher;
  std::deque<ValidateAfter> queue;
  std::set<RequestId> closing;
  std::map<RequestId, Create> creates;
  std::map<RequestId, std::size_t> numbers;
  std::map<RequestId, std::int64_t> reached;
  std::vector<json::object> hparams;
  std::size_t most = 0;
  int shutdowns = 0;
  Shutdown last;
};

/// Searches of successive halving, of all kinds.
struct Halving {
  const char* searcher;
  json::object fields;
};
inline const std::vector<Halving>& halvings() {
  static const std::vector<Halving> all = {
      {"async_halving", {{"num_rungs", 3}, {"max_trials", 12}, {"max_concurrent_trials", 3}}},
      {"async_halving",
       {{"num_rungs", 3}, {"max_trials", 12}, {"max_concurrent_trials", 3}, {"stop_once", true}}},
      {"async_halving",
       {{"num_rungs", 3}, {"max_trials", 12}, {"max_concurrent_trials", 3}, {"deterministic", true}}},
      {"adaptive_asha",
       {{"max_trials", 20}, {"max_concurrent_trials", 4}, {"mode", "conservative"}, {"max_rungs", 3}}},
      {"sync_halving", {{"num_rungs", 3}, {"budget", 1000}}},
      {"adaptive", {{"budget", 1500}, {"mode", "standard"}, {"max_rungs", 3}}},
      {"adaptive_simple", {{"max_trials", 20}, {"mode", "standard"}, {"max_rungs", 3}}}};
  return all;
}
inline config::ExperimentConfig halving(const Halving& one, std::int64_t longest) {
  auto config = search_config(one.searcher);
  config.hyperparameters = documented_space();
  config.searcher.max_length.count = longest;
  config.searcher.fields = one.fields;
  config.searcher.fields["name"] = one.searcher;
  config.searcher.fields["divisor"] = 3;
  if (const auto* trials = one.fields.if_contains("max_trials"))
    config.searcher.max_trials = trials->as_int64();
  if (config.searcher.name == "adaptive_asha")  // as experiment::reconfigured says it
    config.searcher.fields["bracket_rungs"] = json::array{3, 2, 1};
  return config;
}

}  // namespace det::search::testing
