#include "det/experiment/reconfigure.h"

#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "det/search/halving/adaptive.h"

namespace det::experiment {
namespace {

Result<void> check(const Reconfiguration& change, const config::Resources& resources) {
  if (change.max_slots && change.no_max_slots)
    return invalid_argument("resources.max_slots is both set to {} and removed; give only one of them",
                            *change.max_slots);
  if (change.max_slots && *change.max_slots < resources.slots_per_trial)
    return invalid_argument(
        "resources.max_slots is {}; it must be at least slots_per_trial, which is {}. To stop all trials, "
        "pause "
        "the experiment",
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

/// Of the searchers whose size can change, what of it.
const std::map<std::string_view, std::set<std::string_view>>& changeable() {
  static const std::map<std::string_view, std::set<std::string_view>> table = {
      {"single", {"max_length"}},
      {"random", {"max_trials", "max_length", "max_concurrent_trials"}},
      {"tpe", {"max_trials", "max_length", "max_concurrent_trials"}},
      {"grid", {"max_length", "max_concurrent_trials"}},
      {"adaptive_asha", {"max_trials", "max_length", "max_concurrent_trials"}},
      {"async_halving", {"max_trials", "max_length", "max_concurrent_trials"}},
      {"pbt", {"num_rounds"}},
      {"sync_halving", {"max_length"}},
      {"adaptive", {"max_length"}},
      {"adaptive_simple", {"max_length"}}};
  return table;
}

Result<void> check_field(std::string_view field, std::int64_t value, std::int64_t now, bool grows,
                         const std::string& searcher) {
  const auto fields = changeable().find(searcher);
  if (fields == changeable().end())
    return failed_precondition(
        "searcher.{} cannot be changed: the size of the searcher {} is fixed when it is submitted", field,
        searcher);
  if (!fields->second.contains(field))
    return failed_precondition("searcher.{} of the searcher {} cannot be changed; these fields can: {}",
                               field, searcher, fmt::join(fields->second, ", "));
  if (grows && value < now)
    return invalid_argument("searcher.{} is {}; it must be at least the current value, {}", field, value,
                            now);
  if (value < 0) return invalid_argument("searcher.{} is {}; it must be 0 or more", field, value);
  return {};
}

Result<void> check_search(const Reconfiguration& change, const config::ExperimentConfig& config) {
  const auto& searcher = config.searcher;
  struct Field {
    const char* name;
    const std::optional<std::int64_t>& value;
    std::int64_t now;
    bool grows;
  };
  const auto* rounds = searcher.fields.if_contains("num_rounds");
  for (const auto& field : {Field{"num_rounds", change.num_rounds,
                                  rounds == nullptr ? 0 : json::to_int64(*rounds).value_or(0), true},
                            Field{"max_trials", change.max_trials, searcher.max_trials, true},
                            Field{"max_length", change.max_length, searcher.max_length.count, true},
                            Field{"max_concurrent_trials", change.max_concurrent_trials,
                                  searcher.max_concurrent_trials, false}}) {
    if (!field.value) continue;
    if (auto fine = check_field(field.name, *field.value, field.now, field.grows, searcher.name); !fine)
      return fine;
  }
  if (change.max_length && config.generation == config::Generation::Steps)
    return failed_precondition(
        "searcher.max_length cannot be changed, because the configuration uses max_steps");
  if (change.max_length && searcher.max_length.count == 0)
    return failed_precondition(
        "searcher.max_length cannot be changed, because the script of the trial decides how long it trains");
  return {};
}

/// The section's lengths stay in the form in which they were written: 100, or {"batches": 100}.
void set_length(json::value& length, std::int64_t count) {
  if (auto* object = length.if_object(); object != nullptr && object->size() == 1)
    object->begin()->value() = count;
  else
    length = count;
}

json::object& section(json::object& document, std::string_view name) {
  auto& value = document[name];
  if (!value.is_object()) value = json::object();
  return value.get_object();
}

}  // namespace

std::string searcher_name(const json::object& document) {
  const auto config = config::from_document(document);
  return config ? config->searcher.name : "";
}

Result<json::object> reconfigured(json::object document, const Reconfiguration& change) {
  DET_TRY(const auto config, config::from_document(document));
  if (auto fine = check(change, config.resources); !fine) return tl::unexpected(std::move(fine).error());
  if (auto fine = check_search(change, config); !fine) return tl::unexpected(std::move(fine).error());
  if (change.of_search()) {
    auto& searcher = section(document, "searcher");
    if (change.max_concurrent_trials) searcher["max_concurrent_trials"] = *change.max_concurrent_trials;
    if (change.max_length && config.generation == config::Generation::Time)
      searcher["max_time"] = *change.max_length;
    else if (change.max_length)
      set_length(searcher["max_length"], *change.max_length);
    if (change.max_trials) searcher["max_trials"] = *change.max_trials;
    if (change.num_rounds) searcher["num_rounds"] = *change.num_rounds;
    // More trials and longer ones would make other brackets; those that are there stay.
    if (config.searcher.name == "adaptive_asha" && (change.max_trials || change.max_length)) {
      DET_TRY(const auto brackets, search::adaptive_asha_brackets(config));
      searcher["bracket_rungs"] = json::array(brackets.begin(), brackets.end());
    }
  }
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
