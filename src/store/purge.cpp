#include "det/store/purge.h"

#include <span>

#include "det/store/rows/log_rows.h"

namespace det::store {

namespace {

constexpr std::int64_t kRowsAtOnce = 2000;

struct Purge {
  std::string kind;
  std::int64_t id = 0;
  std::int64_t up_to = 0;  // of kind "logs": the last line that goes
};

// Each removes at most `LIMIT` rows of the id; what is left is removed next time.
constexpr std::string_view kTrialStatements[] = {
    R"sql(
DELETE FROM metrics
WHERE (trial_id, metric_group, batches) IN
      (SELECT trial_id, metric_group, batches FROM metrics WHERE trial_id = ? LIMIT ?)
)sql",
    "DELETE FROM archived_metrics WHERE number IN (SELECT number FROM archived_metrics WHERE trial_id = ? "
    "LIMIT ?)",
    R"sql(
DELETE FROM metric_summaries
WHERE (trial_id, metric_group) IN (SELECT trial_id, metric_group FROM metric_summaries WHERE trial_id = ? LIMIT ?)
)sql",
    R"sql(
DELETE FROM metric_blocks
WHERE (trial_id, metric_group, up_to_batches) IN
      (SELECT trial_id, metric_group, up_to_batches FROM metric_blocks WHERE trial_id = ? LIMIT ?)
)sql",
    "DELETE FROM metric_runs WHERE trial_id IN (SELECT trial_id FROM metric_runs WHERE trial_id = ? LIMIT ?)",
};
constexpr std::string_view kTaskStatements[] = {
    "DELETE FROM logs WHERE id IN (SELECT id FROM logs WHERE task = ? LIMIT ?)",
    "DELETE FROM log_origins WHERE number IN (SELECT number FROM log_origins WHERE task = ? LIMIT ?)",
    "DELETE FROM log_streams WHERE stream IN (SELECT stream FROM log_streams WHERE task = ? LIMIT ?)",
    "DELETE FROM log_tasks WHERE number IN (SELECT number FROM log_tasks WHERE number = ? LIMIT ?)",
};

std::optional<Purge> next_purge(Connection& connection) {
  Query query(connection, "SELECT kind, id, up_to FROM purges LIMIT 1");
  return first<Purge>(query, [](Query& row) {
    Purge purge;
    row.read(purge.kind, purge.id, purge.up_to);
    return purge;
  });
}

}  // namespace

bool purge_pending(Connection& connection) {
  return next_purge(connection).has_value();
}

void purge_some(Connection& connection) {
  const auto purge = next_purge(connection);
  if (!purge) return;
  const bool of_task = purge->kind == "task";
  const bool of_lines = purge->kind == "logs";
  if (of_task || of_lines) keep_log_ids(connection);
  if (of_lines) {
    Query(connection, "DELETE FROM logs WHERE id IN (SELECT id FROM logs WHERE task = ? AND id <= ? LIMIT ?)")
        .bind(purge->id, purge->up_to, kRowsAtOnce)
        .run();
    if (connection.changes() == kRowsAtOnce) return;
    Query(connection, "DELETE FROM purges WHERE kind = ? AND id = ?").bind(purge->kind, purge->id).run();
    return;
  }
  for (const auto sql : of_task ? std::span<const std::string_view>(kTaskStatements) : kTrialStatements) {
    Query(connection, sql).bind(purge->id, kRowsAtOnce).run();
    if (connection.changes() == kRowsAtOnce) return;
  }
  Query(connection, "DELETE FROM purges WHERE kind = ? AND id = ?").bind(purge->kind, purge->id).run();
}

}  // namespace det::store
