#pragma once

#include <vector>

#include "det/store/sql/sql.h"
#include "det/store/workspace_records.h"

namespace det::store {

void put_config_policy(Connection& connection, const ConfigPolicyRecord& record);
void delete_config_policy(Connection& connection, WorkspaceId workspace, config::Workload workload);

std::vector<ConfigPolicyRecord> read_config_policies(Connection& connection);

}  // namespace det::store
