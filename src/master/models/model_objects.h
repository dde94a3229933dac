#pragma once

#include <string>
#include <vector>

#include "det/base/json.h"
#include "det/master/models/registry.h"
#include "det/master/services.h"

/// Models as the API shows them, and what their routes share.
namespace det::master {

struct ModelObject {
  ModelId id;
  std::string name, description, notes;
  std::vector<std::string> labels;
  json::object metadata;
  bool archived = false;
  std::int32_t num_versions = 0;
  Time creation_time, last_updated_time;
  UserId user_id;
  std::string username;
  store::WorkspaceId workspace_id;
};
BOOST_DESCRIBE_STRUCT(ModelObject, (),
                      (id, name, description, notes, labels, metadata, archived, num_versions, creation_time,
                       last_updated_time, user_id, username, workspace_id))

ModelObject to_object(Services& s, const ModelRecord& record);
/// By name or id.
Result<ModelRecord> find_model(Services& s, const std::string& name);

void add_model_version_routes(http::Router& router, Services& s);

}  // namespace det::master
