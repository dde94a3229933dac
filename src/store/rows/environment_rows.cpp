#include "det/store/rows/environment_rows.h"

namespace det::store {

void put_environment(Connection& connection, const EnvironmentRecord& r) {
  Query(connection, R"sql(
INSERT INTO trial_environments (trial_id, run_id, rank, digest, report_time)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
)sql")
      .bind(r.trial_id, r.run_id, r.rank, r.digest, r.report_time)
      .run();
  if (connection.changes() == 0) return;  // what a process said first stays
  Query(connection, "INSERT INTO environments (digest, body) VALUES (?, ?) ON CONFLICT DO NOTHING")
      .bind(r.digest, Document{r.environment})
      .run();
}

void delete_environments(Connection& connection, ExperimentId id) {
  static constexpr std::string_view kStatements[] = {
      R"sql(
DELETE FROM environments
WHERE digest IN (SELECT digest FROM trial_environments
                 WHERE trial_id IN (SELECT id FROM trials WHERE experiment_id = ?1))
  AND NOT EXISTS (SELECT 1 FROM trial_environments AS others
                  WHERE others.digest = environments.digest
                    AND others.trial_id NOT IN (SELECT id FROM trials WHERE experiment_id = ?1))
)sql",
      "DELETE FROM trial_environments WHERE trial_id IN (SELECT id FROM trials WHERE experiment_id = ?)",
  };
  for (const auto sql : kStatements) Query(connection, sql).bind(id).run();
}

std::vector<EnvironmentRecord> read_environments(Connection& connection, TrialId trial) {
  Query query(connection, R"sql(
SELECT trial_id, run_id, rank, environments.digest, report_time, body
FROM trial_environments
JOIN environments ON environments.digest = trial_environments.digest
WHERE trial_id = ?
ORDER BY run_id DESC, rank
)sql");
  query.bind(trial);
  return collect<EnvironmentRecord>(query, [](Query& row) {
    EnvironmentRecord r;
    row.read(r.trial_id, r.run_id, r.rank, r.digest, r.report_time, Document{r.environment});
    return r;
  });
}

}  // namespace det::store
