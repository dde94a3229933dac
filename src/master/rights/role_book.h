#pragma once

#include <map>
#include <set>
#include <vector>

#include "det/access/decision.h"
#include "det/master/rights/group_book.h"
#include "det/store/store.h"

namespace det::master {

/// Who has which role where, themselves or by a group, whole and in memory, and whether that counts.
///
/// Every change is made here at once and returned as changes for the store; whoever asked for it is answered
/// after these are durable. What is assigned in mode Basic counts from the day on which the master runs in
/// mode Rbac.
///
/// Threads: not safe; on the master's strand.
class RoleBook {
 public:
  using Record = store::RoleAssignmentRecord;
  using Changes = std::vector<store::Change>;

  RoleBook(store::Store& store, access::Mode mode);  ///< Reads the store.

  access::Mode mode() const { return mode_; }
  bool enforced() const { return mode_ == access::Mode::Rbac; }

  /// The first time: who is an administrator becomes a ClusterAdmin, so that there is one.
  Changes begin(const std::map<UserId, store::UserRecord>& users);

  const std::set<Record>& all() const { return assignments_; }
  const GroupBook& groups() const { return groups_; }
  GroupBook& groups() { return groups_; }
  std::vector<access::Grant> grants(UserId user) const;  ///< also those of the user's groups

  Changes assign(const std::vector<Record>& records);
  Changes remove(const std::vector<Record>& records);
  /// The workspace is gone, and with it the roles in it.
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
