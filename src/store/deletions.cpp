#include "det/store/deletions.h"

#include "det/store/document.h"
#include "det/store/sql/sql.h"

namespace det::store {
namespace {

constexpr std::string_view kSelect = "SELECT uuid, experiment_id, state, resources, due FROM deletions ";

DeletionRecord read_row(Query& query) {
  DeletionRecord r;
  query.read(r.uuid, r.experiment_id, r.state, Document{r.resources}, r.due);
  return r;
}

}  // namespace

void put_deletion(Connection& connection, const DeletionRecord& r) {
  Query(connection, R"sql(
INSERT INTO deletions (uuid, experiment_id, state, resources, due)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (uuid) DO UPDATE
SET experiment_id = excluded.experiment_id, state = excluded.state, resources = excluded.resources,
    due = excluded.due
)sql")
      .bind(r.uuid, r.experiment_id, r.state, Document{r.resources}, r.due)
      .run();
}

void end_deletion(Connection& connection, const std::string& uuid) {
  Query(connection, "DELETE FROM deletions WHERE uuid = ?").bind(uuid).run();
}

std::optional<DeletionRecord> read_deletion(Connection& connection, const std::string& uuid) {
  static const auto sql = std::string(kSelect) + "WHERE uuid = ?";
  Query query(connection, sql);
  query.bind(uuid);
  return first<DeletionRecord>(query, read_row);
}

std::vector<DeletionRecord> read_deletions_of_experiment(Connection& connection, ExperimentId id) {
  static const auto sql = std::string(kSelect) + "WHERE experiment_id = ? ORDER BY uuid";
  Query query(connection, sql);
  query.bind(id);
  return collect<DeletionRecord>(query, read_row);
}

std::vector<DeletionRecord> read_due_deletions(Connection& connection, Time now) {
  static const auto sql = std::string(kSelect) + "WHERE due <= ? ORDER BY due LIMIT 1000";
  Query query(connection, sql);
  query.bind(now);
  return collect<DeletionRecord>(query, read_row);
}

}  // namespace det::store
