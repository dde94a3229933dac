#include "det/pytorch/loop/job.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "det/search/sampling/sampling.h"

namespace det::pytorch {

namespace {

using Variable = std::function<const char*(const char*)>;

Result<std::int64_t> number(const Variable& variable, const char* name,
                            std::optional<std::int64_t> otherwise = {}) {
  const char* text = variable(name);
  if (text == nullptr || *text == '\0') {
    if (otherwise) return *otherwise;
    return failed_precondition("the environment variable {} is not set; only an agent can start this process",
                               name);
  }
  const auto parsed = json::to_int64(json::value(text));
  if (!parsed)
    return failed_precondition("the environment variable {} is \"{}\"; it must be a whole number", name,
                               text);
  return *parsed;
}

Result<json::object> object(const Variable& variable, const char* name) {
  const char* text = variable(name);
  if (text == nullptr || *text == '\0')
    return failed_precondition("the environment variable {} is not set; only an agent can start this process",
                               name);
  auto parsed = json::parse(text);
  if (!parsed) return tl::unexpected(std::move(parsed).error().within(name));
  if (!parsed->is_object())
    return failed_precondition("the environment variable {} must be a JSON object", name);
  return std::move(parsed->get_object());
}

const json::object* section(const json::object& document, const char* name) {
  const auto* found = document.if_contains(name);
  return found != nullptr ? found->if_object() : nullptr;
}

/// What the agent gives this slot, else all processors.
int threads(const Variable& variable) {
  const char* text = variable("OMP_NUM_THREADS");
  if (text != nullptr) {
    int count = 0;
    std::from_chars(text, text + std::char_traits<char>::length(text), count);
    if (count > 0) return count;
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void take_config(Environment& environment, const json::object& document, const json::object& hparams) {
  environment.config = Settings::from_json(json::serialize(document), "setting", "experiment configuration");
  environment.hparams = Settings::from_json(json::serialize(hparams), "hyperparameter", "hyperparameters");
  const auto* data = section(document, "data");
  environment.data =
      Settings::from_json(data != nullptr ? json::serialize(*data) : "{}", "data setting", "data");
  const auto* optimizations = section(document, "optimizations");
  if (optimizations == nullptr) return;
  if (const auto* frequency = optimizations->if_contains("aggregation_frequency"))
    environment.aggregation_frequency = std::max<std::int64_t>(1, json::to_int64(*frequency).value_or(1));
  if (const auto* average = optimizations->if_contains("average_aggregated_gradients");
      average && average->is_bool())
    environment.average_aggregated_gradients = average->get_bool();
  const auto flag = [&](const char* name, bool otherwise) {
    const auto* found = optimizations->if_contains(name);
    return found != nullptr && found->is_bool() ? found->get_bool() : otherwise;
  };
  environment.gradient_compression = flag("gradient_compression", false);
  environment.average_training_metrics = flag("average_training_metrics", true);
}

Result<void> refuse_moved_hyperparameters(const json::object& hparams) {
  for (const char* name : {"aggregation_frequency", "gradient_compression", "grad_updates_size_file"})
    if (hparams.contains(name))
      return invalid_argument("hyperparameters.{} has no effect; set it under optimizations", name);
  return {};
}

}  // namespace

Result<void> set_batch_sizes(Environment& environment,
                             const std::function<void(const std::string&)>& notice) {
  const auto& hparams = environment.hparams;
  if (!hparams.contains("global_batch_size"))
    return invalid_argument(
        "hyperparameters.global_batch_size is missing; every trial needs it, so add it to the configuration");
  std::int64_t wanted = 0;
  try {
    wanted = hparams.get<std::int64_t>("global_batch_size");
  } catch (const UsageError& error) {
    return invalid_argument("{}", error.what());
  }
  const auto slots = environment.size;
  if (wanted < slots || wanted < 1)
    return invalid_argument(
        "hyperparameters.global_batch_size is {}; it must be at least the number of slots, {}", wanted,
        slots);
  if (hparams.contains("batch_size"))
    notice("hyperparameters.batch_size has no effect; set global_batch_size instead");
  environment.per_slot_batch_size = wanted / slots;
  environment.global_batch_size = environment.per_slot_batch_size * slots;
  if (environment.global_batch_size != wanted)
    notice(
        fmt::format("hyperparameters.global_batch_size is {}, which is not divisible by {} slots; using {}",
                    wanted, slots, environment.global_batch_size));
  return {};
}

Result<Job> job_from_environment(const Variable& variable,
                                 const std::function<void(const std::string&)>& notice) {
  Job job;
  DET_TRY(const auto document, object(variable, "DET_EXPERIMENT_CONFIG"));
  DET_TRY(const auto hparams, object(variable, "DET_HPARAMS"));
  DET_TRY(job.config, config::from_document(document));
  if (auto fine = refuse_moved_hyperparameters(hparams); !fine) return tl::unexpected(fine.error());
  auto& e = job.environment;
  take_config(e, document, hparams);
  DET_TRY(const auto seed, number(variable, "DET_TRIAL_SEED"));
  e.trial_seed = static_cast<std::uint64_t>(seed);
  DET_TRY(e.experiment_id, number(variable, "DET_EXPERIMENT_ID"));
  DET_TRY(e.trial_id, number(variable, "DET_TRIAL_ID"));
  DET_TRY(e.run, number(variable, "DET_TRIAL_RUN_ID", 1));
  DET_TRY(e.rank, number(variable, "DET_RANK", 0));
  DET_TRY(e.local_rank, number(variable, "DET_LOCAL_RANK", 0));
  DET_TRY(e.size, number(variable, "DET_SIZE", 1));
  DET_TRY(e.local_size, number(variable, "DET_LOCAL_SIZE", e.size));
  DET_TRY(e.cross_rank, number(variable, "DET_CROSS_RANK", 0));
  e.agents = e.local_size > 0 ? std::max<std::int64_t>(1, e.size / e.local_size) : 1;
  e.threads = threads(variable);
  if (const char* gpu = variable("DET_USE_GPU")) e.use_gpu = std::string_view(gpu) != "false";
  if (const char* uuid = variable("DET_LATEST_CHECKPOINT"); uuid != nullptr && *uuid != '\0')
    job.latest_checkpoint = uuid;
  if (const char* warm = variable("DET_WARM_START")) job.warm_start = std::string_view(warm) == "1";
  if (auto fine = set_batch_sizes(e, notice); !fine) return tl::unexpected(fine.error());
  return job;
}

Result<Job> job_from_config(const std::string& yaml, bool test_mode,
                            const std::function<void(const std::string&)>& notice) {
  config::Layers layers{.user_yaml = yaml};
  json::object storage;  // is required, and not used here
  storage["type"] = "shared_fs";
  storage["host_path"] = "/tmp";
  layers.master["checkpoint_storage"] = std::move(storage);
  const config::Circumstances circumstances{.pet_name = "local"};
  auto resolved = config::resolve(layers, circumstances);
  if (!resolved) return tl::unexpected(join_errors(resolved.error()));
  for (const auto& warning : resolved->warnings) notice(warning);
  Job job;
  job.config = std::move(resolved->config);
  const auto generation = job.config.generation;
  if (auto fine = search::check_samplable(job.config.hyperparameters, generation); !fine)
    return tl::unexpected(fine.error());
  Random random(job.config.experiment_seed);
  const auto hparams = search::sample(job.config.hyperparameters, generation, random);
  if (auto fine = refuse_moved_hyperparameters(hparams); !fine) return tl::unexpected(fine.error());
  auto& e = job.environment;
  take_config(e, job.config.document, hparams);
  e.trial_seed = job.config.experiment_seed;
  e.test_mode = test_mode;
  if (test_mode) job.config.scheduling_unit = 1;
  e.threads = threads([](const char* name) { return std::getenv(name); });
  if (auto fine = set_batch_sizes(e, notice); !fine) return tl::unexpected(fine.error());
  return job;
}

}  // namespace det::pytorch
