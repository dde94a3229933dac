#include "det/experiment/reconfigure.h"

#include <cmath>
#include <utility>

namespace det::experiment {
namespace {

Result<void> check(const Reconfiguration& change, const config::Resources& resources) {
  if (change.max_slots && change.no_max_slots)
    return invalid_argument("resources.max_slots is {} and taken away at once; give one of the two",
                            *change.max_slots);
  if (change.max_slots && *change.max_slots < resources.slots_per_trial)
    return invalid_argument(
        "resources.max_slots is {}; it must be at least slots_per_trial, which is {}: no trial could ever "
        "run. "
        "Pause the experiment instead",
        *change.max_slots, resources.slots_per_trial);
  if (change.weight && !(std::isfinite(*change.weight) && *change.weight > 0))
    return invalid_argument("resources.weight is {}; it must be a number greater than 0", *change.weight);
  if (change.priority && (*change.priority < 1 || *change.priority > 99))
    return invalid_argument("resources.priority is {}; it must be from 1 to 99", *change.priority);
  for (const auto& [name, value] : {std::pair{"save_experiment_best", change.save_experiment_best},
                                    std::pair{"save_trial_best", change.save_trial_best},
                                    std::pair{"save_trial_latest", change.save_trial_latest}})
    if (value && *value < 0)
      return invalid_argument("checkpoint_storage.{} is {}; it must be 0 or more", name, *value);
  return {};
}

json::object& section(json::object& document, std::string_view name) {
  auto& value = document[name];
  if (!value.is_object()) value = json::object();
  return value.get_object();
}

}  // namespace

Result<json::object> reconfigured(json::object document, const Reconfiguration& change) {
  DET_TRY(const auto config, config::from_document(document));
  if (auto fine = check(change, config.resources); !fine) return tl::unexpected(std::move(fine).error());
  if (change.of_resources()) {
    auto& resources = section(document, "resources");
    if (change.max_slots) resources["max_slots"] = *change.max_slots;
    if (change.no_max_slots) resources["max_slots"] = nullptr;
    if (change.weight) resources["weight"] = *change.weight;
    if (change.priority) resources["priority"] = *change.priority;
    if (change.resource_pool) resources["resource_pool"] = *change.resource_pool;
    if (change.agent_label) resources["agent_label"] = *change.agent_label;
  }
  if (change.of_checkpoints()) {
    auto& storage = section(document, "checkpoint_storage");
    if (change.save_experiment_best) storage["save_experiment_best"] = *change.save_experiment_best;
    if (change.save_trial_best) storage["save_trial_best"] = *change.save_trial_best;
    if (change.save_trial_latest) storage["save_trial_latest"] = *change.save_trial_latest;
  }
  return document;
}

}  // namespace det::experiment
