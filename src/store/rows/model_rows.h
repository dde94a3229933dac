#pragma once

#include "det/store/sql/sql.h"
#include "det/store/store.h"

/// The model registry.
namespace det::store {

void put_model(Connection& connection, const ModelRecord& record);
/// With its versions.
void delete_model(Connection& connection, ModelId id);
void put_model_version(Connection& connection, const ModelVersionRecord& record);
void delete_model_version(Connection& connection, const DeleteModelVersion& which);

std::vector<ModelRecord> read_models(Connection& connection);
std::vector<ModelVersionRecord> read_model_versions(Connection& connection);

}  // namespace det::store
