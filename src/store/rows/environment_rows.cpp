#include "det/store/rows/environment_rows.h"

namespace det::store {

void put_environment(Connection& connection, const EnvironmentRecord& r) {
  Query(connection, R"sql(
DELETE FROM environments
WHERE digest IN (SELECT digest FROM trial_environments
                 WHERE trial_id = ?1 AND run_id = ?2 AND rank = ?3 AND digest <> ?4)
  AND NOT EXISTS (SELECT 1 FROM trial_environments AS others
                  WHERE others.digest = environments.digest
                    AND NOT (others.trial_id = ?1 AND others.run_id = ?2 AND others.rank = ?3))
)sql")
      .bind(r.trial_id, r.run_id, r.rank, r.digest)
      .run();
  Query(connection, R"sql(
INSERT INTO trial_environments (trial_id, run_id, rank, digest, report_time)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (trial_id, run_id, rank) DO UPDATE SET digest = excluded.digest, report_time = excluded.report_time
)sql")
      .bind(r.trial_id, r.run_id, r.rank, r.digest, r.report_time)
      .run();
  Query(connection, "INSERT INTO environments (digest, body) VALUES (?, ?) ON CONFLICT DO NOTHING")
      .bind(r.digest, Document{r.environment})
      .run();
}

void copy_environment(Connection& connection, const CopyEnvironment& c) {
  Query(connection, R"sql(
INSERT INTO trial_environments (trial_id, run_id, rank, digest, report_time)
SELECT trials.id, ?2, 0, found.digest, ?3
FROM allocations
JOIN trials ON trials.id = ?1 AND trials.experiment_id = allocations.experiment_id
JOIN trial_environments AS found
  ON found.trial_id = allocations.trial_id AND found.run_id = allocations.run_id AND found.rank = 0
WHERE allocations.id = ?4
ON CONFLICT DO NOTHING
)sql")
      .bind(c.trial_id, c.run_id, c.time, c.allocation_id)
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
