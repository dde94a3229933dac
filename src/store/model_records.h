#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "det/base/id.h"
#include "det/base/json.h"
#include "det/base/time.h"
#include "det/store/workspace_records.h"

/// The rows of the model registry.
namespace det::store {

using ModelId = Id<struct ModelTag>;

/// A named series of checkpoints.
struct ModelRecord {
  ModelId id;
  std::string name;  ///< unique
  std::string description, notes;
  std::vector<std::string> labels;
  json::object metadata;
  bool archived = false;
  UserId owner;
  Time creation_time, last_updated_time;
  std::int64_t last_version = 0;  ///< the highest number ever given; none is given again
  WorkspaceId workspace = kUncategorizedWorkspace;
};
BOOST_DESCRIBE_STRUCT(ModelRecord, (),
                      (id, name, description, notes, labels, metadata, archived, owner, creation_time,
                       last_updated_time, last_version, workspace))

/// A checkpoint in a model; it is kept as long as this row is.
struct ModelVersionRecord {
  ModelId model;
  std::int64_t version = 0;  ///< from 1 in each model
  std::string checkpoint;    ///< uuid
  std::string name, comment, notes;
  std::vector<std::string> labels;
  json::object metadata;
  UserId owner;
  Time creation_time, last_updated_time;
};
BOOST_DESCRIBE_STRUCT(ModelVersionRecord, (),
                      (model, version, checkpoint, name, comment, notes, labels, metadata, owner,
                       creation_time, last_updated_time))

}  // namespace det::store
