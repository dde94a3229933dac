#include <cmath>

#include "det/config/defaults.h"
#include "det/config/experiment_config.h"
#include "det/config/values/memory_size.h"

namespace det::config {

namespace {

/// Reads fields of a section that the schema has checked; remembers the first
/// that is not as it should be, which only a document of other origin has.
class Reader {
 public:
  Reader(const json::object& object, std::string path, std::optional<Error>& error)
      : object_(object), path_(std::move(path)), error_(error) {}

  const json::value* find(std::string_view name) const {
    const auto* found = object_.if_contains(name);
    return found != nullptr && !found->is_null() ? found : nullptr;
  }

  template <class T>
  void read(std::string_view name, T& out) const {
    const auto* found = find(name);
    if (found == nullptr || error_) return;
    error_ = json::read(*found, out, path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name));
  }
  template <class T>
  void require(std::string_view name, T& out) const {
    if (find(name) == nullptr && !error_)
      error_ = Error(ErrorCode::InvalidArgument, fmt::format("{}: {} is a required property", path_, name));
    read(name, out);
  }

  Reader section(std::string_view name) const {
    static const json::object kEmpty;
    const auto* found = find(name);
    return Reader(found != nullptr && found->is_object() ? found->get_object() : kEmpty,
                  path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name), error_);
  }

  void fail(std::string_view name, std::string_view rule) const {
    if (!error_) error_ = Error(ErrorCode::InvalidArgument, fmt::format("{}.{}: {}", path_, name, rule));
  }

  const json::object& object() const { return object_; }
  const std::string& path() const { return path_; }
  std::optional<Error>& error() const { return error_; }

 private:
  const json::object& object_;
  std::string path_;
  std::optional<Error>& error_;
};

Length read_length(const Reader& reader, std::string_view name, std::int64_t scheduling_unit,
                   bool is_period) {
  const auto* found = reader.find(name);
  if (found == nullptr) return {};
  if (found->is_number()) {
    Length length{is_period ? Unit::Batches : Unit::Unitless, 0};
    reader.read(name, length.count);
    if (is_period) length.count *= scheduling_unit;
    return length;
  }
  const auto section = reader.section(name);
  Length length;
  if (section.find("records") != nullptr)
    length.unit = Unit::Records;
  else if (section.find("epochs") != nullptr)
    length.unit = Unit::Epochs;
  section.read(length.unit == Unit::Records  ? "records"
               : length.unit == Unit::Epochs ? "epochs"
                                             : "batches",
               length.count);
  return length;
}

Hyperparameter read_hyperparameter(const json::value& value, const std::string& path,
                                   std::optional<Error>& error);

Hyperparameters read_hyperparameters(const json::object& object, const std::string& path,
                                     std::optional<Error>& error) {
  Hyperparameters hyperparameters;
  for (const auto& [name, value] : object)
    hyperparameters.emplace(
        std::string(name),
        read_hyperparameter(value, fmt::format("{}.{}", path, std::string_view(name)), error));
  return hyperparameters;
}

template <class Range>
Range read_range(const Reader& reader) {
  Range range;
  reader.require("minval", range.minval);
  reader.require("maxval", range.maxval);
  reader.read("count", range.count);
  return range;
}

Hyperparameter read_hyperparameter(const json::value& value, const std::string& path,
                                   std::optional<Error>& error) {
  const auto* object = value.if_object();
  if (object == nullptr) return {Constant{value}};
  const Reader reader(*object, path, error);
  const auto* tag = reader.find("type");
  if (tag == nullptr || tag->is_object()) return {Nested{read_hyperparameters(*object, path, error)}};
  std::string type;
  reader.read("type", type);
  if (type == "int") return {read_range<Integer>(reader)};
  if (type == "double") return {read_range<Double>(reader)};
  if (type == "log") {
    auto range = read_range<Log>(reader);
    reader.read("base", range.base);
    return {range};
  }
  if (type == "categorical") {
    Categorical categorical;
    reader.require("vals", categorical.values);
    return {std::move(categorical)};
  }
  if (type != "const") reader.fail("type", "is not a hyperparameter type");
  const auto* constant = object->if_contains("val");
  return {Constant{constant != nullptr ? *constant : json::value(nullptr)}};
}

