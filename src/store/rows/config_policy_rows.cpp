#include "det/store/rows/config_policy_rows.h"

namespace det::store {

void put_config_policy(Connection& connection, const ConfigPolicyRecord& r) {
  Query(connection, R"sql(
INSERT INTO config_policies (workspace_id, workload, yaml)
VALUES (?, ?, ?)
ON CONFLICT (workspace_id, workload) DO UPDATE SET yaml = excluded.yaml
)sql")
      .bind(r.workspace, r.workload, r.yaml)
      .run();
}

void delete_config_policy(Connection& connection, WorkspaceId workspace, config::Workload workload) {
  Query(connection, "DELETE FROM config_policies WHERE workspace_id = ? AND workload = ?")
      .bind(workspace, workload)
      .run();
}

std::vector<ConfigPolicyRecord> read_config_policies(Connection& connection) {
  Query query(connection, R"sql(
SELECT workspace_id, workload, yaml
FROM config_policies
ORDER BY workspace_id, workload
)sql");
  return collect<ConfigPolicyRecord>(query, [](Query& row) {
    ConfigPolicyRecord r;
    row.read(r.workspace, r.workload, r.yaml);
    return r;
  });
}

}  // namespace det::store
