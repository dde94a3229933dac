#pragma once

#include <algorithm>
#include <map>

#include "det/api/objects.h"
#include "det/base/text.h"
#include "det/master/services.h"
#include "det/master/workspaces/workspaces.h"

/// What the routes of workspaces and of projects share.
namespace det::master {

struct WorkspaceObject {
  WorkspaceId id;
  std::string name;
  bool archived = false, immutable = false, pinned = false;
  std::int32_t num_projects = 0, num_experiments = 0;
  std::string username;
  UserId user_id;
  std::string state = "WORKSPACE_STATE_UNSPECIFIED", error_message;
  std::string default_compute_pool, default_aux_pool;
  json::value checkpoint_storage_config;
  std::optional<config::AgentUserGroup> agent_user_group;
  std::optional<Time> pinned_at;
};
BOOST_DESCRIBE_STRUCT(WorkspaceObject, (),
                      (id, name, archived, immutable, pinned, num_projects, num_experiments, username,
                       user_id, state, error_message, default_compute_pool, default_aux_pool,
                       checkpoint_storage_config, agent_user_group, pinned_at))

struct ProjectObject {
  ProjectId id;
  std::string name, key, description;
  WorkspaceId workspace_id;
  std::string workspace_name;
  bool archived = false, immutable = false;
  std::int32_t num_experiments = 0, num_active_experiments = 0, num_runs = 0;
  std::optional<Time> last_experiment_started_at;
  std::string username;
  UserId user_id;
  std::string state = "WORKSPACE_STATE_UNSPECIFIED", error_message;
  std::vector<store::ProjectNote> notes;
};
BOOST_DESCRIBE_STRUCT(ProjectObject, (),
                      (id, name, key, description, workspace_id, workspace_name, archived, immutable,
                       num_experiments, num_active_experiments, num_runs, last_experiment_started_at,
                       username, user_id, state, error_message, notes))

/// How many experiments are where; from the store.
using ProjectCountsById = std::map<ProjectId, store::ProjectCounts>;

/// `counts`: of all projects; `user`: for whom it is pinned.
WorkspaceObject to_object(Services& s, const WorkspaceRecord& record, const ProjectCountsById& counts,
                          UserId user);
ProjectObject to_object(Services& s, const ProjectRecord& record, const ProjectCountsById& counts);

/// Reads the store, off the strand.
asio::awaitable<ProjectCountsById> count_projects(Services& s);

/// The record, or NotFound.
Result<WorkspaceRecord> find_workspace(Services& s, WorkspaceId id);
Result<ProjectRecord> find_project(Services& s, ProjectId id);

/// The ids of `names` ("me" too), for filters; -1 for who does not exist.
std::vector<UserId> ids_of(Services& s, const std::any& principal, const std::vector<std::string>& names);
/// Leaves the entries with this name; if none has it, those that differ in upper and lower case only. The
/// empty name is that of all.
template <class Object>
void keep_named(std::vector<Object>& entries, const std::string& name) {
  if (name.empty()) return;
  const bool exact =
      std::any_of(entries.begin(), entries.end(), [&](const Object& e) { return e.name == name; });
  std::erase_if(entries,
                [&](const Object& e) { return exact ? e.name != name : to_lower(e.name) != to_lower(name); });
}

}  // namespace det::master
