#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "det/base/id.h"
#include "det/base/json.h"
#include "det/base/json_forms.h"
#include "det/base/time.h"
#include "det/config/agent_user_group.h"

/// The objects of the public API, as existing clients of `/api/v1` read them.
///
/// On the wire the members are spelled in lowerCamelCase, 64-bit integers are strings,
/// ids are numbers and times are RFC 3339 (http/wire/wire.h).
namespace det::api {

struct Empty {};
BOOST_DESCRIBE_STRUCT(Empty, (), ())

struct Pagination {
  std::int32_t offset = 0, limit = 0, start_index = 0, end_index = 0, total = 0;
};
BOOST_DESCRIBE_STRUCT(Pagination, (), (offset, limit, start_index, end_index, total))

/// The commit that the submitted directory is at. What is not known is left out.
struct Git {
  std::optional<std::string> commit, remote, branch, committer, commit_date;
  std::optional<bool> dirty;  ///< whether files differ from the commit
  static constexpr bool kSnakeCase = true;
};
BOOST_DESCRIBE_STRUCT(Git, (), (commit, remote, branch, committer, commit_date, dirty))

struct Experiment {
  ExperimentId id;
  std::string name, description;
  std::vector<std::string> labels;
  std::string notes;
  Time start_time;
  std::optional<Time> end_time;
  std::string state;
  bool archived = false;
  std::int32_t num_trials = 0;
  std::vector<TrialId> trial_ids;
  std::string display_name;
  UserId user_id;
  std::string username, resource_pool, searcher_type, searcher_metric;
  json::value hyperparameters;
  std::string job_id;
  std::optional<ExperimentId> forked_from;
  double progress = 0;
  std::int32_t project_id = 1;
  std::string project_name = "Uncategorized";
  std::int32_t project_owner_id = 1, workspace_id = 1;
  std::string workspace_name = "Uncategorized";
  bool parent_archived = false;
  json::value config;
  std::string original_config;
  std::int32_t checkpoint_count = 0;
  std::int64_t checkpoint_size = 0;
  std::optional<double> best_trial_searcher_metric;
  std::optional<TrialId> best_trial_id;
  bool unmanaged = false;
  std::optional<std::int32_t> duration;
  std::int32_t model_definition_size = 0;
  std::string error;                                  ///< ours: why it is in state ERROR
  std::string waiting_reason;                         ///< ours: why it does not run yet
  std::optional<std::string> external_experiment_id;  ///< the name that processes outside the cluster gave it
  Documented<Git> git;                                ///< ours
};
BOOST_DESCRIBE_STRUCT(Experiment, (),
                      (id, name, description, labels, notes, start_time, end_time, state, archived,
                       num_trials, trial_ids, display_name, user_id, username, resource_pool, searcher_type,
                       searcher_metric, hyperparameters, job_id, forked_from, progress, project_id,
                       project_name, project_owner_id, workspace_id, workspace_name, parent_archived, config,
                       original_config, checkpoint_count, checkpoint_size, best_trial_searcher_metric,
                       best_trial_id, unmanaged, duration, model_definition_size, error, waiting_reason,
                       external_experiment_id, git))

struct Metrics {
  json::object avg_metrics;
  json::array batch_metrics;
};
BOOST_DESCRIBE_STRUCT(Metrics, (), (avg_metrics, batch_metrics))

struct MetricsWorkload {
  Time end_time;
  Metrics metrics;
  std::int32_t num_inputs = 0, total_batches = 0;
};
BOOST_DESCRIBE_STRUCT(MetricsWorkload, (), (end_time, metrics, num_inputs, total_batches))

/// One report of a trial.
struct MetricsReport {
  TrialId trial_id;
  Time end_time;
  std::int32_t trial_run_id = 0, total_batches = 0, id = 0;
  bool archived = false;
  std::string group;
  json::object metrics;
  std::int32_t num_inputs = 0;  ///< ours: records that the report is about, over all slots
};
BOOST_DESCRIBE_STRUCT(MetricsReport, (),
                      (trial_id, end_time, trial_run_id, total_batches, id, archived, group, metrics,
                       num_inputs))

struct CheckpointWorkload {
  std::string uuid, state;
  Time end_time;
  std::map<std::string, std::int64_t> resources;
  std::int32_t total_batches = 0;
  json::value metadata;
};
BOOST_DESCRIBE_STRUCT(CheckpointWorkload, (), (uuid, end_time, state, resources, total_batches, metadata))

struct Trial {
  TrialId id;
  ExperimentId experiment_id;
  Time start_time;
  std::optional<Time> end_time;
  std::string state;
  std::int32_t restarts = 0;
  json::object hparams;
  std::int32_t total_batches_processed = 0;
  std::optional<MetricsWorkload> best_validation, latest_validation;
  std::optional<CheckpointWorkload> best_checkpoint;
  std::string runner_state;
  std::string log_policy_matched;  ///< names, with commas; empty: none
  double wall_clock_time = 0;
  std::string warm_start_checkpoint_uuid, task_id;
  std::vector<std::string> task_ids;
  std::int64_t total_checkpoint_size = 0;
  std::int32_t checkpoint_count = 0;
  json::object summary_metrics;
  std::optional<double> searcher_metric_value;
  std::string error;                ///< ours
  std::string waiting_reason;       ///< ours
  std::int32_t target_batches = 0;  ///< ours: how far it shall train, as far as the search has said
};
BOOST_DESCRIBE_STRUCT(Trial, (),
                      (id, experiment_id, start_time, end_time, state, restarts, hparams,
                       total_batches_processed, best_validation, latest_validation, best_checkpoint,
                       runner_state, log_policy_matched, wall_clock_time, warm_start_checkpoint_uuid, task_id,
                       task_ids, total_checkpoint_size, checkpoint_count, summary_metrics,
                       searcher_metric_value, error, waiting_reason, target_batches))

struct Workload {
  std::optional<MetricsWorkload> training, validation;
  std::optional<CheckpointWorkload> checkpoint;
};
BOOST_DESCRIBE_STRUCT(Workload, (), (training, validation, checkpoint))

struct CheckpointTraining {
  std::optional<TrialId> trial_id;
  std::optional<ExperimentId> experiment_id;
  json::value experiment_config, hparams;
  std::optional<Metrics> training_metrics, validation_metrics;
  std::optional<double> searcher_metric;
};
BOOST_DESCRIBE_STRUCT(CheckpointTraining, (),
                      (trial_id, experiment_id, experiment_config, hparams, training_metrics,
                       validation_metrics, searcher_metric))

struct Checkpoint {
  std::string task_id, allocation_id, uuid;
  Time report_time;
  std::map<std::string, std::int64_t> resources;
  json::object metadata;
  std::string state;
  std::optional<std::int32_t> storage_id;
  CheckpointTraining training;
};
BOOST_DESCRIBE_STRUCT(Checkpoint, (),
                      (task_id, allocation_id, uuid, report_time, resources, metadata, state, storage_id,
                       training))

struct User {
  UserId id;
  std::string username;
  bool admin = false, active = true;
  std::optional<config::AgentUserGroup> agent_user_group;
  std::string display_name;
  Time modified_at;
  bool remote = false;
  std::optional<Time> last_auth_at;
};
BOOST_DESCRIBE_STRUCT(User, (),
                      (id, username, admin, active, agent_user_group, display_name, modified_at, remote,
                       last_auth_at))

struct Device {
  std::int32_t id = 0;
  std::string brand, uuid, type;
};
BOOST_DESCRIBE_STRUCT(Device, (), (id, brand, uuid, type))

struct SlotContainer {
  std::string id, parent, state;
  std::vector<Device> devices;
};
BOOST_DESCRIBE_STRUCT(SlotContainer, (), (id, parent, state, devices))

struct Slot {
  std::string id;
  Device device;
  bool enabled = true, draining = false;
  Nullable<SlotContainer> container;  ///< the allocation that has the slot
};
BOOST_DESCRIBE_STRUCT(Slot, (), (id, device, enabled, draining, container))

struct DeviceStats {
  std::int32_t total = 0, disabled = 0, draining = 0;
  std::map<std::string, std::int32_t> states;
};
BOOST_DESCRIBE_STRUCT(DeviceStats, (), (total, disabled, draining, states))
struct SlotStats {
  std::map<std::string, DeviceStats> type_stats, brand_stats;
};
BOOST_DESCRIBE_STRUCT(SlotStats, (), (type_stats, brand_stats))

struct Agent {
  std::string id;
  Time registered_time;
  std::map<std::string, Slot> slots;
  std::map<std::string, SlotContainer> containers;
  std::vector<std::string> addresses;
  bool enabled = true, draining = false;
  std::string version;
  std::vector<std::string> resource_pools;
  SlotStats slot_stats;
  std::string label{};
  std::map<std::string, std::string> attributes{};
  bool silent = false;  ///< it has stopped calling, and is given nothing new
};
BOOST_DESCRIBE_STRUCT(Agent, (),
                      (id, registered_time, slots, containers, addresses, enabled, draining, version,
                       resource_pools, slot_stats, label, attributes, silent))

struct LogLine {
  std::int64_t id = 0;
  Time timestamp;
  std::string message, level;
  std::optional<TrialId> trial_id;
  std::string task_id, allocation_id, log, source, stdtype, agent_id, container_id;
  std::optional<int> rank_id;
};
BOOST_DESCRIBE_STRUCT(LogLine, (),
                      (id, timestamp, message, level, trial_id, task_id, allocation_id, log, source, stdtype,
                       agent_id, container_id, rank_id))

}  // namespace det::api
