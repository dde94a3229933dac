#pragma once

#include "det/search/search_method.h"

namespace det::search {

/// The methods of successive halving, as the configuration names them (searchers.md §6–§10).
Result<std::unique_ptr<SearchMethod>> make_sync_halving(const config::ExperimentConfig& config);
Result<std::unique_ptr<SearchMethod>> make_adaptive(const config::ExperimentConfig& config);
Result<std::unique_ptr<SearchMethod>> make_adaptive_simple(const config::ExperimentConfig& config);
Result<std::unique_ptr<SearchMethod>> make_async_halving(const config::ExperimentConfig& config);
/// The numbers of rungs of the brackets that adaptive_asha makes of this configuration.
Result<std::vector<int>> adaptive_asha_brackets(const config::ExperimentConfig& config);
Result<std::unique_ptr<SearchMethod>> make_adaptive_asha(const config::ExperimentConfig& config);

}  // namespace det::search
