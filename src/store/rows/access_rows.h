#pragma once

#include <vector>

#include "det/store/access_records.h"
#include "det/store/sql/sql.h"

namespace det::store {

void put_role_assignment(Connection& connection, const RoleAssignmentRecord& record);
void delete_role_assignment(Connection& connection, const RoleAssignmentRecord& record);
void put_group(Connection& connection, const GroupRecord& record);
void delete_group(Connection& connection, GroupId id);
void append_audit(Connection& connection, const AuditRecord& record);
void prune_audit(Connection& connection, Time before);

std::vector<RoleAssignmentRecord> read_role_assignments(Connection& connection);
std::vector<GroupRecord> read_groups(Connection& connection);
std::vector<AuditRecord> read_audit(Connection& connection, const AuditQuery& query);

}  // namespace det::store
