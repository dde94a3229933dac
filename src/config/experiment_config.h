#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "det/base/json.h"
#include "det/base/time.h"
#include "det/config/values/hyperparameter.h"

namespace det::config {

/// Which generation a configuration is written in; decides the semantics of its
/// searcher and of the upper end of integer hyperparameters.
enum class Generation { Steps, Length, Time };  ///< max_steps; max_length; max_time

enum class Unit { Batches, Records, Epochs, Unitless };
BOOST_DESCRIBE_ENUM(Unit, Batches, Records, Epochs, Unitless)

struct Length {
  Unit unit = Unit::Batches;
  std::int64_t count = 0;
  friend bool operator==(const Length&, const Length&) = default;
};
BOOST_DESCRIBE_STRUCT(Length, (), (unit, count))

enum class CheckpointPolicy { Best, All, None };

struct Searcher {
  std::string name;  ///< single, random, grid, adaptive_asha, …
  std::string metric;
  bool smaller_is_better = true;
  std::optional<std::int64_t> source_trial_id;
  std::optional<std::string> source_checkpoint_uuid;
  /// Gen1 `max_steps: n` is {Batches, n * scheduling_unit}: the shim of experiment-config.md §16.
  Length max_length;
  std::string
      time_metric;  ///< with `max_time`: the metric that it counts; batches, records, epochs or another
  std::int64_t max_trials = 1;
  std::int64_t max_concurrent_trials = 0;  ///< 0: no limit.
  json::object fields;                     ///< The whole section, defaulted, for the other methods.
};

/// Whether a search method outside the master decides: it answers the events of the search.
inline bool decided_outside(std::string_view searcher) {
  return searcher == "custom" || searcher == "optuna";
}

/// A trial that runs on any number of slots from `min` to `max`, and on more or fewer when it starts again.
struct SlotRange {
  std::int64_t min = 1, max = 1;
  /// What stays when the number of slots changes: the global batch size, or the batch size of a slot. Then
  /// global_batch_size is that of `max` slots.
  bool keeps_global_batch = true;
  std::int64_t resize_after_seconds = 60;  ///< a run keeps its slots at least so long
  friend bool operator==(const SlotRange&, const SlotRange&) = default;
};

struct Resources {
  std::int64_t slots_per_trial = 1;      ///< the fewest, where there is a range
  std::optional<SlotRange> slots_range;  ///< of `slots_per_trial: {min: 2, max: 8}`
  std::optional<std::int64_t> max_slots;
  double weight = 1;
  std::optional<int> priority;
  std::string resource_pool;
  std::string agent_label;                              ///< agents with this label only
  std::map<std::string, std::string> agent_attributes;  ///< agents with all of these only
  bool single_node = false;
  std::int64_t shm_size_bytes = 4294967296;
};

/// `shared_fs`, `directory`, `s3`, …; the fields of the type are in `fields`.
struct CheckpointStorage {
  std::string type;
  std::string host_path;       ///< shared_fs
  std::string storage_path;    ///< shared_fs: relative to host_path or inside it; may be empty
  std::string container_path;  ///< directory
  std::int64_t save_experiment_best = 0;
  std::int64_t save_trial_best = 1;
  std::int64_t save_trial_latest = 1;
  json::object fields;
};

/// What the platform reads of an experiment's configuration, typed. Everything
/// else (data, environment, optimizations, …) stays in `document`.
struct ExperimentConfig {
  Generation generation = Generation::Length;
  std::string name;
  std::string description;
  std::vector<std::string> labels;
  std::string entrypoint;  ///< "model_def:MNistTrial", or a shell command; empty if absent
  Hyperparameters hyperparameters;
  Searcher searcher;
  Resources resources;
  CheckpointStorage checkpoint_storage;
  CheckpointPolicy checkpoint_policy = CheckpointPolicy::Best;
  Length min_validation_period;  ///< count 0: off
  Length min_checkpoint_period;  ///< count 0: off
  bool perform_initial_validation = false;
  std::int64_t records_per_epoch = 0;
  std::int64_t scheduling_unit = 100;
  std::int64_t max_restarts = 5;
  std::uint32_t experiment_seed = 0;
  std::optional<std::int64_t> preemption_timeout_seconds;
  bool reuse = false;  ///< A process may run several trials, one after the other.
  std::string workspace;
  std::string project;
  /// The complete, defaulted document as the API returns it and as the trial receives it:
  /// constants among hyperparameters as {"type":"const","val":x}, secrets in clear.
  json::object document;
};

/// What lies under the user's document, lowest precedence first (experiment-config.md §13).
struct Layers {
  json::object master;                       ///< the master's own defaults, e.g. checkpoint_storage
  std::optional<std::string> template_yaml;  ///< `--template`
  std::string user_yaml;
};

/// Facts of the world that resolving needs, since it reads no clock and draws no names itself.
struct Circumstances {
  Time now;              ///< seeds the experiment when no seed is given
  std::string pet_name;  ///< for "Experiment (calm-grey-heron)" when no name is given
  std::optional<std::set<std::string>> resource_pools;  ///< unknown pools are refused when given
};

struct Resolved {
  ExperimentConfig config;
  std::vector<std::string> warnings;
};

/// The numbers of slots that a trial may run on, ascending; empty: `slots_per_trial` only. Where the global
/// batch size stays, those that divide it; `global_batch_size` 0: the trial has none.
std::vector<int> slot_counts(const Resources& resources, std::int64_t global_batch_size);
/// What `slots` slots train on together, where `global_batch_size` is what the hyperparameters say.
std::int64_t batch_size_on(const SlotRange& range, std::int64_t global_batch_size, std::int64_t slots);
/// The fewest slots that a value of `slots_per_trial` asks for; nullopt: it is no such value.
std::optional<std::int64_t> fewest_slots(const json::value* slots_per_trial);

/// Parses, checks, merges and defaults. On failure returns every problem, each
/// with the path and, where the document has it, the line:
/// "<config>.searcher.max_trials (line 7): 0 is not at least 1".
tl::expected<Resolved, std::vector<Error>> resolve(const Layers& layers, const Circumstances& circumstances);

/// Reads a document that `resolve` made (from the store) back into its typed form.
Result<ExperimentConfig> from_document(const json::object& document);

/// The JSON Schema (2020-12) of what a user may write, as the master serves it.
const json::object& experiment_schema();

/// The document with secrets (access keys, connection strings, data.secrets) replaced by "********".
json::object masked(const json::object& document);

/// `length` in batches: records and epochs are divided by the global batch size, rounded down (§15).
std::int64_t to_batches(const Length& length, std::int64_t global_batch_size, std::int64_t records_per_epoch);

}  // namespace det::config
