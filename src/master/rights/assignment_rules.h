#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "det/access/decision.h"
#include "det/master/rights/role_objects.h"

/// Decisions about giving and taking roles, without I/O.
namespace det::master {

struct AssignmentsRequest {
  std::vector<GroupAssignment> group_role_assignments;
  std::vector<UserAssignment> user_role_assignments;
};
BOOST_DESCRIBE_STRUCT(AssignmentsRequest, (), (group_role_assignments, user_role_assignments))

/// What an assignment can name.
struct AssignmentNames {
  const std::map<UserId, store::UserRecord>& users;
  const std::map<GroupId, store::GroupRecord>& groups;
  const std::map<store::WorkspaceId, store::WorkspaceRecord>& workspaces;
};

/// The assignments that the request names, or the first thing that is wrong with it.
Result<std::vector<RoleBook::Record>> read_assignments(const AssignmentsRequest& request,
                                                       const AssignmentNames& known);

/// The assignments in a workspace of the users and groups whose names contain `name`, in any case.
std::vector<RoleBook::Record> assignments_in(const std::set<RoleBook::Record>& all,
                                             store::WorkspaceId workspace, const std::string& name,
                                             const AssignmentNames& known);

/// Whether the caller may give and take the role there: nobody gives, or takes, what they do not have
/// themselves. `workspace_name`: empty for the whole cluster.
Result<void> check_assigner(access::Mode mode, const access::Caller& caller, const RoleBook::Record& record,
                            const std::string& workspace_name);

/// Refuses to take a role from somebody who does not have it.
Result<void> check_assigned(const std::set<RoleBook::Record>& all,
                            const std::vector<RoleBook::Record>& removed);

/// Refuses a change after which nobody is ClusterAdmin any more: see RoleBook::has_administrator.
Result<void> check_cluster_admin_stays(bool before, bool after);

}  // namespace det::master
