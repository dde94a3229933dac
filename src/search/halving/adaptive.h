#pragma once

#include "det/search/search_method.h"

namespace det::search {

/// The methods of successive halving, as the configuration names them (searchers.md §6–§10).
Result<std::unique_ptr<SearchMethod>> make_sync_halving(const config::ExperimentConfig& config);
Result<std::unique_ptr<SearchMethod>> make_adaptive(const config::ExperimentConfig& config);
Result<std::unique_ptr<SearchMethod>> make_adaptive_simple(const config::ExperimentConfig& config);
Result<std::unique_ptr<SearchMethod>> make_async_halving(const config::ExperimentConfig& config);
/// Of asynchronous halving: how far the trials of a bracket train, rung by rung, and how many there are.
struct AsyncBracket {
  std::vector<std::int64_t> lengths;
  std::int64_t trials = 0;
  std::int64_t concurrent_max = 0;  ///< 0: no limit
};
/// What async_halving (one bracket) and adaptive_asha make of this configuration.
Result<std::vector<AsyncBracket>> async_brackets(const config::ExperimentConfig& config);
/// The numbers of rungs of the brackets that adaptive_asha makes of this configuration.
Result<std::vector<int>> adaptive_asha_brackets(const config::ExperimentConfig& config);
Result<std::unique_ptr<SearchMethod>> make_adaptive_asha(const config::ExperimentConfig& config);

}  // namespace det::search
