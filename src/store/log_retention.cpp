#include "det/store/log_retention.h"

#include "det/store/sql/sql.h"

namespace det::store {

void set_log_retention(Connection& connection, const SetLogRetention& change) {
  constexpr std::string_view kPut = R"sql(
INSERT INTO log_retention (kind, id, days)
VALUES (?, ?, ?)
ON CONFLICT (kind, id) DO UPDATE SET days = excluded.days
)sql";
  if (change.trial) Query(connection, kPut).bind("trial", *change.trial, std::int64_t{change.days}).run();
  if (!change.experiment) return;
  Query(connection, kPut).bind("experiment", *change.experiment, std::int64_t{change.days}).run();
  Query(connection, R"sql(
DELETE FROM log_retention
WHERE kind = 'trial' AND id IN (SELECT id FROM trials WHERE experiment_id = ?)
)sql")
      .bind(*change.experiment)
      .run();
}

void put_configured_retention(Connection& connection, ExperimentId experiment, std::optional<int> days) {
  if (!days) return;
  Query(connection,
        "INSERT INTO log_retention (kind, id, days) VALUES ('experiment', ?, ?) ON CONFLICT DO NOTHING")
      .bind(experiment, std::int64_t{*days})
      .run();
}

void delete_log_retention(Connection& connection, ExperimentId experiment) {
  Query(connection, R"sql(
DELETE FROM log_retention
WHERE (kind = 'experiment' AND id = ?1)
   OR (kind = 'trial' AND id IN (SELECT id FROM trials WHERE experiment_id = ?1))
)sql")
      .bind(experiment)
      .run();
}

void drop_logs(Connection& connection, const DropLogs& change) {
  for (const auto& task : change.task_ids)
    Query(connection, R"sql(
INSERT INTO purges (kind, id, up_to)
SELECT 'logs', number, last
FROM (SELECT number, (SELECT MAX(id) FROM logs WHERE task = number) AS last FROM log_tasks WHERE task_id = ?) AS lasts
WHERE last IS NOT NULL
ON CONFLICT (kind, id) DO UPDATE SET up_to = excluded.up_to
)sql")
        .bind(task)
        .run();
}

std::optional<int> read_log_retention(Connection& connection, TrialId trial) {
  Query query(connection, R"sql(
SELECT days
FROM log_retention
WHERE (kind = 'trial' AND id = ?1)
   OR (kind = 'experiment' AND id = (SELECT experiment_id FROM trials WHERE id = ?1))
ORDER BY kind DESC
LIMIT 1
)sql");
  query.bind(trial);
  return first<int>(query, [](Query& row) { return static_cast<int>(row.get<std::int64_t>()); });
}

std::vector<EndedLog> read_ended_logs(Connection& connection) {
  // A log whose lines are going already has none.
  Query trials(connection, R"sql(
SELECT t.task_id, t.id, t.end_time, COALESCE(own.days, all_of_it.days)
FROM trials AS t
JOIN log_tasks AS k ON k.task_id = t.task_id
LEFT JOIN log_retention AS own ON own.kind = 'trial' AND own.id = t.id
LEFT JOIN log_retention AS all_of_it ON all_of_it.kind = 'experiment' AND all_of_it.id = t.experiment_id
WHERE t.end_time IS NOT NULL
  AND EXISTS (SELECT 1 FROM logs WHERE task = k.number)
  AND NOT EXISTS (SELECT 1 FROM purges WHERE kind IN ('task', 'logs') AND purges.id = k.number)
ORDER BY t.id
)sql");
  auto found = collect<EndedLog>(trials, [](Query& row) {
    EndedLog log;
    std::int64_t trial = 0;
    std::optional<std::int64_t> days;
    row.read(log.task_id, trial, log.ended, days);
    log.trial = TrialId{trial};
    if (days) log.days = static_cast<int>(*days);
    return log;
  });
  Query tasks(connection, R"sql(
SELECT task_id, last
FROM (SELECT k.task_id, k.number,
             (SELECT time FROM logs WHERE id = (SELECT MAX(id) FROM logs WHERE task = k.number)) AS last
      FROM tasks AS t
      JOIN log_tasks AS k ON k.task_id = t.id
      WHERE t.state = 'Terminated') AS ends
WHERE last IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM purges WHERE kind IN ('task', 'logs') AND purges.id = number)
ORDER BY task_id
)sql");
  while (tasks.next()) {
    EndedLog log;
    tasks.read(log.task_id, log.ended);
    found.push_back(std::move(log));
  }
  return found;
}

std::int64_t count_log_lines(Connection& connection, const std::vector<std::string>& task_ids) {
  std::int64_t lines = 0;
  for (const auto& task : task_ids) {
    Query query(connection,
                "SELECT COUNT(*) FROM logs WHERE task = (SELECT number FROM log_tasks WHERE task_id = ?)");
    query.bind(task);
    if (query.next()) lines += query.get<std::int64_t>();
  }
  return lines;
}

}  // namespace det::store
