#include "det/master/rights/role_objects.h"

#include <algorithm>

#include "det/master/objects.h"

namespace det::master {

RoleObject to_object(const access::Role& role) {
  RoleObject object{.role_id = static_cast<std::int32_t>(role.id.value()), .name = std::string(role.name)};
  object.summary = std::string(role.summary);
  object.scope_type_mask.workspace = !role.cluster_only;
  for (const auto permission : role.permissions) {
    const auto& info = access::info(permission);
    const bool known = std::any_of(object.permissions.begin(), object.permissions.end(),
                                   [&](const PermissionObject& other) { return other.id == info.wire; });
    if (known) continue;  // one of theirs is two of ours
    PermissionObject shown{.id = std::string(info.wire), .name = std::string(info.verb)};
    shown.scope_type_mask.workspace = !info.cluster_only;
    object.permissions.push_back(std::move(shown));
  }
  return object;
}

GroupObject to_object(Services& s, const store::GroupRecord& group) {
  GroupObject object{.group_id = group.id, .name = group.name, .users = {}};
  for (const auto id : group.members)
    if (const auto user = s.auth.users().find(id); user != s.auth.users().end())
      object.users.push_back(to_api(user->second));
  return object;
}

std::vector<RoleWithAssignments> with_assignments(const std::vector<RoleBook::Record>& records) {
  std::vector<RoleWithAssignments> all;
  for (const auto& role : access::roles()) {
    RoleWithAssignments entry{.group_role_assignments = {}, .role = to_object(role)};
    for (const auto& record : records) {
      if (record.role != role.id.value()) continue;
      AssignmentObject assignment{.role = entry.role, .scope_cluster = record.workspace == 0};
      if (record.workspace != 0) assignment.scope_workspace_id = static_cast<std::int32_t>(record.workspace);
      if (record.group)
        entry.group_role_assignments.push_back({record.group, std::move(assignment)});
      else
        entry.user_role_assignments.push_back({record.user, std::move(assignment)});
    }
    if (!entry.user_role_assignments.empty() || !entry.group_role_assignments.empty())
      all.push_back(std::move(entry));
  }
  return all;
}

std::vector<AssignmentSummary> summaries(const std::vector<access::Grant>& grants) {
  std::vector<AssignmentSummary> all;
  for (const auto& role : access::roles()) {
    AssignmentSummary summary{.role_id = static_cast<std::int32_t>(role.id.value())};
    for (const auto& grant : grants) {
      if (grant.role != role.id) continue;
      if (!grant.workspace) {
        summary.scope_cluster = true;
        continue;
      }
      const auto workspace = static_cast<std::int32_t>(*grant.workspace);
      auto& ids = summary.scope_workspace_ids;
      if (std::ranges::find(ids, workspace) == ids.end()) ids.push_back(workspace);  // own, and by a group
    }
    if (summary.scope_cluster || !summary.scope_workspace_ids.empty()) all.push_back(std::move(summary));
  }
  return all;
}

}  // namespace det::master
