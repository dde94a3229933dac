#include "det/store/begun_checkpoints.h"

#include "det/store/sql/sql.h"

namespace det::store {
namespace {

constexpr std::string_view kSelect = "SELECT uuid, experiment_id, allocation_id FROM begun_checkpoints ";

BegunCheckpointRecord read_row(Query& query) {
  BegunCheckpointRecord r;
  query.read(r.uuid, r.experiment_id, r.allocation_id);
  return r;
}

}  // namespace

// A begin whose first delivery was slow may come after the report that followed its second one.
void begin_checkpoint(Connection& connection, const BegunCheckpointRecord& r) {
  Query(connection, R"sql(
INSERT INTO begun_checkpoints (uuid, experiment_id, allocation_id)
SELECT ?1, ?2, ?3
WHERE NOT EXISTS (SELECT 1 FROM checkpoints WHERE uuid = ?1)
ON CONFLICT (uuid) DO NOTHING
)sql")
      .bind(r.uuid, r.experiment_id, r.allocation_id)
      .run();
}

void drop_begun_checkpoint(Connection& connection, const std::string& uuid) {
  Query(connection, "DELETE FROM begun_checkpoints WHERE uuid = ?").bind(uuid).run();
}

std::optional<BegunCheckpointRecord> read_begun_checkpoint(Connection& connection, const std::string& uuid) {
  static const auto sql = std::string(kSelect) + "WHERE uuid = ?";
  Query query(connection, sql);
  query.bind(uuid);
  return first<BegunCheckpointRecord>(query, read_row);
}

std::vector<BegunCheckpointRecord> read_begun_checkpoints_of_experiment(Connection& connection,
                                                                        ExperimentId id) {
  static const auto sql = std::string(kSelect) + "WHERE experiment_id = ? ORDER BY uuid";
  Query query(connection, sql);
  query.bind(id);
  return collect<BegunCheckpointRecord>(query, read_row);
}

}  // namespace det::store
