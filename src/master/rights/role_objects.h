#pragma once

#include <optional>
#include <string>
#include <vector>

#include "det/api/objects.h"
#include "det/master/rights/role_book.h"
#include "det/master/services.h"

/// Roles and who has them, as the API shows them.
namespace det::master {

struct ScopeMask {
  bool cluster = true, workspace = false;
};
BOOST_DESCRIBE_STRUCT(ScopeMask, (), (cluster, workspace))
struct PermissionObject {
  std::string id, name;
  ScopeMask scope_type_mask;
};
BOOST_DESCRIBE_STRUCT(PermissionObject, (), (id, name, scope_type_mask))
struct RoleObject {
  std::int32_t role_id = 0;
  std::string name;
  std::vector<PermissionObject> permissions;
  ScopeMask scope_type_mask;
  std::string summary;  ///< ours: what it is for
};
BOOST_DESCRIBE_STRUCT(RoleObject, (), (role_id, name, permissions, scope_type_mask, summary))
struct AssignmentObject {
  RoleObject role;
  bool scope_cluster = false;
  std::optional<std::int32_t> scope_workspace_id;
  static bool required(std::string_view name) { return name == "role"; }
};
BOOST_DESCRIBE_STRUCT(AssignmentObject, (), (role, scope_cluster, scope_workspace_id))
struct UserAssignment {
  UserId user_id;
  AssignmentObject role_assignment;
  static bool required(std::string_view name) { return name == "user_id" || name == "role_assignment"; }
};
BOOST_DESCRIBE_STRUCT(UserAssignment, (), (user_id, role_assignment))
struct GroupAssignment {
  GroupId group_id;
  AssignmentObject role_assignment;
  static bool required(std::string_view name) { return name == "group_id" || name == "role_assignment"; }
};
BOOST_DESCRIBE_STRUCT(GroupAssignment, (), (group_id, role_assignment))
struct GroupObject {
  GroupId group_id;
  std::string name;
  std::vector<api::User> users;
};
BOOST_DESCRIBE_STRUCT(GroupObject, (), (group_id, name, users))
struct RoleWithAssignments {
  std::vector<GroupAssignment> group_role_assignments;
  RoleObject role;
  std::vector<UserAssignment> user_role_assignments;
};
BOOST_DESCRIBE_STRUCT(RoleWithAssignments, (), (group_role_assignments, role, user_role_assignments))
/// Where somebody has a role.
struct AssignmentSummary {
  std::int32_t role_id = 0;
  bool scope_cluster = false;
  std::vector<std::int32_t> scope_workspace_ids;
};
BOOST_DESCRIBE_STRUCT(AssignmentSummary, (), (role_id, scope_cluster, scope_workspace_ids))

RoleObject to_object(const access::Role& role);
GroupObject to_object(Services& s, const store::GroupRecord& group);
/// By role, in the order of the roles; those without assignments are left out.
std::vector<RoleWithAssignments> with_assignments(const std::vector<RoleBook::Record>& records);
std::vector<AssignmentSummary> summaries(const std::vector<access::Grant>& grants);

}  // namespace det::master
