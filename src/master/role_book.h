#pragma once

#include <map>
#include <set>
#include <vector>

#include "det/access/decision.h"
#include "det/store/store.h"

namespace det::master {

/// Who has which role where, whole and in memory, and whether that counts.
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
  std::vector<access::Grant> grants(UserId user) const;

  Changes assign(const std::vector<Record>& records);
  Changes remove(const std::vector<Record>& records);
  /// The workspace is gone, and with it the roles in it.
  Changes forget_workspace(std::int64_t workspace);

  /// Whether an active user is ClusterAdmin, by another assignment than these.
  bool has_administrator(const std::map<UserId, store::UserRecord>& users,
                         const std::vector<Record>& without = {}) const;

 private:
  access::Mode mode_;
  bool begun_ = false;
  std::set<Record> assignments_;
};

}  // namespace det::master
