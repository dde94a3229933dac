#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "det/config/policy.h"
#include "det/master/workspaces/workspaces.h"

namespace det::experiment {
struct Reconfiguration;
}

namespace det::master {

struct Services;

/// The configuration policies of the cluster (workspace 0) and of workspaces, completely in memory. Changes
/// are made here at once and returned for the store, as in RoleBook.
class PolicyBook {
 public:
  using Changes = std::vector<store::Change>;

  explicit PolicyBook(store::Store& store);  ///< Reads the store.

  /// As it was written; null: there is none.
  const std::string* find(WorkspaceId workspace, config::Workload workload) const;
  /// Those that hold in the workspace. FailedPrecondition where one of an earlier release cannot be read.
  Result<config::Policies> in(const WorkspaceRecord& workspace, config::Workload workload) const;

  /// InvalidArgument with all that is wrong; otherwise it replaces what was there.
  Result<Changes> put(store::ConfigPolicyRecord record);
  Changes remove(WorkspaceId workspace, config::Workload workload);
  /// The workspace is gone, and the store knows that its policies are, too.
  void forget(WorkspaceId workspace);

 private:
  std::map<std::pair<WorkspaceId, config::Workload>, std::string> yaml_;
};

/// Those for experiments where this project is.
Result<config::Policies> policies_of(Services& s, ProjectId project);
/// The configuration that results from the layers under these policies, checked against their limits.
Result<config::Resolved> resolve(Services& s, const config::Layers& layers, const config::Policies& policies);
/// Whether they let a submitted experiment of this project change like that.
Result<void> check_policies(Services& s, ProjectId project, const experiment::Reconfiguration& change);
/// Whether they let its logs be kept for so many days.
Result<void> check_log_retention(Services& s, ProjectId project, std::int64_t days);
/// Whether they let a submitted task of this workspace have that priority.
Result<void> check_policies(Services& s, WorkspaceId workspace, std::int64_t priority);

}  // namespace det::master
