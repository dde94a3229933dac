#include "det/master/agents/environment.h"

#include <algorithm>
#include <string_view>

#include "det/master/workspaces/workspaces.h"

namespace det::master {
namespace {

/// Settings of the trial runtime: docs/guide/distributed.md.
constexpr std::string_view kUsersOwn[] = {"DET_COLLECTIVE_TIMEOUT", "DET_RENDEZVOUS_TIMEOUT", "DET_DEBUG"};

// environment.environment_variables: a list of "K=V", or such a list for each
// device type. DET_* names are ours and cannot be set, but for the settings that are meant for users.
void add_users_own(const json::object& config, std::map<std::string, std::string>& environment) {
  const auto* section = config.if_contains("environment");
  if (section == nullptr || !section->is_object()) return;
  const auto* variables = section->get_object().if_contains("environment_variables");
  if (variables != nullptr && variables->is_object()) variables = variables->get_object().if_contains("cpu");
  if (variables == nullptr || !variables->is_array()) return;
  for (const auto& item : variables->get_array()) {
    if (!item.is_string()) continue;
    const std::string text(item.get_string());
    const auto at = text.find('=');
    const auto name = text.substr(0, at);
    if (name.empty() ||
        (name.starts_with("DET_") && std::ranges::find(kUsersOwn, name) == std::end(kUsersOwn)))
      continue;
    environment[name] = at == std::string::npos ? "" : text.substr(at + 1);
  }
}

}  // namespace

namespace {

/// The configuration and the hyperparameters as they are for this run. Where the number of slots may change,
/// the trial reads how many it has now, and what batch size comes with them.
void add_configuration(const experiment::Experiment& experiment, const json::object& hparams,
                       std::int64_t slots, std::map<std::string, std::string>& environment) {
  const auto& range = experiment.config().resources.slots_range;
  if (!range) {
    environment["DET_HPARAMS"] = json::serialize(hparams);
    environment["DET_EXPERIMENT_CONFIG"] = json::serialize(experiment.record().config);
    return;
  }
  auto config = experiment.record().config;
  config["resources"].as_object()["slots_per_trial"] = slots;
  auto own = hparams;
  if (auto* size = own.if_contains("global_batch_size"))
    if (const auto number = json::to_int64(*size)) *size = config::batch_size_on(*range, *number, slots);
  environment["DET_HPARAMS"] = json::serialize(own);
  environment["DET_EXPERIMENT_CONFIG"] = json::serialize(config);
}

std::string owner_name(Services& s, UserId owner) {
  const auto user = s.auth.users().find(owner);
  return user == s.auth.users().end() ? "determined" : user->second.username;
}

/// Of a task that is no trial.
std::map<std::string, std::string> other_environment(Services& s, const task::TaskRecord& task,
                                                     const std::string& allocation_id) {
  std::map<std::string, std::string> environment;
  add_users_own(task.config, environment);
  environment["DET_USER_TOKEN"] = s.auth.owner_token(allocation_id);
  std::string type = task::type_name(task.type);
  for (auto& c : type) c = static_cast<char>(c - 'a' + 'A');
  environment["DET_TASK_TYPE"] = type;
  environment["DET_USER"] = owner_name(s, task.owner);
  environment["DET_TASK_CONFIG"] = json::serialize(task.config);
  if (task.program_is_ours) environment["DET_PROXY_PATH"] = fmt::format("/proxy/{}/", task.id);
  if (task.type == task::Type::Shell) environment["DET_SSH_PUBLIC_KEY"] = task.public_key;
  std::vector<std::int64_t> experiments, trials;
  for (const auto id : task.experiment_ids) experiments.push_back(id.value());
  for (const auto id : task.trial_ids) trials.push_back(id.value());
  if (task.type == task::Type::Tensorboard) {
    environment["DET_TENSORBOARD_EXPERIMENT_IDS"] = fmt::format("{}", fmt::join(experiments, ","));
    environment["DET_TENSORBOARD_TRIAL_IDS"] = fmt::format("{}", fmt::join(trials, ","));
  }
  return environment;
}

}  // namespace

std::map<std::string, std::string> task_environment(Services& s, const api::DesiredAllocation& allocation) {
  if (!allocation.trial_id)
    return other_environment(s, s.ledger.cluster().task(allocation.task_id)->record(),
                             allocation.allocation_id);
  const auto& experiment = *s.ledger.cluster().experiment(allocation.experiment_id);
  const auto& trial = *experiment.trial(allocation.trial_id);
  std::map<std::string, std::string> environment;
  add_users_own(experiment.record().config, environment);
  environment["DET_TASK_TYPE"] = "TRIAL";
  environment["DET_USER_TOKEN"] = s.auth.owner_token(allocation.allocation_id);
  environment["DET_USER"] = owner_name(s, experiment.record().owner);
  environment["DET_TRIAL_SEED"] = std::to_string(trial.record.seed);
  environment["DET_STEPS_COMPLETED"] = std::to_string(trial.checkpoint_batches);
  add_configuration(experiment, trial.record.hparams, allocation.size, environment);
  if (!trial.record.latest_checkpoint.empty()) {
    environment["DET_LATEST_CHECKPOINT"] = trial.record.latest_checkpoint;
  } else if (!trial.record.warm_start_checkpoint.empty()) {
    environment["DET_LATEST_CHECKPOINT"] = trial.record.warm_start_checkpoint;
    environment["DET_WARM_START"] = "1";
  }
  if (!trial.operations.empty() && !trial.operations.front().completed)
    environment["DET_SEARCHER_OPERATION"] = std::to_string(trial.operations.front().batches);
  return environment;
}

namespace {

std::optional<config::AgentUserGroup> account_in(Services& s, const store::WorkspaceRecord* workspace,
                                                 UserId owner) {
  const auto user = s.auth.users().find(owner);
  return config::effective(workspace == nullptr ? std::nullopt : workspace->agent_user_group,
                           user == s.auth.users().end() ? std::nullopt : user->second.agent_user_group);
}

}  // namespace

std::optional<config::AgentUserGroup> account_of(Services& s, const task::TaskRecord& task) {
  return account_in(s, s.workspaces.find(store::WorkspaceId(task.workspace_id)), task.owner);
}

std::optional<config::AgentUserGroup> account_of(Services& s, const api::DesiredAllocation& allocation) {
  if (!allocation.trial_id) return account_of(s, s.ledger.cluster().task(allocation.task_id)->record());
  const auto& record = s.ledger.cluster().experiment(allocation.experiment_id)->record();
  const auto* project = s.workspaces.project(store::ProjectId(record.project_id));
  return account_in(s, project == nullptr ? nullptr : s.workspaces.find(project->workspace), record.owner);
}

}  // namespace det::master
