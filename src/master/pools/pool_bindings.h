#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "det/config/experiment_config.h"
#include "det/master/workspaces/workspaces.h"

namespace det::master {

/// The workspaces to which each resource pool is bound. Only they can use it; a pool without bindings is open
/// to all. Completely in memory; changes are made here at once and returned for the store, as in RoleBook.
///
/// Threads: not safe; on the master's strand.
class PoolBindings {
 public:
  using Changes = std::vector<store::Change>;
  using Bound = std::set<WorkspaceId>;

  explicit PoolBindings(store::Store& store);  ///< Reads the store.

  /// Empty: it is open to all.
  const Bound& of(const std::string& pool) const;
  bool open_to(const std::string& pool, WorkspaceId workspace) const;

  /// The pool is bound to exactly these from now on.
  Changes set(const std::string& pool, Bound bound);
  /// A pool that is bound to this workspace and to no other; empty: there is none.
  std::string only_of(WorkspaceId workspace) const;
  /// Forgets a deleted workspace. Requires: no pool is bound to it alone, because that pool would become open
  /// to all.
  Changes forget(WorkspaceId workspace);

 private:
  Changes changed() const;

  std::map<std::string, Bound> bound_;
};

struct Services;

/// The pool of an experiment in this project: the one that it names, else the default of its workspace, else
/// that of the cluster.
std::string pool_in(Services& s, ProjectId project, const config::ExperimentConfig& config);
/// Whether this workspace can use the pool; if not, the error names the pools that it can use.
Result<void> check_pool(Services& s, WorkspaceId workspace, const std::string& pool);
/// The same for the experiments of a project.
Result<void> check_pool(Services& s, ProjectId project, const std::string& pool);
/// Those that the workspace may use.
std::vector<std::string> pools_open_to(Services& s, WorkspaceId workspace);

}  // namespace det::master
