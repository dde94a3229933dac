#include <algorithm>
#include <array>

#include "det/config/experiment_config.h"
#include "det/config/yaml/yaml.h"
#include "det/store/import/mapping.h"

namespace det::store {

namespace {

using experiment::State;

struct NamedState {
  std::string_view name;
  EndedState state;
};

// What was ending has the state that it was about to have; what ran or waited is canceled, because nothing
// continues it.
constexpr std::array kStates{
    NamedState{"COMPLETED", {State::Completed, false}},
    NamedState{"CANCELED", {State::Canceled, false}},
    NamedState{"ERROR", {State::Error, false}},
    NamedState{"DELETING", {State::DeleteFailed, false}},
    NamedState{"DELETE_FAILED", {State::DeleteFailed, false}},
    NamedState{"ACTIVE", {State::Canceled, true}},
    NamedState{"RUNNING", {State::Canceled, true}},
    NamedState{"PAUSED", {State::Canceled, true}},
    NamedState{"QUEUED", {State::Canceled, true}},
    NamedState{"PULLING", {State::Canceled, true}},
    NamedState{"STARTING", {State::Canceled, true}},
    NamedState{"STOPPING_COMPLETED", {State::Completed, true}},
    NamedState{"STOPPING_CANCELED", {State::Canceled, true}},
    NamedState{"STOPPING_KILLED", {State::Canceled, true}},
    NamedState{"STOPPING_ERROR", {State::Error, true}},
};

constexpr std::int64_t kMostSlots = 1 << 16;  // more is damage

std::string was(const std::string& state) {
  return fmt::format("was {} in the original cluster when it was imported", state);
}

// In older releases a map whose keys are the labels.
std::vector<std::string> labels_of(const json::object& config) {
  std::vector<std::string> labels;
  const auto* found = config.if_contains("labels");
  if (found == nullptr) return labels;
  if (const auto* array = found->if_array())
    for (const auto& label : *array)
      if (label.is_string()) labels.emplace_back(label.get_string());
  if (const auto* object = found->if_object())
    for (const auto& [label, _] : *object) labels.emplace_back(label);
  return labels;
}

json::object git_of(const SourceRow& row) {
  json::object git;
  for (const auto& [name, column] : {std::pair{"commit", "git_commit"}, std::pair{"remote", "git_remote"},
                                     std::pair{"committer", "git_committer"}})
    if (row.has(column)) git[name] = row.text(column);
  if (const auto date = row.time("git_commit_date")) git["commit_date"] = to_rfc3339(*date);
  return git;
}

}  // namespace

std::optional<EndedState> to_ended_state(std::string_view state) {
  for (const auto& [name, ended] : kStates)
    if (name == state) return ended;
  return std::nullopt;
}

MappedExperiment to_experiment(const SourceRow& row) {
  MappedExperiment mapped;
  auto& record = mapped.record;
  const auto state = row.text("state");
  const auto ended = to_ended_state(state);
  record.config = row.object("config");
  if (state == "DELETED")
    mapped.problem = "deleted in the original cluster";
  else if (!ended)
    mapped.problem = fmt::format("unknown state '{}'", state);
  else if (record.config.empty())
    mapped.problem = "without a configuration";
  if (!mapped.problem.empty()) return mapped;

  mapped.was_running = ended->was_running;
  record.id = ExperimentId(row.integer("id").value_or(0));
  record.state = ended->state;
  record.name = json::text_member(record.config, "name");
  record.description = json::text_member(record.config, "description");
  if (record.name.empty())
    record.name = record.description.empty() ? fmt::format("Experiment {}", record.id) : record.description;
  record.notes = row.text("notes");
  record.labels = labels_of(record.config);
  record.original_config = row.text("original_config");
  if (record.original_config.empty()) record.original_config = config::emit_yaml(record.config);
  record.model_definition = row.text("definition_digest");
  record.model_definition_bytes = row.integer("definition_bytes").value_or(0);
  if (record.model_definition_bytes == 0) record.model_definition.clear();
  record.owner = UserId(row.integer("owner_id").value_or(0));
  record.job_id = row.text("job_id");
  if (const auto* resources = record.config.if_contains("resources"); resources && resources->is_object())
    record.resource_pool = json::text_member(resources->get_object(), "resource_pool");
  record.start_time = row.time("start_time").value_or(Time{});
  record.end_time = row.time("end_time");
  if (!record.end_time) record.end_time = row.time("last_activity").value_or(record.start_time);
  record.progress = row.number("progress").value_or(record.state == State::Completed ? 1 : 0);
  if (!(record.progress >= 0 && record.progress <= 1)) record.progress = 0;  // also NaN
  record.archived = row.flag("archived");
  if (const auto parent = row.integer("parent_id")) record.forked_from = ExperimentId(*parent);
  if (mapped.was_running) record.error = was(state);
  record.project_id = row.integer("project_id").value_or(1);
  record.git = git_of(row);
  if (row.flag("unmanaged")) mapped.external_id = row.text("external_experiment_id");
  if (const auto config = config::from_document(record.config); !config)
    mapped.warning = fmt::format("its configuration cannot be read ({}), so its checkpoints cannot be loaded",
                                 config.error().message());
  return mapped;
}

std::optional<TrialRecord> to_trial(const SourceRow& row, const std::vector<std::string>& task_ids) {
  const auto state = row.text("state");
  const auto ended = to_ended_state(state);
  if (!ended) return std::nullopt;
  TrialRecord trial;
  trial.id = TrialId(row.integer("id").value_or(0));
  trial.experiment_id = ExperimentId(row.integer("experiment_id").value_or(0));
  trial.request_id = row.text("request_id");
  if (trial.request_id.empty()) trial.request_id = fmt::format("imported-{}", trial.id);
  trial.task_id =
      task_ids.empty() ? fmt::format("{}.{}", trial.experiment_id, trial.request_id) : task_ids[0];
  trial.state = ended->state;
  json::value hparams = row.object("hparams");
  restore_numbers(hparams);
  trial.hparams = std::move(hparams.get_object());
  trial.seed = row.integer("seed").value_or(0);
  trial.restarts = row.integer("restarts").value_or(0);
  trial.run_id = row.integer("run_id").value_or(0);
  trial.batches = row.integer("total_batches").value_or(0);
  trial.latest_checkpoint = row.text("latest_checkpoint");
  trial.warm_start_checkpoint = row.text("warm_start_checkpoint");
  trial.runner_state = row.text("runner_state");
  trial.best_metric = row.number("searcher_metric_value");
  trial.log_policy_matched = row.text("log_policy_matched");
  if (ended->was_running) trial.error = was(state);
  trial.start_time = row.time("start_time").value_or(Time{});
  trial.end_time = row.time("end_time");
  if (!trial.end_time) trial.end_time = row.time("last_activity").value_or(trial.start_time);
  return trial;
}

AllocationRecord to_allocation(const SourceRow& row, const TrialRecord& trial, std::int64_t run_id) {
  AllocationRecord allocation{.id = row.text("allocation_id"),
                              .task_id = trial.task_id,
                              .experiment_id = trial.experiment_id,
                              .trial_id = trial.id,
                              .run_id = run_id,
                              .state = experiment::AllocationState::Terminated,
                              .shares = {},
                              .requested = {},
                              .start_time = row.time("start_time"),
                              .end_time = row.time("end_time"),
                              .exit_reason = row.text("exit_reason")};
  if (!allocation.end_time) allocation.end_time = trial.end_time;
  if (!allocation.start_time) allocation.start_time = allocation.end_time;
  if (allocation.start_time && allocation.end_time < allocation.start_time)
    allocation.end_time = allocation.start_time;
  allocation.requested = allocation.start_time.value_or(trial.start_time);
  // Which slots they were nobody knows any more, but how many.
  experiment::AllocationShare share{.agent = row.text("node_name"), .slots = {}};
  if (share.agent.empty()) share.agent = "imported";
  const auto slots = std::min(row.integer("slots").value_or(0), kMostSlots);
  for (std::int64_t slot = 0; slot < slots; ++slot) share.slots.push_back(static_cast<int>(slot));
  allocation.shares.push_back(std::move(share));
  return allocation;
}

std::optional<CheckpointRecord> to_checkpoint(const SourceRow& row, ExperimentId experiment) {
  static const std::map<std::string, CheckpointState, std::less<>> kStates{
      {"COMPLETED", CheckpointState::Completed},
      {"ERROR", CheckpointState::Error},
      {"DELETED", CheckpointState::Deleted},
      {"PARTIALLY_DELETED", CheckpointState::PartiallyDeleted}};
  const auto state = kStates.find(row.text("state"));
  if (state == kStates.end() || row.text("uuid").empty()) return std::nullopt;
  CheckpointRecord checkpoint{.uuid = row.text("uuid"),
                              .experiment_id = experiment,
                              .trial_id = TrialId(row.integer("trial_id").value_or(0)),
                              .task_id = row.text("task_id"),
                              .allocation_id = row.text("allocation_id"),
                              .state = state->second,
                              .batches = 0,
                              .resources = {},
                              .metadata = row.object("metadata"),
                              .searcher_metric = {},
                              .report_time = row.time("report_time").value_or(Time{})};
  for (const auto& [name, size] : row.object("resources"))
    checkpoint.resources.emplace(name, json::to_int64(size).value_or(0));
  if (const auto* steps = checkpoint.metadata.if_contains("steps_completed"))
    checkpoint.batches = json::to_int64(*steps).value_or(0);
  else
    checkpoint.batches = row.integer("total_batches").value_or(0);
  return checkpoint;
}

}  // namespace det::store
