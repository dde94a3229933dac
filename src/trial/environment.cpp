#include <string>

#include "det/trial/client.h"

namespace det::trial {

namespace {

using Variable = std::function<const char*(const char*)>;

Result<std::string> text(const Variable& variable, const char* name) {
  const char* value = variable(name);
  if (value == nullptr || *value == '\0')
    return failed_precondition("the environment variable {} is not set; only an agent can start this process",
                               name);
  return std::string(value);
}

Result<std::int64_t> number(const Variable& variable, const char* name) {
  DET_TRY(const auto value, text(variable, name));
  const auto parsed = json::to_int64(json::value(value));
  if (!parsed || *parsed < 1)
    return failed_precondition("{} is \"{}\"; it must be a number of at least 1", name, value);
  return *parsed;
}

/// An integer in a JSON object of the environment, 0 where there is none.
std::int64_t member(const Variable& variable, const char* name, const char* key) {
  const char* value = variable(name);
  if (value == nullptr) return 0;
  const auto parsed = json::parse(value);
  if (!parsed || !parsed->is_object()) return 0;
  const auto* found = parsed->get_object().if_contains(key);
  return found == nullptr ? 0 : json::to_int64(*found).value_or(0);
}

}  // namespace

Result<ClientOptions> options_from_environment(const Variable& variable) {
  ClientOptions options;
  DET_TRY(const auto master, text(variable, "DET_MASTER"));
  const char* all = variable("DET_MASTERS");
  DET_TRY(options.all_masters, http::parse_urls(master, all == nullptr ? "" : all).map_error([](Error error) {
    return std::move(error).within("DET_MASTER");
  }));
  options.master = options.all_masters.front();
  DET_TRY(options.token, text(variable, "DET_SESSION_TOKEN"));
  DET_TRY(const auto experiment, number(variable, "DET_EXPERIMENT_ID"));
  DET_TRY(const auto trial, number(variable, "DET_TRIAL_ID"));
  DET_TRY(options.run, number(variable, "DET_TRIAL_RUN_ID"));
  DET_TRY(options.task_id, text(variable, "DET_TASK_ID"));
  DET_TRY(options.allocation_id, text(variable, "DET_ALLOCATION_ID"));
  options.experiment = ExperimentId{experiment};
  options.trial = TrialId{trial};
  options.global_batch_size = member(variable, "DET_HPARAMS", "global_batch_size");
  options.records_per_epoch = member(variable, "DET_EXPERIMENT_CONFIG", "records_per_epoch");
  return options;
}

}  // namespace det::trial
