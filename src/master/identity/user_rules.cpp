#include "det/master/identity/user_rules.h"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>

#include "det/config/agent_user_group.h"
#include "det/http/wire/wire.h"
#include "det/master/lists/list_order.h"
#include "det/master/objects.h"

namespace det::master {
namespace {

bool is_active_administrator(const store::UserRecord& user) {
  return user.admin && user.active;
}

/// None where the request takes it away.
Result<std::optional<config::AgentUserGroup>> read_agent_user_group(const json::value& value) {
  DET_TRY(auto group, http::from_wire<config::AgentUserGroup>(value));
  if (group == config::AgentUserGroup{}) return std::nullopt;
  if (auto wrong = config::problem(group, true)) return tl::unexpected(*std::move(wrong));
  return group;
}

/// By the id, or what is named; equal ones by their ids.
void sort_users(std::vector<api::User>& users, std::string_view sort_by) {
  const auto by = [&](auto member) { std::ranges::stable_sort(users, {}, member); };
  if (sort_by == "SORT_BY_USER_NAME" || sort_by == "2") by(&api::User::username);
  if (sort_by == "SORT_BY_ADMIN" || sort_by == "3") by(&api::User::admin);
  if (sort_by == "SORT_BY_ACTIVE" || sort_by == "4") by(&api::User::active);
  if (sort_by == "SORT_BY_MODIFIED_TIME" || sort_by == "5")
    by([](const api::User& user) { return user.modified_at; });
  if (sort_by == "SORT_BY_DISPLAY_NAME" || sort_by == "1") by(&api::User::display_name);
  if (sort_by == "SORT_BY_NAME" || sort_by == "6")
    by([](const api::User& user) { return user.display_name.empty() ? user.username : user.display_name; });
}

}  // namespace

Result<void> check_user_change(const UserPrincipal& caller, const UserPatchRequest& request) {
  const bool own = caller.id == request.user_id;
  const bool only_own_settings = !request.username && !request.admin && !request.active && !request.remote &&
                                 request.agent_user_group.value_or(nullptr).is_null();
  if (caller.admin || (own && only_own_settings)) return {};
  return fail(ErrorCode::PermissionDenied, "user '{}' is not an administrator", caller.username);
}

Result<store::UserRecord> patched_user(store::UserRecord record, const UserPatchRequest& request) {
  if (request.username) record.username = *request.username;
  if (request.display_name) record.display_name = *request.display_name;
  if (request.admin) record.admin = *request.admin;
  if (request.active) record.active = *request.active;
  if (request.remote) record.remote = *request.remote;
  if (request.agent_user_group && !request.agent_user_group->is_null()) {
    DET_TRY(record.agent_user_group, read_agent_user_group(*request.agent_user_group));
  }
  return record;
}

Result<void> check_administrator_remains(const UsersById& users, const store::UserRecord& changed) {
  const auto& before = users.at(changed.id);
  if (!is_active_administrator(before) || is_active_administrator(changed)) return {};
  const auto administrators =
      std::ranges::count_if(users, [](const auto& user) { return is_active_administrator(user.second); });
  if (administrators > 1) return {};
  return failed_precondition(
      "user '{}' is the last active administrator; make another user an administrator first",
      before.username);
}

Result<void> check_cluster_admin_remains(const UsersById& users, const store::UserRecord& changed,
                                         const std::function<bool(const UsersById&)>& has_administrator) {
  if (!users.at(changed.id).active || changed.active) return {};
  auto after = users;
  after.at(changed.id).active = false;
  if (has_administrator(after)) return {};
  return failed_precondition(
      "user '{}' is the last active ClusterAdmin; assign that role to another user first", changed.username);
}

std::vector<UserId> filtered_users(const UsersById& users, const UserFilters& filters, UserId caller) {
  const auto matches = [&](const store::UserRecord& user) {
    return (!filters.admin || user.admin == *filters.admin) &&
           (boost::algorithm::icontains(user.username, filters.name) ||
            boost::algorithm::icontains(user.display_name, filters.name));
  };
  std::vector<UserId> ids;
  for (const auto& [id, user] : users)
    if (id != caller && matches(user)) ids.push_back(id);
  return ids;
}

Result<std::vector<api::User>> list_users(const UsersById& users, const UsersQuery& query) {
  if (auto known = check_order(query.sort_by, query.order_by); !known)
    return tl::unexpected(std::move(known).error());
  std::vector<api::User> listed;
  for (const auto& [id, user] : users) {
    if (query.active && user.active != *query.active) continue;
    if (query.admin && user.admin != *query.admin) continue;
    if (user.username.find(query.name) != std::string::npos) listed.push_back(to_api(user));
  }
  sort_users(listed, query.sort_by);
  if (is_descending(query.order_by)) std::ranges::reverse(listed);
  return listed;
}

}  // namespace det::master
