#pragma once

#include <span>

#include "det/store/sql/sql.h"
#include "det/store/store.h"

/// Trials, their allocations and their checkpoints.
namespace det::store {

/// Each of another trial.
void put_trials(Connection& connection, std::span<const TrialRecord* const> records);
void put_allocation(Connection& connection, const AllocationRecord& record);
void put_checkpoint(Connection& connection, const CheckpointRecord& record);
void set_checkpoint_metadata(Connection& connection, const SetCheckpointMetadata& set);
void set_trial_metadata(Connection& connection, const SetTrialMetadata& set);

void put_trial_source(Connection& connection, const TrialSourceRecord& record);

std::vector<TrialSourceRecord> read_sources_of_checkpoint(Connection& connection, const std::string& uuid);
std::vector<TrialSourceRecord> read_sources_of_model(Connection& connection, std::int64_t model);
/// Selects the columns of a checkpoint; `read_checkpoint_row` reads them.
inline constexpr std::string_view kSelectCheckpoints = R"sql(
SELECT uuid, experiment_id, trial_id, task_id, allocation_id, state, batches, resources, metadata, searcher_metric,
       report_time
FROM checkpoints
)sql";
CheckpointRecord read_checkpoint_row(Query& query);

std::vector<TrialRecord> read_trials(Connection& connection, ExperimentId id);
std::vector<TrialRecord> read_trials_by_id(Connection& connection, const std::vector<TrialId>& ids);
TrialList read_trial_list(Connection& connection, const TrialQuery& query);
std::optional<json::object> read_trial_metadata(Connection& connection, TrialId id);
std::optional<TrialRecord> read_trial(Connection& connection, TrialId id);
std::optional<TrialRecord> read_trial_of_task(Connection& connection, const std::string& task_id);
std::vector<AllocationRecord> read_allocations(Connection& connection, const std::string& task_id);
std::vector<UsageRecord> read_usage(Connection& connection, Time begin, Time end);
std::vector<CheckpointRecord> read_checkpoints_of_experiment(Connection& connection, ExperimentId id);
std::vector<CheckpointRecord> read_checkpoints_of_trial(Connection& connection, TrialId id);
std::optional<CheckpointRecord> read_checkpoint(Connection& connection, const std::string& uuid);

}  // namespace det::store
