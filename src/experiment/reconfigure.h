#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "det/config/experiment_config.h"

namespace det::experiment {

/// What of a configuration can change after the submission; what is absent stays.
struct Reconfiguration {
  std::optional<std::int64_t> max_slots;  ///< of `resources`
  bool no_max_slots = false;              ///< takes the limit away
  std::optional<double> weight;
  std::optional<std::int64_t> priority;  ///< 1 to 99
  std::optional<std::string> resource_pool{}, agent_label{};
  /// Of `searcher`: how large the search is. Trials, length and rounds only grow; the length is in the
  /// searcher's unit.
  std::optional<std::int64_t> max_trials{}, max_length{}, max_concurrent_trials{}, num_rounds{};
  /// Of `checkpoint_storage`: how many checkpoints stay once the experiment is over.
  std::optional<std::int64_t> save_experiment_best, save_trial_best, save_trial_latest;

  bool of_resources() const {
    return max_slots || no_max_slots || weight || priority || resource_pool || agent_label;
  }
  bool of_search() const { return max_trials || max_length || max_concurrent_trials || num_rounds; }
  bool of_checkpoints() const { return save_experiment_best || save_trial_best || save_trial_latest; }
  friend bool operator==(const Reconfiguration&, const Reconfiguration&) = default;
};
BOOST_DESCRIBE_STRUCT(Reconfiguration, (),
                      (max_slots, no_max_slots, weight, priority, resource_pool, agent_label, max_trials,
                       max_length, max_concurrent_trials, num_rounds, save_experiment_best, save_trial_best,
                       save_trial_latest))

/// searcher.name of a resolved document.
std::string searcher_name(const json::object& document);

/// The resolved document with the changes in it. InvalidArgument where a rule of the configuration says no:
/// the same rules as at the submission.
Result<json::object> reconfigured(json::object document, const Reconfiguration& change);

}  // namespace det::experiment
