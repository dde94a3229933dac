// Roles: which there are, who has them, and giving and taking them.

#include <algorithm>
#include <set>

#include "det/master/objects.h"
#include "det/master/rights/assignment_rules.h"
#include "det/master/rights/rights.h"
#include "det/master/rights/role_objects.h"
#include "det/master/workspaces/workspace_objects.h"

namespace det::master {
namespace {

using access::Permission;
using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;
using Record = RoleBook::Record;

struct SummaryReply {
  std::vector<RoleObject> roles;
  std::vector<AssignmentSummary> assignments;
};
BOOST_DESCRIBE_STRUCT(SummaryReply, (), (roles, assignments))
struct RoleSearchRequest {
  std::int32_t offset = 0, limit = 0;
  std::int32_t workspace_id = 0;  ///< by assignability: the scope; 0: the cluster
};
BOOST_DESCRIBE_STRUCT(RoleSearchRequest, (), (offset, limit, workspace_id))
struct RoleSearchReply {
  std::vector<RoleObject> roles;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(RoleSearchReply, (), (roles, pagination))
struct ByIds {
  std::vector<std::int32_t> role_ids;
};
BOOST_DESCRIBE_STRUCT(ByIds, (), (role_ids))
struct OfUser {
  UserId user_id;
};
BOOST_DESCRIBE_STRUCT(OfUser, (), (user_id))
struct OfGroup {
  GroupId group_id;
};
BOOST_DESCRIBE_STRUCT(OfGroup, (), (group_id))
struct RolesReply {
  std::vector<RoleWithAssignments> roles;
};
BOOST_DESCRIBE_STRUCT(RolesReply, (), (roles))
struct OfWorkspace {
  WorkspaceId workspace_id;
  std::string name;  ///< part of the names of users and groups
};
BOOST_DESCRIBE_STRUCT(OfWorkspace, (), (workspace_id, name))
struct MembersReply {
  std::vector<GroupObject> groups;
  std::vector<api::User> users_assigned_directly;
  std::vector<RoleWithAssignments> assignments;
};
BOOST_DESCRIBE_STRUCT(MembersReply, (), (groups, users_assigned_directly, assignments))
SummaryReply summary_of(const std::vector<access::Grant>& grants) {
  SummaryReply reply;
  reply.assignments = summaries(grants);
  for (const auto& one : reply.assignments)
    reply.roles.push_back(to_object(*access::find_role(access::RoleId(one.role_id))));
  return reply;
}

asio::awaitable<Result<SummaryReply>> summary(Services& s, Context context) {
  const auto caller = caller_of(s, context.principal);
  if (!caller) co_return tl::unexpected(caller.error());
  co_return summary_of(caller->grants);
}

RoleSearchReply search(const RoleSearchRequest& request, bool for_workspaces) {
  std::vector<RoleObject> all;
  for (const auto& role : access::roles())
    if (!for_workspaces || !role.cluster_only) all.push_back(to_object(role));
  const auto span = page_of(all.size(), request.offset, request.limit);
  RoleSearchReply reply{.roles = {}, .pagination = span.pagination};
  for (auto i = span.begin; i < span.end; ++i) reply.roles.push_back(std::move(all[i]));
  return reply;
}

/// The assignments of which the caller may know: its own, and those where it assigns.
std::vector<Record> known_to(Services& s, const std::any& principal) {
  const auto caller = caller_of(s, principal);
  const Sight sight(s, principal, Permission::AssignRoles);
  std::vector<Record> known;
  for (const auto& record : s.roles.all())
    if (sight.all() ||
        (caller && (record.user == caller->user || s.roles.groups().has(record.group, caller->user))) ||
        (record.workspace != 0 && sight.workspace(record.workspace)))
      known.push_back(record);
  return known;
}

asio::awaitable<Result<RolesReply>> by_ids(Services& s, Context context, ByIds request) {
  auto known = known_to(s, context.principal);
  std::erase_if(known, [&](const Record& record) {
    return std::find(request.role_ids.begin(), request.role_ids.end(), record.role) == request.role_ids.end();
  });
  RolesReply reply{with_assignments(known)};
  for (const auto id : request.role_ids) {  // also those that nobody has
    const auto* role = access::find_role(access::RoleId(id));
    if (role == nullptr) co_return not_found("role {} not found", id);
    const auto shown = std::any_of(reply.roles.begin(), reply.roles.end(),
                                   [&](const auto& entry) { return entry.role.role_id == id; });
    if (!shown) reply.roles.push_back({.group_role_assignments = {}, .role = to_object(*role)});
  }
  co_return reply;
}

asio::awaitable<Result<RolesReply>> by_user(Services& s, Context context, OfUser query) {
  if (!s.auth.users().contains(query.user_id)) co_return not_found("user '{}' not found", query.user_id);
  auto known = known_to(s, context.principal);
  std::erase_if(known, [&](const Record& record) { return record.user != query.user_id; });
  co_return RolesReply{with_assignments(known)};
}

asio::awaitable<Result<SummaryReply>> by_group(Services& s, Context context, OfGroup query) {
  if (s.roles.groups().find(query.group_id) == nullptr)
    co_return not_found("group {} not found", query.group_id);
  std::vector<access::Grant> grants;
  for (const auto& record : known_to(s, context.principal)) {
    if (record.group != query.group_id) continue;
    grants.push_back({access::RoleId(record.role),
                      record.workspace == 0 ? std::nullopt : std::optional(record.workspace)});
  }
  co_return summary_of(grants);
}

asio::awaitable<Result<MembersReply>> members(Services& s, OfWorkspace query) {
  const auto workspace = find_workspace(s, query.workspace_id);
  if (!workspace) co_return tl::unexpected(workspace.error());
  MembersReply reply;
  const AssignmentNames known{s.auth.users(), s.roles.groups().all(), s.workspaces.all()};
  const auto here = assignments_in(s.roles.all(), query.workspace_id, query.name, known);
  std::set<GroupId> groups;
  std::set<UserId> users;
  for (const auto& record : here) {
    if (record.group && groups.insert(record.group).second)
      reply.groups.push_back(to_object(s, *s.roles.groups().find(record.group)));
    if (record.user && users.insert(record.user).second)
      reply.users_assigned_directly.push_back(to_api(s.auth.users().at(record.user)));
  }
  reply.assignments = with_assignments(here);
  co_return reply;
}

asio::awaitable<Result<Empty>> change(Services& s, Context context, AssignmentsRequest request, bool add) {
  const auto& users = s.auth.users();
  const AssignmentNames known{users, s.roles.groups().all(), s.workspaces.all()};
  DET_CO_TRY(const auto records, read_assignments(request, known));
  DET_CO_TRY(const auto caller, caller_of(s, context.principal));
  for (const auto& record : records) {
    const auto* workspace = s.workspaces.find(WorkspaceId(record.workspace));
    const auto name = workspace == nullptr ? "" : workspace->name;
    if (const auto allowed = check_assigner(s.roles.mode(), caller, record, name); !allowed)
      co_return tl::unexpected(allowed.error());
  }
  if (!add) {
    if (const auto assigned = check_assigned(s.roles.all(), records); !assigned)
      co_return tl::unexpected(assigned.error());
    auto after = s.roles;
    after.remove(records);
    const auto stays =
        check_cluster_admin_stays(s.roles.has_administrator(users), after.has_administrator(users));
    if (!stays) co_return tl::unexpected(stays.error());
  }
  auto changes = add ? s.roles.assign(records) : s.roles.remove(records);
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

}  // namespace

void add_role_routes(http::Router& router, Services& s) {
  const std::string tag = "Roles";
  const std::vector<ErrorCode> refusals = {ErrorCode::NotFound, ErrorCode::PermissionDenied,
                                           ErrorCode::FailedPrecondition};
  router.add<Empty, SummaryReply>(
      Verb::Get, "/api/v1/permissions/summary", [&s](Context c, Empty) { return summary(s, std::move(c)); },
      Doc{.summary = "Get the roles and permissions of the caller; they apply if the master uses role-based "
                     "access control",
          .tag = tag});
  for (const bool scoped : {false, true})
    router.add<RoleSearchRequest, RoleSearchReply>(
        Verb::Post, scoped ? "/api/v1/roles/search/by-assignability" : "/api/v1/roles/search",
        [scoped](Context, RoleSearchRequest r) -> asio::awaitable<Result<RoleSearchReply>> {
          co_return search(r, scoped && r.workspace_id != 0);
        },
        Doc{.summary = scoped ? "List the roles that can be assigned in a workspace or for the whole cluster"
                              : "List all roles with their permissions",
            .tag = tag});
  router.add<ByIds, RolesReply>(
      Verb::Post, "/api/v1/roles/search/by-ids",
      [&s](Context c, ByIds r) { return by_ids(s, std::move(c), std::move(r)); },
      Doc{.summary = "Get roles by id, with those of their assignments that the caller can view",
          .tag = tag,
          .errors = {ErrorCode::NotFound}});
  router.add<OfUser, RolesReply>(
      Verb::Get, "/api/v1/roles/search/by-user/{userId}",
      [&s](Context c, OfUser q) { return by_user(s, std::move(c), q); },
      Doc{.summary = "List the roles of a user that the caller can view",
          .tag = tag,
          .errors = {ErrorCode::NotFound}});
  router.add<OfGroup, SummaryReply>(
      Verb::Get, "/api/v1/roles/search/by-group/{groupId}",
      [&s](Context c, OfGroup q) { return by_group(s, std::move(c), q); },
      Doc{.summary = "List the roles of a group that the caller can view",
          .tag = tag,
          .errors = {ErrorCode::NotFound}});
  router.add<OfWorkspace, MembersReply>(
      Verb::Get, "/api/v1/roles/workspace/{workspaceId}",
      [&s](Context, OfWorkspace q) { return members(s, std::move(q)); },
      Doc{.summary = "List the users and groups that have a role in a workspace",
          .tag = tag,
          .errors = {ErrorCode::NotFound}});
  for (const bool add : {true, false})
    router.add<AssignmentsRequest, Empty>(
        Verb::Post, add ? "/api/v1/roles/add-assignments" : "/api/v1/roles/remove-assignments",
        [&s, add](Context c, AssignmentsRequest r) { return change(s, std::move(c), std::move(r), add); },
        Doc{.summary = add ? "Assign roles to users and groups, all or none"
                           : "Remove roles from users and groups, all or none",
            .tag = tag,
            .errors = refusals});
}

}  // namespace det::master
