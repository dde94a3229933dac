#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "det/store/change.h"
#include "det/store/import/source_row.h"

/// From rows of the original's database to our records. Pure: what a row says is all that they know. Ids stay
/// as they are.
namespace det::store {

// ---- people and places (map_places.cpp) ----

/// The hash of the password is taken as it is: bcrypt of what clients send, which logins understand.
UserRecord to_user(const SourceRow& row);
GroupRecord to_group(const SourceRow& row);
/// Nothing: the role is not one of ours.
std::optional<RoleAssignmentRecord> to_role_assignment(const SourceRow& row);
WorkspaceRecord to_workspace(const SourceRow& row);
/// Projects of older releases have no key; they get one from their number.
ProjectRecord to_project(const SourceRow& row);
std::optional<WorkspacePin> to_pin(const SourceRow& row);
TemplateRecord to_template(const SourceRow& row);
/// Nothing: it is of a workload that we do not have.
std::optional<ConfigPolicyRecord> to_config_policy(const SourceRow& row);
/// Without its triggers.
WebhookRecord to_webhook(const SourceRow& row);
/// Nothing: we have no such trigger.
std::optional<WebhookTrigger> to_trigger(const SourceRow& row);

// ---- models (map_models.cpp) ----

ModelRecord to_model(const SourceRow& row);
ModelVersionRecord to_model_version(const SourceRow& row);

// ---- experiments (map_experiments.cpp) ----

/// A state of the original as a state in which nothing runs.
struct EndedState {
  experiment::State state = experiment::State::Canceled;
  bool was_running = false;
};
/// Nothing: a state that the original does not have, or "DELETED".
std::optional<EndedState> to_ended_state(std::string_view state);

struct MappedExperiment {
  ExperimentRecord record;
  bool was_running = false;
  std::optional<std::string> external_id;  ///< of an experiment outside the cluster
  std::string problem;                     ///< why it is left out; empty: it is not
  std::string warning;                     ///< what does not work with it here
};
/// `model_definition` is the digest of the archive, if there is one.
MappedExperiment to_experiment(const SourceRow& row);

/// `task_ids`: of the trial, the first one first.
std::optional<TrialRecord> to_trial(const SourceRow& row, const std::vector<std::string>& task_ids);
AllocationRecord to_allocation(const SourceRow& row, const TrialRecord& trial, std::int64_t run_id);
std::optional<CheckpointRecord> to_checkpoint(const SourceRow& row, ExperimentId experiment);

// ---- what trials report (map_reports.cpp) ----

/// Where the averages of a report of this group are: the original has one name for each kind.
/// False: it is no JSON object.
bool read_metrics_document(std::string_view text, MetricRecord& record);
/// Measurements without steps, as profilers report them, are numbered by their second.
std::int64_t batches_of(std::optional<std::int64_t> steps, std::string_view group, Time time);
/// "UNSPECIFIED" is no level, -1 no rank, and the line's end is no part of it.
void clean_log_line(LogRecord& line);

}  // namespace det::store
