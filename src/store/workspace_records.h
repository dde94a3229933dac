#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "det/base/id.h"
#include "det/base/json.h"
#include "det/base/time.h"
#include "det/config/agent_user_group.h"
#include "det/config/policy.h"

/// The rows that tell to whom experiments belong.
namespace det::store {

using WorkspaceId = Id<struct WorkspaceTag>;
using ProjectId = Id<struct ProjectTag>;

/// The workspace and the project of what nobody put elsewhere; they are always there.
inline constexpr WorkspaceId kUncategorizedWorkspace{1};
inline constexpr ProjectId kUncategorizedProject{1};

/// A team's projects.
struct WorkspaceRecord {
  WorkspaceId id;
  std::string name;  ///< unique
  bool archived = false;
  UserId owner;
  Time creation_time;
  std::string default_compute_pool, default_aux_pool;  ///< of what names no pool; empty: the cluster's
  json::value checkpoint_storage;                      ///< of experiments that name none; null: the cluster's
  std::optional<config::AgentUserGroup> agent_user_group{};  ///< of its tasks; goes before the owner's
};
BOOST_DESCRIBE_STRUCT(WorkspaceRecord, (),
                      (id, name, archived, owner, creation_time, default_compute_pool, default_aux_pool,
                       checkpoint_storage, agent_user_group))

/// A page of notes about a project.
struct ProjectNote {
  std::string name, contents;
};
BOOST_DESCRIBE_STRUCT(ProjectNote, (), (name, contents))

/// Experiments that belong together.
struct ProjectRecord {
  ProjectId id;
  WorkspaceId workspace;
  std::string name;  ///< unique in its workspace
  std::string key;   ///< a short name, unique in the cluster
  std::string description;
  std::vector<ProjectNote> notes;
  bool archived = false;
  UserId owner;
  Time creation_time;
};
BOOST_DESCRIBE_STRUCT(ProjectRecord, (),
                      (id, workspace, name, key, description, notes, archived, owner, creation_time))

/// A workspace that a user keeps at hand.
struct WorkspacePin {
  UserId user;
  WorkspaceId workspace;
  Time time;
};
BOOST_DESCRIBE_STRUCT(WorkspacePin, (), (user, workspace, time))

/// What an administrator decides about the configurations of others, as it was written.
struct ConfigPolicyRecord {
  WorkspaceId workspace;  ///< 0: of the whole cluster
  config::Workload workload = config::Workload::Experiment;
  std::string yaml;
  friend bool operator==(const ConfigPolicyRecord&, const ConfigPolicyRecord&) = default;
};

/// What a project holds.
struct ProjectCounts {
  std::int64_t experiments = 0, active = 0, trials = 0;
  std::optional<Time> last_started;
};
BOOST_DESCRIBE_STRUCT(ProjectCounts, (), (experiments, active, trials, last_started))

}  // namespace det::store
