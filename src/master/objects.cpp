#include "det/master/objects.h"

#include <algorithm>
#include <cmath>

#include "det/base/text.h"
#include "det/master/unmanaged/unmanaged.h"
#include "det/master/workspaces/workspaces.h"

namespace det::master {
namespace {

using experiment::AllocationState;
using experiment::State;

constexpr std::pair<State, const char*> kStates[] = {
    {State::Active, "STATE_ACTIVE"},
    {State::Paused, "STATE_PAUSED"},
    {State::StoppingCompleted, "STATE_STOPPING_COMPLETED"},
    {State::StoppingCanceled, "STATE_STOPPING_CANCELED"},
    {State::StoppingKilled, "STATE_STOPPING_KILLED"},
    {State::StoppingError, "STATE_STOPPING_ERROR"},
    {State::Completed, "STATE_COMPLETED"},
    {State::Canceled, "STATE_CANCELED"},
    {State::Error, "STATE_ERROR"},
    {State::Deleting, "STATE_DELETING"},
    {State::DeleteFailed, "STATE_DELETE_FAILED"},
    {State::Deleted, "STATE_DELETED"},
};

// How far the most progressed of these allocations is.
std::string active_name(Services& s, const std::vector<std::string>& allocations) {
  AllocationState most = AllocationState::Pending;
  for (const auto& id : allocations)
    if (const auto* allocation = s.ledger.cluster().allocation(id))
      most = std::max(most, allocation->record.state);
  if (most == AllocationState::Pending) return "STATE_QUEUED";
  return most >= AllocationState::Running ? "STATE_RUNNING" : "STATE_STARTING";
}

std::vector<std::string> allocations_of(const experiment::Experiment& experiment) {
  std::vector<std::string> ids;
  for (const auto& [id, trial] : experiment.trials())
    if (!trial.allocation.empty()) ids.push_back(trial.allocation);
  return ids;
}

std::string experiment_state(Services& s, ExperimentId id, State state) {
  const auto* live = s.ledger.cluster().experiment(id);
  if (live != nullptr) state = live->record().state;
  if (state == State::Active && live == nullptr) return "STATE_RUNNING";  // outside the cluster
  if (state != State::Active) return name_of(state);
  return active_name(s, allocations_of(*live));
}

std::string waiting(Services& s, ExperimentId id) {
  const auto* live = s.ledger.cluster().experiment(id);
  if (live == nullptr) return "";
  std::string reason;
  for (const auto& allocation : allocations_of(*live)) {
    const auto text = s.ledger.cluster().waiting_reason(allocation);
    if (text.empty()) return "";  // something of it runs
    if (reason.empty()) reason = text;
  }
  return reason;
}

/// Where the experiment is; what no project has (older than projects) is uncategorized.
void set_place(Services& s, ProjectId id, api::Experiment& e) {
  const auto* project = s.workspaces.project(id);
  if (project == nullptr) project = s.workspaces.project(store::kUncategorizedProject);
  const auto* workspace = s.workspaces.find(project->workspace);
  e.project_id = static_cast<std::int32_t>(project->id.value());
  e.project_name = project->name;
  e.project_owner_id = static_cast<std::int32_t>(project->owner.value());
  e.workspace_id = static_cast<std::int32_t>(workspace->id.value());
  e.workspace_name = workspace->name;
  e.parent_archived = s.workspaces.closed(*project);
}

/// What a whole row and the summary of one have in common.
template <class Row>
api::Experiment shared_fields(Services& s, const Row& r) {
  api::Experiment e;
  e.id = r.id;
  e.name = r.name;
  e.description = r.description;
  e.labels = r.labels;
  e.notes = r.notes;
  e.start_time = r.start_time;
  e.end_time = r.end_time;
  e.state = state_name(s, r);
  e.archived = r.archived;
  e.user_id = r.owner;
  e.username = username(s, r.owner);
  e.resource_pool = r.resource_pool;
  e.job_id = r.job_id;
  e.forked_from = r.forked_from;
  e.progress = r.progress;
  set_place(s, ProjectId(r.project_id), e);
  e.model_definition_size = static_cast<std::int32_t>(r.model_definition_bytes);
  if (r.end_time) e.duration = static_cast<std::int32_t>((*r.end_time - r.start_time) / kSecond);
  e.error = r.error;
  e.waiting_reason = waiting(s, r.id);
  e.unmanaged = s.unmanaged.has(r.id);
  if (auto name = s.unmanaged.name_of(r.id); !name.empty()) e.external_experiment_id = std::move(name);
  return e;
}

const json::object* section(const json::object& config, const char* name) {
  const auto* found = config.if_contains(name);
  return found != nullptr && found->is_object() ? &found->get_object() : nullptr;
}

std::string text_in(const json::object* object, const char* name) {
  const auto* found = object == nullptr ? nullptr : object->if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
}

}  // namespace

std::string username(Services& s, UserId id) {
  const auto found = s.auth.users().find(id);
  return found == s.auth.users().end() ? "" : found->second.username;
}

std::string state_name(Services& s, const experiment::ExperimentRecord& r) {
  return experiment_state(s, r.id, r.state);
}
std::string state_name(Services& s, const store::ExperimentSummary& r) {
  return experiment_state(s, r.id, r.state);
}

std::string state_name(Services& s, const experiment::TrialRecord& record) {
  const auto* live = s.ledger.cluster().trial(record.id);
  if (live == nullptr) return record.state == State::Active ? "STATE_RUNNING" : name_of(record.state);
  const auto state = live->record.state;
  if (state != State::Active) return name_of(state);
  const auto* experiment = s.ledger.cluster().experiment(record.experiment_id);
  if (live->allocation.empty() && experiment->record().state != State::Active)
    return name_of(experiment->record().state);
  return active_name(s, {live->allocation});
}

std::string name_of(State state) {
  for (const auto& [known, name] : kStates)
    if (known == state) return name;
  return "STATE_UNSPECIFIED";
}

std::string run_state(const std::string& state) {
  for (const auto* doing : {"STATE_QUEUED", "STATE_PULLING", "STATE_STARTING", "STATE_RUNNING"})
    if (state == doing) return "STATE_ACTIVE";
  return state;
}

std::string state_name(experiment::CheckpointState state) {
  switch (state) {
    case experiment::CheckpointState::Active: return "STATE_ACTIVE";
    case experiment::CheckpointState::Completed: return "STATE_COMPLETED";
    case experiment::CheckpointState::Error: return "STATE_ERROR";
    case experiment::CheckpointState::Deleted: return "STATE_DELETED";
    case experiment::CheckpointState::PartiallyDeleted: return "STATE_PARTIALLY_DELETED";
  }
  return "STATE_UNSPECIFIED";
}

Result<std::vector<State>> parse_states(const std::vector<std::string>& names) {
  std::vector<State> states;
  for (const auto& name : names) {
    if (name == "STATE_UNSPECIFIED") continue;
    if (name == "STATE_QUEUED" || name == "STATE_PULLING" || name == "STATE_STARTING" ||
        name == "STATE_RUNNING") {
      states.push_back(State::Active);
      continue;
    }
    const auto* found =
        std::find_if(std::begin(kStates), std::end(kStates), [&](const auto& s) { return s.second == name; });
    if (found == std::end(kStates))
      return invalid_argument("'{}' is not a state; use a name such as STATE_RUNNING", name);
    states.push_back(found->first);
  }
  return states;
}

api::Experiment to_api(Services& s, const experiment::ExperimentRecord& r) {
  auto e = shared_fields(s, r);
  const auto* searcher = section(r.config, "searcher");
  e.searcher_type = text_in(searcher, "name");
  e.searcher_metric = text_in(searcher, "metric");
  if (const auto* hparams = r.config.if_contains("hyperparameters")) e.hyperparameters = *hparams;
  e.config = config::masked(r.config);
  e.original_config = r.original_config;
  e.git = {r.git};
  return e;
}

api::Experiment to_api(Services& s, const store::ExperimentSummary& r) {
  auto e = shared_fields(s, r);
  e.num_trials = static_cast<std::int32_t>(r.num_trials);
  e.searcher_type = r.searcher;
  e.searcher_metric = r.searcher_metric;
  e.checkpoint_count = static_cast<std::int32_t>(r.checkpoint_count);
  e.checkpoint_size = r.checkpoint_bytes;
  e.best_trial_searcher_metric = r.best_metric;
  if (r.best_trial) e.best_trial_id = r.best_trial;
  return e;
}

api::User to_api(const store::UserRecord& r) {
  return {.id = r.id,
          .username = r.username,
          .admin = r.admin,
          .active = r.active,
          .agent_user_group = r.agent_user_group,
          .display_name = r.display_name,
          .modified_at = r.modified_at,
          .remote = r.remote};
}

api::MetricsWorkload to_api(const experiment::MetricRecord& r, bool with_batches) {
  api::MetricsWorkload workload{.end_time = r.report_time,
                                .metrics = {},
                                .num_inputs = static_cast<std::int32_t>(r.records),
                                .total_batches = static_cast<std::int32_t>(r.batches)};
  workload.metrics.avg_metrics = r.avg_metrics;
  if (with_batches) workload.metrics.batch_metrics = r.batch_metrics;
  return workload;
}

api::CheckpointWorkload to_workload(const experiment::CheckpointRecord& r) {
  return {.uuid = r.uuid,
          .state = state_name(r.state),
          .end_time = r.report_time,
          .resources = r.resources,
          .total_batches = static_cast<std::int32_t>(r.batches),
          .metadata = r.metadata};
}

namespace {
SearcherMetric metric_in(const json::object* object, const char* name) {
  SearcherMetric metric{.name = text_in(object, name)};
  const auto* smaller = object == nullptr ? nullptr : object->if_contains("smaller_is_better");
  if (smaller != nullptr && smaller->is_bool()) metric.smaller_is_better = smaller->get_bool();
  return metric;
}
}  // namespace

SearcherMetric searcher_metric(const json::object& config) {
  return metric_in(section(config, "searcher"), "metric");
}

std::vector<SearcherMetric> searcher_metrics(const json::object& config) {
  std::vector metrics{searcher_metric(config)};
  const auto* searcher = section(config, "searcher");
  const auto* further = searcher == nullptr ? nullptr : searcher->if_contains("metrics");
  if (further != nullptr && further->is_array())
    for (const auto& one : further->get_array()) metrics.push_back(metric_in(one.if_object(), "name"));
  return metrics;
}

std::optional<double> value_of(const experiment::MetricRecord& record, const std::string& metric) {
  const auto* found = record.avg_metrics.if_contains(metric);
  return found == nullptr ? std::nullopt : json::to_double(*found);
}

api::Trial to_api(const experiment::TrialRecord& r, const store::TrialOverview& overview) {
  api::Trial t;
  t.id = r.id;
  t.experiment_id = r.experiment_id;
  t.start_time = r.start_time;
  t.end_time = r.end_time;
  t.restarts = static_cast<std::int32_t>(r.restarts);
  t.hparams = r.hparams;
  t.total_batches_processed = static_cast<std::int32_t>(r.batches);
  t.runner_state = r.runner_state;
  t.log_policy_matched = r.log_policy_matched;
  t.warm_start_checkpoint_uuid = r.warm_start_checkpoint;
  t.task_id = r.task_id;
  t.task_ids = {r.task_id};
  t.error = r.error;
  if (overview.latest_validation) t.latest_validation = to_api(*overview.latest_validation, false);
  if (overview.best_validation) t.best_validation = to_api(*overview.best_validation, false);
  t.searcher_metric_value = overview.best_metric;
  t.checkpoint_count = static_cast<std::int32_t>(overview.checkpoint_count);
  t.total_checkpoint_size = overview.checkpoint_bytes;
  if (overview.best_checkpoint) t.best_checkpoint = to_workload(*overview.best_checkpoint);
  t.summary_metrics = overview.summary_metrics;
  return t;
}

void complete_trial(Services& s, const experiment::TrialRecord& record, api::Trial& trial) {
  trial.state = state_name(s, record);
  const auto end = record.end_time.value_or(s.ledger.now());
  trial.wall_clock_time = static_cast<double>(end - record.start_time) / kSecond;
  const auto* live = s.ledger.cluster().trial(record.id);
  trial.target_batches = trial.total_batches_processed;
  if (live == nullptr) return;
  trial.total_batches_processed = static_cast<std::int32_t>(live->record.batches);
  trial.runner_state = live->record.runner_state;
  trial.log_policy_matched = live->record.log_policy_matched;
  trial.waiting_reason = s.ledger.cluster().waiting_reason(live->allocation);
  if (!live->operations.empty())
    trial.target_batches = static_cast<std::int32_t>(live->operations.back().batches);
}

std::vector<TrialId> trial_ids(const std::vector<experiment::TrialRecord>& trials) {
  std::vector<TrialId> ids;
  for (const auto& trial : trials) ids.push_back(trial.id);
  return ids;
}

Span page_of(std::size_t total, std::int32_t offset, std::int32_t limit) {
  const auto count = static_cast<std::int64_t>(total);
  const std::int64_t begin = std::clamp<std::int64_t>(offset < 0 ? count + offset : offset, 0, count);
  const std::int64_t end = limit > 0 ? std::min<std::int64_t>(begin + limit, count) : count;
  return {.begin = static_cast<std::size_t>(begin),
          .end = static_cast<std::size_t>(end),
          .pagination = {.offset = offset,
                         .limit = limit,
                         .start_index = static_cast<std::int32_t>(begin),
                         .end_index = static_cast<std::int32_t>(end),
                         .total = static_cast<std::int32_t>(count)}};
}

}  // namespace det::master
