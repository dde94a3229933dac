#include "det/store/import/mapping.h"

namespace det::store {

ModelRecord to_model(const SourceRow& row) {
  const auto created = row.time("creation_time").value_or(Time{});
  return {.id = ModelId(row.integer("id").value_or(0)),
          .name = row.text("name"),
          .description = row.text("description"),
          .notes = row.text("notes"),
          .labels = row.texts("labels"),
          .metadata = row.object("metadata"),
          .archived = row.flag("archived"),
          .owner = UserId(row.integer("user_id").value_or(0)),
          .creation_time = created,
          .last_updated_time = row.time("last_updated_time").value_or(created),
          .last_version = row.integer("last_version").value_or(0),
          .workspace = WorkspaceId(row.integer("workspace_id").value_or(1))};
}

ModelVersionRecord to_model_version(const SourceRow& row) {
  const auto created = row.time("creation_time").value_or(Time{});
  return {.model = ModelId(row.integer("model_id").value_or(0)),
          .version = row.integer("version").value_or(0),
          .checkpoint = row.text("checkpoint_uuid"),
          .name = row.text("name"),
          .comment = row.text("comment"),
          .notes = row.text("notes"),
          .labels = row.texts("labels"),
          .metadata = row.object("metadata"),
          .owner = UserId(row.integer("user_id").value_or(0)),
          .creation_time = created,
          .last_updated_time = row.time("last_updated_time").value_or(created)};
}

}  // namespace det::store
