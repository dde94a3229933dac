#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "det/api/objects.h"
#include "det/master/identity/auth.h"

/// Decisions about users, without I/O: who may change what of a user, which changes are refused, and lists.
namespace det::master {

using UsersById = std::map<UserId, store::UserRecord>;

/// PATCH /api/v1/users/{userId}; what is absent stays as it is.
struct UserPatchRequest {
  UserId user_id;
  std::optional<std::string> username, display_name, password;
  std::optional<bool> admin, active, remote;
  bool is_hashed = false;
  std::optional<json::value> agent_user_group;  ///< {}: none; null: unchanged
};
BOOST_DESCRIBE_STRUCT(UserPatchRequest, (),
                      (user_id, username, display_name, password, admin, active, remote, is_hashed,
                       agent_user_group))

/// GET /api/v1/users
struct UsersQuery {
  std::int32_t offset = 0, limit = 0;
  std::optional<bool> active, admin;
  std::string name, sort_by, order_by;
};
BOOST_DESCRIBE_STRUCT(UsersQuery, (), (offset, limit, active, admin, name, sort_by, order_by))

/// Which users PATCH /api/v1/users changes.
struct UserFilters {
  std::string name;  ///< a part of the user's or the display name, in any case
  std::optional<bool> admin;
};
BOOST_DESCRIBE_STRUCT(UserFilters, (), (name, admin))

/// Administrators may change everything of all users, others only their own password and display name.
Result<void> check_user_change(const UserPrincipal& caller, const UserPatchRequest& request);

/// The user as the request leaves it, without the password.
Result<store::UserRecord> patched_user(store::UserRecord record, const UserPatchRequest& request);

/// Refuses the change that takes away the last active administrator. Where roles are not enforced.
Result<void> check_administrator_remains(const UsersById& users, const store::UserRecord& changed);

/// Refuses to deactivate the last active user who is ClusterAdmin. Where roles are enforced; then
/// `has_administrator` is RoleBook::has_administrator.
Result<void> check_cluster_admin_remains(const UsersById& users, const store::UserRecord& changed,
                                         const std::function<bool(const UsersById&)>& has_administrator);

/// Those that match, without the caller: an administrator who deactivates everybody goes on.
std::vector<UserId> filtered_users(const UsersById& users, const UserFilters& filters, UserId caller);

/// All pages of the list, in its order; equal users by their ids, or the reverse in descending order.
Result<std::vector<api::User>> list_users(const UsersById& users, const UsersQuery& query);

}  // namespace det::master
