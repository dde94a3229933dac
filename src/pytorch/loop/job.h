#pragma once

#include <functional>
#include <optional>
#include <string>

#include "det/config/experiment_config.h"
#include "det/pytorch/environment.h"

namespace det::pytorch {

/// What one process of a trial is told to do.
struct Job {
  config::ExperimentConfig config;
  Environment environment;
  std::optional<std::string> latest_checkpoint;  ///< uuid
  bool warm_start = false;                       ///< Take the weights only.
};

/// The batch sizes that the slots get: equal shares, what does not divide is dropped with a notice.
Result<void> set_batch_sizes(Environment& environment, const std::function<void(const std::string&)>& notice);

/// Reads the DET_* variables that the agent sets (docs/reference/protocols.md §2).
Result<Job> job_from_environment(const std::function<const char*(const char*)>& variable,
                                 const std::function<void(const std::string&)>& notice);

/// A job without a platform: one slot, hyperparameters drawn from the ranges of the configuration by its
/// seed.
Result<Job> job_from_config(const std::string& yaml, bool test_mode,
                            const std::function<void(const std::string&)>& notice);

}  // namespace det::pytorch
