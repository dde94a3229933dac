#pragma once

#include <map>
#include <set>
#include <vector>

#include "det/access/decision.h"
#include "det/master/rights/group_book.h"
#include "det/store/store.h"

namespace det::master {

/// The role assignments of users and groups, completely in memory, and whether roles are enforced.
///
/// Every change is made here at once and returned as changes for the store; the call is answered after these
/// are durable. Assignments made in mode Basic take effect once the master runs in mode Rbac.
///
/// Threads: not safe; on the master's strand.
class RoleBook {
 public:
  using Record = store::RoleAssignmentRecord;
  using Changes = std::vector<store::Change>;

  RoleBook(store::Store& store, access::Mode mode);  ///< Reads the store.

  access::Mode mode() const { return mode_; }
  bool enforced() const { return mode_ == access::Mode::Rbac; }

  /// On the first start with roles, makes all administrators ClusterAdmin, so that there is one.
  Changes begin(const std::map<UserId, store::UserRecord>& users);

  const std::set<Record>& all() const { return assignments_; }
  const GroupBook& groups() const { return groups_; }
  GroupBook& groups() { return groups_; }
  std::vector<access::Grant> grants(UserId user) const;  ///< also those of the user's groups

  Changes assign(const std::vector<Record>& records);
  Changes remove(const std::vector<Record>& records);
  /// Removes the role assignments of a deleted workspace.
  Changes forget_workspace(std::int64_t workspace);
  /// The group and its roles.
  Changes forget_group(GroupId group);

  /// Whether an active user is ClusterAdmin. To ask what a change would bring about, make it in a copy.
  bool has_administrator(const std::map<UserId, store::UserRecord>& users) const;

 private:
  access::Mode mode_;
  bool begun_ = false;
  std::set<Record> assignments_;
  GroupBook groups_;
};

}  // namespace det::master
