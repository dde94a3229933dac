#pragma once

#include <string>

#include "det/config/experiment_config.h"

/// Configurations for the tests of this module.
namespace det::search::testing {

inline config::ExperimentConfig search_config(std::string name, std::int64_t max_trials = 1,
                                              std::int64_t concurrent = 0) {
  config::ExperimentConfig config;
  config.searcher.name = std::move(name);
  config.searcher.metric = "loss";
  config.searcher.max_length = {.unit = config::Unit::Batches, .count = 100};
  config.searcher.max_trials = max_trials;
  config.searcher.max_concurrent_trials = concurrent;
  return config;
}

/// The space of the documented vectors (searchers.md §17).
inline config::Hyperparameters documented_space() {
  return {{"act", {config::Categorical{{"relu", "tanh", "gelu"}}}},
          {"dropout", {config::Double{0.2, 0.8, {}}}},
          {"k", {config::Constant{64}}},
          {"learning_rate", {config::Log{10, -4, -2, {}}}},
          {"n", {config::Integer{1, 10, {}}}}};
}

/// a in {0, 1, 2} and b in {x, y}: six points.
inline config::Hyperparameters small_grid() {
  return {{"a", {config::Integer{0, 2, 3}}}, {"b", {config::Categorical{{"x", "y"}}}}};
}

template <typename T>
std::vector<T> all_of(const auto& operations) {
  std::vector<T> found;
  for (const auto& operation : operations)
    if (const auto* one = std::get_if<T>(&operation)) found.push_back(*one);
  return found;
}

}  // namespace det::search::testing
