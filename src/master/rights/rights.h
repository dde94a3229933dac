#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "det/access/decision.h"
#include "det/master/rights/access_rules.h"
#include "det/master/services.h"

/// Connects the API with the decisions of det/access: finds out for whom a call acts, and the workspace of
/// the objects that it names.
namespace det::master {

/// The caller with its roles: the user, or the owner of a live allocation for its processes. Gone if the
/// allocation is over; PermissionDenied for agents.
Result<access::Caller> caller_of(Services& s, const std::any& principal);

/// Checks, before the handler runs, whether the caller can make this call. Returns what the call is about,
/// for the audit log. Objects that do not exist are left to the handler; those that the caller cannot view
/// are NotFound with the same message.
asio::awaitable<Result<std::string>> check_rights(Services& s, const std::string& operation,
                                                  const http::Request& request, const std::any& principal);

/// The same for one object, by its id as JSON, for handlers whose rule says that they ask. An object that
/// does not exist is allowed: the handler finds that out.
asio::awaitable<Result<void>> may(Services& s, std::any principal, access::Permission permission, Kind kind,
                                  json::value id);
/// Checks a permission for an object of the caller in this workspace.
Result<void> may_in(Services& s, const std::any& principal, access::Permission permission,
                    std::int64_t workspace);

/// The workspaces in which the caller has `permission`: lists leave out objects of the others.
class Sight {
 public:
  /// Requires: a principal. Agents and tasks that are over see nothing.
  Sight(Services& s, const std::any& principal, access::Permission permission);

  bool all() const { return !workspaces_; }
  bool workspace(std::int64_t id) const { return !workspaces_ || workspaces_->contains(id); }
  bool project(std::int64_t id) const;
  /// For queries of the store; none: all.
  std::optional<std::vector<std::int64_t>> projects() const;

 private:
  Services& s_;
  std::optional<std::set<std::int64_t>> workspaces_;
};

}  // namespace det::master
