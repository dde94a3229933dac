#include "det/store/rows/unmanaged_rows.h"

namespace det::store {

void put_unmanaged(Connection& connection, const UnmanagedRecord& record) {
  if (record.trial)
    Query(connection, R"sql(
INSERT INTO unmanaged_trials (trial_id, experiment_id, external_id)
VALUES (?, ?, ?)
ON CONFLICT (trial_id) DO UPDATE SET external_id = excluded.external_id
)sql")
        .bind(record.trial, record.experiment, record.external_id)
        .run();
  else
    Query(connection, R"sql(
INSERT INTO unmanaged_experiments (experiment_id, external_id)
VALUES (?, ?)
ON CONFLICT (experiment_id) DO UPDATE SET external_id = excluded.external_id
)sql")
        .bind(record.experiment, record.external_id)
        .run();
}

void delete_unmanaged(Connection& connection, ExperimentId id) {
  Query(connection, "DELETE FROM unmanaged_trials WHERE experiment_id = ?").bind(id).run();
  Query(connection, "DELETE FROM unmanaged_experiments WHERE experiment_id = ?").bind(id).run();
}

std::vector<UnmanagedRecord> read_unmanaged(Connection& connection) {
  Query query(connection, R"sql(
SELECT experiment_id, 0 AS trial_id, external_id FROM unmanaged_experiments
UNION ALL
SELECT experiment_id, trial_id, external_id FROM unmanaged_trials
ORDER BY experiment_id, trial_id
)sql");
  return collect<UnmanagedRecord>(query, [](Query& row) {
    UnmanagedRecord r;
    row.read(r.experiment, r.trial, r.external_id);
    return r;
  });
}

}  // namespace det::store
