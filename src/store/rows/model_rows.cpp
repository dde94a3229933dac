#include "det/store/rows/model_rows.h"

namespace det::store {

void put_model(Connection& connection, const ModelRecord& r) {
  Query(connection, R"sql(
INSERT INTO models (id, name, description, notes, labels, metadata, archived, owner, creation_time,
                    last_updated_time, last_version, workspace_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE
SET name = excluded.name, description = excluded.description, notes = excluded.notes, labels = excluded.labels,
    metadata = excluded.metadata, archived = excluded.archived, owner = excluded.owner,
    last_updated_time = excluded.last_updated_time, last_version = excluded.last_version,
    workspace_id = excluded.workspace_id
)sql")
      .bind(r.id, r.name, r.description, r.notes, Document{r.labels}, Document{r.metadata}, r.archived,
            r.owner, r.creation_time, r.last_updated_time, r.last_version, r.workspace)
      .run();
}

void delete_model(Connection& connection, ModelId id) {
  Query(connection, "DELETE FROM model_versions WHERE model_id = ?").bind(id).run();
  Query(connection, "DELETE FROM models WHERE id = ?").bind(id).run();
}

void put_model_version(Connection& connection, const ModelVersionRecord& r) {
  Query(connection, R"sql(
INSERT INTO model_versions (model_id, version, checkpoint, name, comment, notes, labels, metadata, owner,
                            creation_time, last_updated_time)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (model_id, version) DO UPDATE
SET checkpoint = excluded.checkpoint, name = excluded.name, comment = excluded.comment, notes = excluded.notes,
    labels = excluded.labels, metadata = excluded.metadata, last_updated_time = excluded.last_updated_time
)sql")
      .bind(r.model, r.version, r.checkpoint, r.name, r.comment, r.notes, Document{r.labels},
            Document{r.metadata}, r.owner, r.creation_time, r.last_updated_time)
      .run();
}

void delete_model_version(Connection& connection, const DeleteModelVersion& which) {
  Query(connection, "DELETE FROM model_versions WHERE model_id = ? AND version = ?")
      .bind(which.model, which.version)
      .run();
}

std::vector<ModelRecord> read_models(Connection& connection) {
  Query query(connection, R"sql(
SELECT id, name, description, notes, labels, metadata, archived, owner, creation_time, last_updated_time,
       last_version, workspace_id
FROM models
ORDER BY id
)sql");
  return collect<ModelRecord>(query, [](Query& row) {
    ModelRecord r;
    row.read(r.id, r.name, r.description, r.notes, Document{r.labels}, Document{r.metadata}, r.archived,
             r.owner, r.creation_time, r.last_updated_time, r.last_version, r.workspace);
    return r;
  });
}

std::vector<ModelVersionRecord> read_model_versions(Connection& connection) {
  Query query(connection, R"sql(
SELECT model_id, version, checkpoint, name, comment, notes, labels, metadata, owner, creation_time,
       last_updated_time
FROM model_versions
ORDER BY model_id, version
)sql");
  return collect<ModelVersionRecord>(query, [](Query& row) {
    ModelVersionRecord r;
    row.read(r.model, r.version, r.checkpoint, r.name, r.comment, r.notes, Document{r.labels},
             Document{r.metadata}, r.owner, r.creation_time, r.last_updated_time);
    return r;
  });
}

}  // namespace det::store