Searcher read_searcher(const Reader& reader, Generation generation, std::int64_t scheduling_unit) {
  Searcher searcher;
  searcher.fields = reader.object();
  reader.require("name", searcher.name);
  reader.require("metric", searcher.metric);
  reader.read("smaller_is_better", searcher.smaller_is_better);
  reader.read("source_trial_id", searcher.source_trial_id);
  reader.read("source_checkpoint_uuid", searcher.source_checkpoint_uuid);
  reader.read("max_trials", searcher.max_trials);
  reader.read("max_concurrent_trials", searcher.max_concurrent_trials);
  if (generation == Generation::Time) {
    const auto& metric = searcher.time_metric;
    reader.read("time_metric", searcher.time_metric);
    searcher.max_length.unit = metric == "epochs"    ? Unit::Epochs
                               : metric == "records" ? Unit::Records
                                                     : Unit::Unitless;
    reader.read("max_time", searcher.max_length.count);
  } else if (searcher.name == "custom") {
    std::optional<std::string> unit;
    reader.read("unit", unit);
    if (unit == "records") searcher.max_length.unit = Unit::Records;
    if (unit == "epochs") searcher.max_length.unit = Unit::Epochs;
  } else {
    // What a population trains in a round has the searcher's unit.
    const auto* length = searcher.name == "pbt" ? "length_per_round" : "max_length";
    searcher.max_length = read_length(reader, length, scheduling_unit, false);
  }
  // The name under which releases up to 0.12.9 had synchronous halving.
  if (searcher.name == "async_halving" &&
      (reader.find("step_budget") != nullptr || reader.find("budget") != nullptr))
    searcher.name = "sync_halving";
  return searcher;
}

Resources read_resources(const Reader& reader) {
  Resources resources;
  if (const auto* slots = reader.find("slots_per_trial"); slots != nullptr && slots->is_object()) {
    const auto section = reader.section("slots_per_trial");
    SlotRange range;
    std::string batch = "global";
    section.require("min", range.min);
    section.require("max", range.max);
    section.read("batch", batch);
    section.read("resize_after", range.resize_after_seconds);
    range.keeps_global_batch = batch != "per_slot";
    resources.slots_per_trial = range.min;
    resources.slots_range = range;
  } else {
    reader.read("slots_per_trial", resources.slots_per_trial);
  }
  reader.read("max_slots", resources.max_slots);
  reader.read("weight", resources.weight);
  reader.read("priority", resources.priority);
  reader.read("resource_pool", resources.resource_pool);
  reader.read("agent_label", resources.agent_label);
  if (const auto* wanted = reader.find("agent_attributes"); wanted != nullptr && wanted->is_object())
    for (const auto& [name, value] : wanted->get_object())
      if (value.is_string()) resources.agent_attributes.emplace(name, value.get_string());
  reader.read("is_single_node", resources.single_node);
  if (const auto* shm = reader.find("shm_size"); shm != nullptr && shm->is_string()) {
    const auto bytes = memory_size(shm->get_string());
    if (bytes)
      resources.shm_size_bytes = *bytes;
    else
      reader.fail("shm_size", "must be a valid memory size");
  } else {
    reader.read("shm_size", resources.shm_size_bytes);
  }
  return resources;
}

CheckpointStorage read_storage(const Reader& reader) {
  CheckpointStorage storage;
  storage.fields = reader.object();
  reader.require("type", storage.type);
  reader.read("host_path", storage.host_path);
  reader.read("checkpoint_path", storage.storage_path);
  reader.read("storage_path", storage.storage_path);
  reader.read("container_path", storage.container_path);
  reader.read("save_experiment_best", storage.save_experiment_best);
  reader.read("save_trial_best", storage.save_trial_best);
  reader.read("save_trial_latest", storage.save_trial_latest);
  return storage;
}

