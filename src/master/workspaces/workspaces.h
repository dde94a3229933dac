#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"
#include "det/store/store.h"

namespace det::master {

using store::ProjectId;
using store::ProjectRecord;
using store::WorkspaceId;
using store::WorkspaceRecord;

/// Workspaces and their projects, completely in memory: workspaces hold projects, projects hold experiments.
/// The workspace and the project "Uncategorized" (id 1) are always there and cannot be changed.
///
/// Every change is made here at once and returned as changes for the store; the call is answered after these
/// are durable. So two calls cannot take the same name.
///
/// Threads: not safe; on the master's strand.
class Workspaces {
 public:
  explicit Workspaces(store::Store& store);  ///< Reads the store.

  using Changes = std::vector<store::Change>;

  const std::map<WorkspaceId, WorkspaceRecord>& all() const { return workspaces_; }
  const std::map<ProjectId, ProjectRecord>& projects() const { return projects_; }
  /// Null: there is none.
  const WorkspaceRecord* find(WorkspaceId id) const;
  const WorkspaceRecord* find(std::string_view name) const;
  const ProjectRecord* project(ProjectId id) const;
  const ProjectRecord* project(WorkspaceId workspace, std::string_view name) const;
  const ProjectRecord* project_with_key(std::string_view key) const;
  std::size_t project_count(WorkspaceId workspace) const;
  /// Whether the project accepts nothing new, because it or its workspace is archived.
  bool closed(const ProjectRecord& project) const;
  /// When the user pinned the workspace.
  std::optional<Time> pinned(UserId user, WorkspaceId workspace) const;

  /// The project with these names; NotFound or FailedPrecondition name them as the caller did.
  Result<ProjectId> place(const std::string& workspace, const std::string& project) const;
  /// Whether experiments can be added to the project: NotFound, or FailedPrecondition if it is archived.
  Result<void> check_open(ProjectId project) const;

  /// AlreadyExists for a name that is taken, InvalidArgument for one that cannot be,
  /// FailedPrecondition for what cannot be changed. `record` gets its id.
  Result<Changes> create(WorkspaceRecord& record);
  Result<Changes> create(ProjectRecord& record);  ///< an empty key is made from the name
  /// Replaces what has this id; the same errors.
  Result<Changes> change(WorkspaceRecord record);
  Result<Changes> change(ProjectRecord record);
  /// FailedPrecondition while it holds projects.
  Result<Changes> remove(WorkspaceId id);
  /// Requires: it holds no experiments.
  Result<Changes> remove(ProjectId id);

  /// The deletion of a place with its contents: in progress, or why it failed.
  struct Deletion {
    bool failed = false;
    std::string error;
  };
  /// Null: the place is not being deleted.
  const Deletion* deletion(ProjectId id) const;
  const Deletion* deletion(WorkspaceId id) const;
  /// From now on the place accepts nothing new and cannot be changed, until it is removed or the deletion
  /// fails.
  Result<Changes> begin_deletion(ProjectId id);
  Result<Changes> begin_deletion(WorkspaceId id);
  /// Undoes `begin_deletion`. Requires: its changes were not written.
  void give_up_deletion(ProjectId id) { project_deletions_.erase(id); }
  void give_up_deletion(WorkspaceId id) { workspace_deletions_.erase(id); }
  Result<Changes> fail_deletion(ProjectId id, std::string error);
  Result<Changes> fail_deletion(WorkspaceId id, std::string error);
  /// Those whose deletion goes on.
  std::vector<ProjectId> projects_in_deletion() const;
  std::vector<WorkspaceId> workspaces_in_deletion() const;
  Changes pin(UserId user, WorkspaceId workspace, std::optional<Time> when);

 private:
  /// FailedPrecondition where the place is being deleted.
  Result<void> check_stays(WorkspaceId id) const;
  Result<void> check_stays(const ProjectRecord& project) const;
  store::Change kept_deletions() const;
  Result<void> check(const WorkspaceRecord& record) const;
  Result<void> check(const ProjectRecord& record) const;
  std::string key_for(const std::string& name) const;

  std::map<WorkspaceId, WorkspaceRecord> workspaces_;
  std::map<ProjectId, ProjectRecord> projects_;
  std::map<std::pair<UserId, WorkspaceId>, Time> pins_;
  std::map<ProjectId, Deletion> project_deletions_;
  std::map<WorkspaceId, Deletion> workspace_deletions_;
  std::int64_t next_workspace_ = 2, next_project_ = 2;
};

}  // namespace det::master
