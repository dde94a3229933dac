#include "det/master/workspaces/workspace_objects.h"

#include "det/config/experiment_config.h"
#include "det/master/objects.h"

namespace det::master {
namespace {

/// What API objects say of a deletion: the state, and why it failed.
std::pair<std::string, std::string> state_of(const Workspaces::Deletion* deletion) {
  if (deletion == nullptr) return {"WORKSPACE_STATE_UNSPECIFIED", ""};
  return {deletion->failed ? "WORKSPACE_STATE_DELETE_FAILED" : "WORKSPACE_STATE_DELETING", deletion->error};
}

json::value without_secrets(const json::value& storage) {
  if (!storage.is_object()) return storage;
  return config::masked(json::object{{"checkpoint_storage", storage}}).at("checkpoint_storage");
}

}  // namespace

WorkspaceObject to_object(Services& s, const WorkspaceRecord& r, const ProjectCountsById& counts,
                          UserId user) {
  const auto pinned_at = s.workspaces.pinned(user, r.id);
  WorkspaceObject object{.id = r.id,
                         .name = r.name,
                         .archived = r.archived,
                         .immutable = r.id == store::kUncategorizedWorkspace,
                         .pinned = pinned_at.has_value(),
                         .num_projects = static_cast<std::int32_t>(s.workspaces.project_count(r.id)),
                         .username = username(s, r.owner),
                         .user_id = r.owner,
                         .default_compute_pool = r.default_compute_pool,
                         .default_aux_pool = r.default_aux_pool,
                         .checkpoint_storage_config = without_secrets(r.checkpoint_storage),
                         .agent_user_group = r.agent_user_group,
                         .pinned_at = pinned_at};
  std::tie(object.state, object.error_message) = state_of(s.workspaces.deletion(r.id));
  for (const auto& [id, count] : counts) {
    const auto* project = s.workspaces.project(id);
    if ((project == nullptr ? store::kUncategorizedWorkspace : project->workspace) == r.id)
      object.num_experiments += static_cast<std::int32_t>(count.experiments);
  }
  return object;
}

ProjectObject to_object(Services& s, const ProjectRecord& r, const ProjectCountsById& counts) {
  const auto* workspace = s.workspaces.find(r.workspace);
  const auto found = counts.find(r.id);
  const auto count = found == counts.end() ? store::ProjectCounts{} : found->second;
  const auto* deletion = s.workspaces.deletion(r.id);
  if (deletion == nullptr) deletion = s.workspaces.deletion(r.workspace);
  auto [state, error] = state_of(deletion);
  return {.id = r.id,
          .name = r.name,
          .key = r.key,
          .description = r.description,
          .workspace_id = r.workspace,
          .workspace_name = workspace == nullptr ? "" : workspace->name,
          .archived = s.workspaces.closed(r),
          .immutable = r.id == store::kUncategorizedProject,
          .num_experiments = static_cast<std::int32_t>(count.experiments),
          .num_active_experiments = static_cast<std::int32_t>(count.active),
          .num_runs = static_cast<std::int32_t>(count.trials),
          .last_experiment_started_at = count.last_started,
          .username = username(s, r.owner),
          .user_id = r.owner,
          .state = std::move(state),
          .error_message = std::move(error),
          .notes = r.notes};
}

asio::awaitable<ProjectCountsById> count_projects(Services& s) {
  auto read = [&s] { return s.store.project_counts(); };
  auto counts = co_await offload(s, std::move(read));
  co_return counts;
}

Result<WorkspaceRecord> find_workspace(Services& s, WorkspaceId id) {
  const auto* found = s.workspaces.find(id);
  if (found == nullptr) return not_found("workspace {} not found", id);
  return *found;
}

Result<ProjectRecord> find_project(Services& s, ProjectId id) {
  const auto* found = s.workspaces.project(id);
  if (found == nullptr) return not_found("project {} not found", id);
  return *found;
}

std::vector<UserId> ids_of(Services& s, const std::any& principal, const std::vector<std::string>& names) {
  std::vector<UserId> ids;
  for (auto name : names) {
    if (name == "me")
      if (const auto me = require_actor(s, principal)) name = me->username;
    const auto* user = s.auth.user(name);
    ids.push_back(user != nullptr ? user->id : UserId{-1});
  }
  return ids;
}

}  // namespace det::master
