// Groups of users, which have roles together.

#include <algorithm>

#include "det/master/objects.h"
#include "det/master/rights/role_objects.h"
#include "det/master/workspaces/workspace_objects.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct GroupReply {
  GroupObject group;
};
BOOST_DESCRIBE_STRUCT(GroupReply, (), (group))
struct GroupCreateRequest {
  std::string name;
  std::vector<UserId> add_users;
  static bool required(std::string_view name) { return name == "name"; }
};
BOOST_DESCRIBE_STRUCT(GroupCreateRequest, (), (name, add_users))
struct ById {
  GroupId group_id;
};
BOOST_DESCRIBE_STRUCT(ById, (), (group_id))
struct GroupPutRequest {
  GroupId group_id;
  std::optional<std::string> name;
  std::vector<UserId> add_users, remove_users;
};
BOOST_DESCRIBE_STRUCT(GroupPutRequest, (), (group_id, name, add_users, remove_users))
struct AssignRequest {
  std::vector<UserId> user_ids;
  std::vector<GroupId> add_groups, remove_groups;
};
BOOST_DESCRIBE_STRUCT(AssignRequest, (), (user_ids, add_groups, remove_groups))
struct GroupSearchRequest {
  UserId user_id;    ///< whose groups; absent: all
  std::string name;  ///< the whole name
  std::int32_t offset = 0, limit = 0;
};
BOOST_DESCRIBE_STRUCT(GroupSearchRequest, (), (user_id, name, offset, limit))
struct GroupName {
  GroupId group_id;
  std::string name;
};
BOOST_DESCRIBE_STRUCT(GroupName, (), (group_id, name))
struct Found {
  GroupName group;
  std::int32_t num_members = 0;
};
BOOST_DESCRIBE_STRUCT(Found, (), (group, num_members))
struct GroupSearchReply {
  std::vector<Found> groups;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(GroupSearchReply, (), (groups, pagination))

Result<void> check_users(Services& s, const std::vector<UserId>& users) {
  for (const auto user : users)
    if (!s.auth.users().contains(user)) return not_found("user '{}' not found", user);
  return {};
}

Result<const store::GroupRecord*> find(Services& s, GroupId id) {
  const auto* group = s.roles.groups().find(id);
  if (group == nullptr) return not_found("group {} not found", id);
  return group;
}

/// That somebody stays ClusterAdmin if the roles become these.
Result<void> check_administrator(Services& s, const RoleBook& after) {
  const auto& users = s.auth.users();
  if (!s.roles.has_administrator(users) || after.has_administrator(users)) return {};
  return failed_precondition(
      "this change would remove the last ClusterAdmin; assign that role to another user first");
}

asio::awaitable<Result<GroupReply>> create(Services& s, GroupCreateRequest request) {
  if (auto known = check_users(s, request.add_users); !known) co_return tl::unexpected(known.error());
  store::GroupRecord record{
      .id = {}, .name = request.name, .members = {request.add_users.begin(), request.add_users.end()}};
  auto changes = s.roles.groups().create(record);
  if (!changes) co_return tl::unexpected(changes.error());
  co_await s.ledger.write(*std::move(changes));
  co_return GroupReply{to_object(s, record)};
}

asio::awaitable<Result<GroupReply>> change(Services& s, GroupPutRequest request) {
  const auto found = find(s, request.group_id);
  if (!found) co_return tl::unexpected(found.error());
  if (auto known = check_users(s, request.add_users); !known) co_return tl::unexpected(known.error());
  auto record = **found;
  if (request.name) record.name = *request.name;
  for (const auto user : request.remove_users)
    if (record.members.erase(user) == 0)
      co_return not_found("user {} is not in group '{}'", user, record.name);
  record.members.insert(request.add_users.begin(), request.add_users.end());
  auto after = s.roles;
  auto changes = after.groups().change(record);
  if (!changes) co_return tl::unexpected(changes.error());
  if (auto stays = check_administrator(s, after); !stays) co_return tl::unexpected(stays.error());
  s.roles.groups() = after.groups();
  co_await s.ledger.write(*std::move(changes));
  co_return GroupReply{to_object(s, record)};
}

/// All of it or, where one user or group is not there, nothing. Who is in a group already stays in it.
asio::awaitable<Result<Empty>> assign(Services& s, AssignRequest request) {
  if (auto known = check_users(s, request.user_ids); !known) co_return tl::unexpected(known.error());
  auto after = s.roles;
  GroupBook::Changes changes;
  const auto change_members = [&](const std::vector<GroupId>& groups, auto change_one) -> Result<void> {
    for (const auto id : groups) {
      const auto* group = after.groups().find(id);
      if (group == nullptr) return not_found("group {} not found", id);
      auto record = *group;
      for (const auto user : request.user_ids) change_one(record.members, user);
      auto changed = after.groups().change(std::move(record));
      if (!changed) return tl::unexpected(changed.error());
      std::ranges::move(*changed, std::back_inserter(changes));
    }
    return {};
  };
  auto done = change_members(request.add_groups, [](auto& members, UserId user) { members.insert(user); });
  if (done)
    done = change_members(request.remove_groups, [](auto& members, UserId user) { members.erase(user); });
  if (done) done = check_administrator(s, after);
  if (!done) co_return tl::unexpected(done.error());
  s.roles.groups() = after.groups();
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

asio::awaitable<Result<Empty>> remove(Services& s, ById request) {
  if (const auto found = find(s, request.group_id); !found) co_return tl::unexpected(found.error());
  auto after = s.roles;
  after.forget_group(request.group_id);
  if (auto stays = check_administrator(s, after); !stays) co_return tl::unexpected(stays.error());
  auto changes = s.roles.forget_group(request.group_id);
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

GroupSearchReply search(Services& s, const GroupSearchRequest& request) {
  std::vector<Found> all;
  for (const auto& [id, group] : s.roles.groups().all()) {
    if (request.user_id && !group.members.contains(request.user_id)) continue;
    if (!request.name.empty() && group.name != request.name) continue;
    all.push_back({{id, group.name}, static_cast<std::int32_t>(group.members.size())});
  }
  std::ranges::sort(all, {}, [](const Found& found) { return found.group.name; });
  const auto span = page_of(all.size(), request.offset, request.limit);
  GroupSearchReply reply{.groups = {}, .pagination = span.pagination};
  for (auto i = span.begin; i < span.end; ++i) reply.groups.push_back(std::move(all[i]));
  return reply;
}

}  // namespace

void add_group_routes(http::Router& router, Services& s) {
  const std::string tag = "Roles";
  const std::vector<ErrorCode> refusals = {ErrorCode::NotFound, ErrorCode::AlreadyExists,
                                           ErrorCode::FailedPrecondition};
  router.add<GroupCreateRequest, GroupReply>(
      Verb::Post, "/api/v1/groups", [&s](Context, GroupCreateRequest r) { return create(s, std::move(r)); },
      Doc{.summary = "Create a group of users", .tag = tag, .errors = refusals});
  router.add<GroupSearchRequest, GroupSearchReply>(
      Verb::Post, "/api/v1/groups/search",
      [&s](Context, GroupSearchRequest r) -> asio::awaitable<Result<GroupSearchReply>> {
        co_return search(s, r);
      },
      Doc{.summary = "List groups, optionally only those with a given user or name", .tag = tag});
  router.add<ById, GroupReply>(
      Verb::Get, "/api/v1/groups/{groupId}",
      [&s](Context, ById q) -> asio::awaitable<Result<GroupReply>> {
        const auto found = find(s, q.group_id);
        if (!found) co_return tl::unexpected(found.error());
        co_return GroupReply{to_object(s, **found)};
      },
      Doc{.summary = "Get a group and its users", .tag = tag, .errors = {ErrorCode::NotFound}});
  router.add<GroupPutRequest, GroupReply>(
      Verb::Put, "/api/v1/groups/{groupId}",
      [&s](Context, GroupPutRequest r) { return change(s, std::move(r)); },
      Doc{.summary = "Rename a group, add users to it or remove users from it",
          .tag = tag,
          .errors = refusals});
  router.add<AssignRequest, Empty>(
      Verb::Patch, "/api/v1/users/assignments",
      [&s](Context, AssignRequest r) { return assign(s, std::move(r)); },
      Doc{.summary = "Add several users to groups or remove them from groups",
          .tag = tag,
          .errors = refusals});
  router.add<ById, Empty>(
      Verb::Delete, "/api/v1/groups/{groupId}", [&s](Context, ById q) { return remove(s, q); },
      Doc{.summary = "Delete a group and its role assignments", .tag = tag, .errors = refusals});
}

}  // namespace det::master
