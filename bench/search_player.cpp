// Plays a search against metrics from outside, one validation after the other; regret.py drives it.
//
//     search_player < YAML, a line "---", then a metric for each line that it prints
//
// It prints {"trial", "hparams", "length"} for each validation that the search requests, and reads its
// metric.

#include <deque>
#include <iostream>
#include <map>
#include <string>

#include "det/search/searcher.h"

namespace det::search {
namespace {

int play() {
  config::Layers layers;
  layers.master["checkpoint_storage"] = {{"type", "shared_fs"}, {"host_path", "/checkpoints"}};
  for (std::string line; std::getline(std::cin, line) && line != "---";) layers.user_yaml += line + "\n";
  const auto resolved =
      config::resolve(layers, {.now = {}, .pet_name = "regret", .resource_pools = std::nullopt});
  if (!resolved) {
    std::cerr << join_errors(resolved.error()).message() << "\n";
    return 2;
  }
  auto searcher = Searcher::make(resolved->config);
  if (!searcher) {
    std::cerr << searcher.error().message() << "\n";
    return 2;
  }
  std::map<RequestId, json::object> hparams;
  std::deque<ValidateAfter> asked;
  std::deque<RequestId> created, closed;
  const auto take = [&](Operations operations) {
    for (auto& operation : operations) {
      if (auto* create = std::get_if<Create>(&operation)) {
        created.push_back(create->request_id);
        hparams.emplace(create->request_id, std::move(create->hparams));
      }
      if (auto* after = std::get_if<ValidateAfter>(&operation)) asked.push_back(std::move(*after));
      if (auto* close = std::get_if<Close>(&operation)) closed.push_back(close->request_id);
    }
  };
  take(searcher->start());
  while (true) {
    if (!created.empty()) {
      const auto trial = created.front();
      created.pop_front();
      take(searcher->trial_created(trial));
    } else if (!asked.empty()) {
      const auto next = asked.front();
      asked.pop_front();
      std::cout << json::serialize(json::object{{"trial", next.request_id},
                                                {"hparams", hparams[next.request_id]},
                                                {"length", next.length}})
                << std::endl;
      double metric = 0;
      if (!(std::cin >> metric)) return 1;
      take(searcher->validation_completed(next.request_id, metric, next.length));
    } else if (!closed.empty()) {
      const auto trial = closed.front();
      closed.pop_front();
      take(searcher->trial_closed(trial));
    } else {
      return 0;
    }
  }
}

}  // namespace
}  // namespace det::search

int main() {
  return det::search::play();
}
