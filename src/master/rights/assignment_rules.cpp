#include "det/master/rights/assignment_rules.h"

#include "det/access/role.h"
#include "det/base/text.h"
#include "det/master/workspaces/workspace_objects.h"

namespace det::master {
namespace {

/// The role and its place; whose it is comes from elsewhere.
Result<RoleBook::Record> read_assignment(const AssignmentObject& assignment, const AssignmentNames& known) {
  const auto id = assignment.role.role_id;
  const auto* role = access::find_role(access::RoleId(id));
  if (role == nullptr) return not_found("role {} not found", id);
  const auto workspace = assignment.scope_workspace_id.value_or(0);
  if (workspace != 0 && assignment.scope_cluster)
    return invalid_argument(
        "role {} is assigned both for the whole cluster and in workspace {}; give only one of them in an "
        "assignment",
        role->name, workspace);
  if (workspace != 0 && !known.workspaces.contains(store::WorkspaceId(workspace)))
    return not_found("workspace {} not found", workspace);
  if (workspace != 0 && role->cluster_only)
    return invalid_argument("role {} applies to the whole cluster; it cannot be assigned in a workspace",
                            role->name);
  return RoleBook::Record{UserId{}, id, workspace};
}

/// Of the user or the group; none: it does not exist any more.
std::optional<std::string> assignee_name(const RoleBook::Record& record, const AssignmentNames& known) {
  if (const auto group = known.groups.find(record.group); group != known.groups.end())
    return group->second.name;
  if (const auto user = known.users.find(record.user); user != known.users.end())
    return user->second.username;
  return std::nullopt;
}

access::Object assignment_place(const RoleBook::Record& record, const std::string& workspace_name) {
  access::Object place{.what = "the cluster", .workspace = std::nullopt, .workspace_name = {}, .owners = {}};
  if (record.workspace == 0) return place;
  place.workspace = record.workspace;
  place.workspace_name = workspace_name;
  place.what = fmt::format("workspace '{}'", workspace_name);
  return place;
}

}  // namespace

Result<std::vector<RoleBook::Record>> read_assignments(const AssignmentsRequest& request,
                                                       const AssignmentNames& known) {
  if (request.user_role_assignments.empty() && request.group_role_assignments.empty())
    return invalid_argument(
        "userRoleAssignments and groupRoleAssignments are both empty; give at least one assignment");
  std::vector<RoleBook::Record> records;
  for (const auto& [user, assignment] : request.user_role_assignments) {
    if (!known.users.contains(user)) return not_found("user '{}' not found", user);
    DET_TRY(auto record, read_assignment(assignment, known));
    record.user = user;
    records.push_back(record);
  }
  for (const auto& [group, assignment] : request.group_role_assignments) {
    if (!known.groups.contains(group)) return not_found("group {} not found", group);
    DET_TRY(auto record, read_assignment(assignment, known));
    record.group = group;
    records.push_back(record);
  }
  return records;
}

std::vector<RoleBook::Record> assignments_in(const std::set<RoleBook::Record>& all,
                                             store::WorkspaceId workspace, const std::string& name,
                                             const AssignmentNames& known) {
  std::vector<RoleBook::Record> here;
  for (const auto& record : all) {
    if (record.workspace != workspace.value()) continue;
    const auto assignee = assignee_name(record, known);
    if (assignee && contains_ignoring_case(*assignee, name)) here.push_back(record);
  }
  return here;
}

Result<void> check_assigner(access::Mode mode, const access::Caller& caller, const RoleBook::Record& record,
                            const std::string& workspace_name) {
  const auto place = assignment_place(record, workspace_name);
  const auto decision = access::decide(mode, caller, access::Permission::AssignRoles, place);
  if (decision.answer == access::Answer::Hidden) return not_found("workspace {} not found", record.workspace);
  if (decision.answer == access::Answer::No) return fail(ErrorCode::PermissionDenied, "{}", decision.reason);
  const auto& role = *access::find_role(access::RoleId(record.role));
  for (const auto permission : role.permissions)
    if (access::decide(mode, caller, permission, place).answer != access::Answer::Yes)
      return fail(
          ErrorCode::PermissionDenied,
          "user '{}' cannot assign role {} in {}: it grants permissions that the user does not have there",
          caller.name, role.name, place.what);
  return {};
}

Result<void> check_assigned(const std::set<RoleBook::Record>& all,
                            const std::vector<RoleBook::Record>& removed) {
  for (const auto& record : removed)
    if (!all.contains(record))
      return not_found(
          "{} does not have role {} there",
          record.group ? fmt::format("group {}", record.group) : fmt::format("user {}", record.user),
          access::find_role(access::RoleId(record.role))->name);
  return {};
}

Result<void> check_cluster_admin_stays(bool before, bool after) {
  if (!before || after) return {};
  return failed_precondition(
      "this change would remove the last ClusterAdmin; assign that role to another user first");
}

}  // namespace det::master
