#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "det/config/experiment_config.h"
#include "det/master/workspaces/workspaces.h"

namespace det::master {

/// Which workspaces alone may use a resource pool; a pool that is bound to none is open to all. Whole and in
/// memory; changes are made here at once and returned for the store, as in RoleBook.
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
  /// The workspace is gone. Requires: no pool is its alone, for that would be open to all from now on.
  Changes forget(WorkspaceId workspace);

 private:
  Changes changed() const;

  std::map<std::string, Bound> bound_;
};

struct Services;

/// Where an experiment of this project runs: the pool that it names, its workspace's usual one, or the
/// cluster's.
std::string pool_in(Services& s, ProjectId project, const config::ExperimentConfig& config);
/// Whether what is in this workspace may run in the pool; if not, which pools it may use.
Result<void> check_pool(Services& s, WorkspaceId workspace, const std::string& pool);
/// The same for the experiments of a project.
Result<void> check_pool(Services& s, ProjectId project, const std::string& pool);
/// Those that the workspace may use.
std::vector<std::string> pools_open_to(Services& s, WorkspaceId workspace);

}  // namespace det::master
