#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "det/access/decision.h"
#include "det/master/rights/access_rules.h"
#include "det/master/services.h"

/// Asks the decisions of det/access: for whom a call acts, and where the things are that it names.
namespace det::master {

/// The user, or for the processes of a live allocation its owner, with the roles. Gone where the allocation
/// is over; PermissionDenied for agents.
Result<access::Caller> caller_of(Services& s, const std::any& principal);

/// Whether the caller may make this call, before its handler sees it: what it is about, in words for the
/// audit log. Named things that do not exist are left to the handler; those that the caller may not see are
/// NotFound in the same words.
asio::awaitable<Result<std::string>> check_rights(Services& s, const std::string& operation,
                                                  const http::Request& request, const std::any& principal);

/// The same for one thing, by its id as JSON: for handlers whose rule says that they ask. What does not
/// exist is allowed: whoever asks finds out.
asio::awaitable<Result<void>> may(Services& s, std::any principal, access::Permission permission, Kind kind,
                                  json::value id);
/// For something in this workspace, of whoever calls.
Result<void> may_in(Services& s, const std::any& principal, access::Permission permission,
                    std::int64_t workspace);

/// Where the caller may see what needs `permission`: lists leave out the rest.
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
