#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "det/base/id.h"
#include "det/base/time.h"

/// Who has which role, and who did what.
namespace det::store {

using GroupId = Id<struct GroupTag>;

/// Users who have roles together.
struct GroupRecord {
  GroupId id;
  std::string name;
  std::set<UserId> members;
};

struct RoleAssignmentRecord {
  UserId user;  ///< none where it is a group's
  std::int64_t role = 0;
  std::int64_t workspace = 0;  ///< 0: for the whole cluster
  GroupId group{};             ///< none where it is a user's
  friend auto operator<=>(const RoleAssignmentRecord&, const RoleAssignmentRecord&) = default;
};

/// One call that changed something, or was refused.
struct AuditRecord {
  std::int64_t id = 0;  ///< given by the store, ascending
  Time time;
  UserId user;                  ///< 0: nobody who is known
  std::string username;         ///< at that time; of a log-in what was typed
  std::string by_task;          ///< the allocation that called for the user; empty: the user itself
  std::string address;          ///< "127.0.0.1:51234"
  std::string operation, path;  ///< "POST /api/v1/experiments/{id}/kill", "/api/v1/experiments/7/kill"
  std::string about;            ///< "experiment 7": what the call named, as far as that was looked up
  int status = 0;               ///< of the answer
};

struct PutRoleAssignment {
  RoleAssignmentRecord record;
};
struct DeleteRoleAssignment {
  RoleAssignmentRecord record;
};
/// Replaces name and members.
struct PutGroup {
  GroupRecord record;
};
/// Its roles are taken away by changes of their own.
struct DeleteGroup {
  GroupId id;
};
struct AppendAudit {
  AuditRecord record;
};
struct PruneAudit {
  Time before;  ///< what is older goes
};

/// Which entries to list, the newest first; a condition left empty lets all through.
struct AuditQuery {
  std::string username;
  std::string text;  ///< in the operation, the path or what it was about
  std::optional<Time> after, before;
  bool only_refused = false;   ///< answered with 400 or more
  std::int64_t before_id = 0;  ///< only entries with a smaller id; 0: all
  std::int64_t limit = 100;
};

}  // namespace det::store
