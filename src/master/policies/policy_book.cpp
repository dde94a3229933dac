#include "det/master/policies/policy_book.h"

#include "det/experiment/reconfigure.h"
#include "det/master/objects.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using config::Workload;

std::string words_of(Workload workload) {
  return workload == Workload::Experiment ? "experiments" : "tasks";
}

}  // namespace

PolicyBook::PolicyBook(store::Store& store) {
  for (auto& record : store.config_policies())
    yaml_.emplace(std::pair(record.workspace, record.workload), std::move(record.yaml));
}

const std::string* PolicyBook::find(WorkspaceId workspace, Workload workload) const {
  const auto found = yaml_.find({workspace, workload});
  return found == yaml_.end() ? nullptr : &found->second;
}

Result<config::Policies> PolicyBook::in(const WorkspaceRecord& workspace, Workload workload) const {
  config::Policies policies;
  for (const auto& [id, whose] :
       {std::pair{workspace.id, fmt::format("the policy of workspace '{}'", workspace.name)},
        std::pair{WorkspaceId(0), std::string("the cluster's policy")}}) {
    const auto* yaml = find(id, workload);
    if (yaml == nullptr) continue;
    auto policy = config::parse_policy(workload, *yaml);
    if (!policy)
      return failed_precondition("{} for {} is not valid in this release; set it again: {}", whose,
                                 words_of(workload), join_errors(policy.error()).message());
    policy->whose = whose;
    policies.push_back(*std::move(policy));
  }
  return policies;
}

Result<PolicyBook::Changes> PolicyBook::put(store::ConfigPolicyRecord record) {
  if (const auto policy = config::parse_policy(record.workload, record.yaml); !policy)
    return tl::unexpected(join_errors(policy.error()));
  yaml_[{record.workspace, record.workload}] = record.yaml;
  Changes changes;
  changes.push_back(store::PutConfigPolicy{std::move(record)});
  return changes;
}

PolicyBook::Changes PolicyBook::remove(WorkspaceId workspace, Workload workload) {
  Changes changes;
  if (yaml_.erase({workspace, workload}) > 0)
    changes.push_back(store::DeleteConfigPolicy{workspace, workload});
  return changes;
}

void PolicyBook::forget(WorkspaceId workspace) {
  for (const auto workload : {Workload::Experiment, Workload::Task}) yaml_.erase({workspace, workload});
}

Result<config::Policies> policies_of(Services& s, ProjectId id) {
  const auto* project = s.workspaces.project(id);
  const auto* workspace =
      s.workspaces.find(project == nullptr ? store::kUncategorizedWorkspace : project->workspace);
  return s.policies.in(*workspace, Workload::Experiment);
}

Result<void> check_policies(Services& s, ProjectId project, const experiment::Reconfiguration& change) {
  DET_TRY(const auto policies, policies_of(s, project));
  if (policies.empty()) return {};
  const auto check = [&](const char* section, const char* field, const auto& value) -> Result<void> {
    return value ? config::check_change(policies, section, field, json::value(*value)) : Result<void>();
  };
  const std::optional<std::nullptr_t> taken_away =
      change.no_max_slots ? std::optional(nullptr) : std::nullopt;
  for (auto& fine :
       {check("resources", "max_slots", change.max_slots), check("resources", "max_slots", taken_away),
        check("resources", "weight", change.weight), check("resources", "priority", change.priority),
        check("resources", "resource_pool", change.resource_pool),
        check("resources", "agent_label", change.agent_label),
        check("searcher", "max_trials", change.max_trials),
        check("searcher", "max_concurrent_trials", change.max_concurrent_trials),
        check("searcher", "max_length", change.max_length),
        check("searcher", "num_rounds", change.num_rounds),
        check("checkpoint_storage", "save_experiment_best", change.save_experiment_best),
        check("checkpoint_storage", "save_trial_best", change.save_trial_best),
        check("checkpoint_storage", "save_trial_latest", change.save_trial_latest)})
    if (!fine) return fine;
  return {};
}

Result<void> check_log_retention(Services& s, ProjectId project, std::int64_t days) {
  DET_TRY(const auto policies, policies_of(s, project));
  return config::check_change(policies, "retention_policy", "log_retention_days", days);
}

Result<void> check_policies(Services& s, WorkspaceId id, std::int64_t priority) {
  const auto* workspace = s.workspaces.find(id);
  if (workspace == nullptr) return {};
  DET_TRY(const auto policies, s.policies.in(*workspace, Workload::Task));
  return config::check_change(policies, "resources", "priority", priority);
}

}  // namespace det::master