// The words of an argument list as a shell would need them to get the same list.
std::string shell_command(const json::array& words) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  std::string command;
  for (const auto& word : words) {
    if (!command.empty()) command += ' ';
    const std::string_view text = word.is_string() ? std::string_view(word.get_string()) : std::string_view{};
    if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
      command += text;
      continue;
    }
    command += '\'';
    for (const char c : text) command += c == '\'' ? std::string("'\\''") : std::string(1, c);
    command += '\'';
  }
  return command;
}

}  // namespace

Result<ExperimentConfig> from_document(const json::object& document) {
  std::optional<Error> error;
  const Reader reader(document, "", error);
  ExperimentConfig config;
  config.document = document;
  config.generation = generation_of(document);
  reader.read("scheduling_unit", config.scheduling_unit);
  reader.read("name", config.name);
  reader.read("description", config.description);
  reader.read("labels", config.labels);
  if (const auto* entrypoint = reader.find("entrypoint"); entrypoint != nullptr && entrypoint->is_array())
    config.entrypoint = shell_command(entrypoint->get_array());
  else
    reader.read("entrypoint", config.entrypoint);
  config.hyperparameters =
      read_hyperparameters(reader.section("hyperparameters").object(), "hyperparameters", error);
  config.searcher = read_searcher(reader.section("searcher"), config.generation, config.scheduling_unit);
  config.resources = read_resources(reader.section("resources"));
  config.checkpoint_storage = read_storage(reader.section("checkpoint_storage"));
  std::string policy = "best";
  reader.read("checkpoint_policy", policy);
  config.checkpoint_policy = policy == "all"    ? CheckpointPolicy::All
                             : policy == "none" ? CheckpointPolicy::None
                                                : CheckpointPolicy::Best;
  config.min_validation_period = read_length(reader, "min_validation_period", config.scheduling_unit, true);
  config.min_checkpoint_period = read_length(reader, "min_checkpoint_period", config.scheduling_unit, true);
  reader.read("perform_initial_validation", config.perform_initial_validation);
  reader.read("records_per_epoch", config.records_per_epoch);
  reader.read("max_restarts", config.max_restarts);
  reader.section("reproducibility").read("experiment_seed", config.experiment_seed);
  reader.read("preemption_timeout", config.preemption_timeout_seconds);
  reader.read("reuse", config.reuse);
  reader.read("workspace", config.workspace);
  reader.read("project", config.project);
  if (error) return tl::unexpected(*std::move(error));
  return config;
}

std::vector<int> slot_counts(const Resources& resources, std::int64_t global_batch_size) {
  std::vector<int> counts;
  if (!resources.slots_range) return counts;
  const auto& range = *resources.slots_range;
  for (auto slots = range.min; slots <= range.max; ++slots)
    if (!range.keeps_global_batch || global_batch_size % slots == 0)
      counts.push_back(static_cast<int>(slots));
  if (counts.empty()) counts.push_back(static_cast<int>(range.min));  // with fewer records, as is always done
  return counts;
}

std::int64_t batch_size_on(const SlotRange& range, std::int64_t global_batch_size, std::int64_t slots) {
  return range.keeps_global_batch ? global_batch_size : global_batch_size / range.max * slots;
}

std::optional<std::int64_t> fewest_slots(const json::value* slots_per_trial) {
  if (slots_per_trial == nullptr) return std::nullopt;
  if (!slots_per_trial->is_object()) return json::to_int64(*slots_per_trial);
  const auto* fewest = slots_per_trial->get_object().if_contains("min");
  return fewest == nullptr ? std::nullopt : json::to_int64(*fewest);
}

std::int64_t to_batches(const Length& length, std::int64_t global_batch_size,
                        std::int64_t records_per_epoch) {
  if (length.unit == Unit::Batches || length.unit == Unit::Unitless) return length.count;
  DET_ASSERT(global_batch_size > 0);
  if (length.unit == Unit::Records) return length.count / global_batch_size;
  // Many epochs of a large data set have more records than 64 bits can count.
  __extension__ using Wide = __int128;
  const auto batches = static_cast<Wide>(length.count) * records_per_epoch / global_batch_size;
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  return batches > kMax ? kMax : static_cast<std::int64_t>(batches);
}

}  // namespace det::config
