#include <algorithm>

#include "det/base/text.h"
#include "det/config/schema/schema.h"

namespace det::config::schema {

namespace {

bool is_absolute(std::string_view path) {
  return path.starts_with('/');
}

// "a/../b" names something outside of what it seems to.
bool has_no_parent_step(std::string_view prefix) {
  const auto parts = split(prefix, '/');
  return std::find(parts.begin(), parts.end(), "..") == parts.end();
}

Field kept(const char* name, int fallback, const char* about) {
  return field(name, integer().at_least(0), about).otherwise(fallback);
}

Field prefix() {
  return field("prefix",
               string()
                   .matches("^(?!(.*/)?\\.\\.(/|$))", has_no_parent_step)
                   .says("prefix cannot contain /../"),
               "Put before the name of each checkpoint.")
      .otherwise(nullptr);
}

Field absolute(const char* name, const char* about) {
  return field(name,
               string().matches("^/", is_absolute).says(fmt::format("{} must be an absolute path", name)),
               about);
}

std::vector<Field> cached_bucket(std::vector<Field> fields) {
  fields.push_back(field("bucket", string().at_least(1), "The bucket.").required());
  fields.push_back(
      field("bucket_directory_path", string().at_least(1), "Its part that holds data sets.").required());
  fields.push_back(absolute("local_cache_host_path", "Where a machine keeps its copy."));
  fields.push_back(absolute("local_cache_container_path", "The same, as a container sees it."));
  return fields;
}

Field text(const char* name, const char* about) {
  return field(name, string().at_least(1), about).otherwise(nullptr);
}

}  // namespace

Type checkpoint_storage() {
  return tagged(
             "type",
             {kept("save_experiment_best", 0,
                   "How many of the experiment's best checkpoints are kept when it ends."),
              kept("save_trial_best", 1, "How many of each trial's best checkpoints are kept."),
              kept("save_trial_latest", 1, "How many of each trial's latest checkpoints are kept.")},
             {{"shared_fs",
               {absolute("host_path", "A directory that every machine sees under this name.").required(),
                field("storage_path", string(), "Relative to host_path, or inside it.").otherwise(nullptr),
                field("container_path", one_of({"/determined_shared_fs"}).says("cannot set value"), "Fixed.")
                    .otherwise(nullptr),
                field("checkpoint_path", string(), "The older name of storage_path.").otherwise(nullptr),
                field("tensorboard_path", string(), "No longer used.").otherwise(nullptr),
                field("propagation", one_of({"private", "rprivate", "shared", "rshared", "slave", "rslave"}),
                      "How the mount propagates.")
                    .otherwise("rprivate")}},
              {"directory",
               {field("container_path", string().at_least(1), "A path that the trial sees.").required()}},
              {"s3",
               {field("bucket", string().at_least(1), "The bucket.").required(),
                text("access_key", "Its access key.").secret(),
                text("secret_key", "Its secret key.").secret(),
                text("endpoint_url", "Where the service is, if not at Amazon."), prefix()}},
              {"gcs", {field("bucket", string().at_least(1), "The bucket.").required(), prefix()}},
              {"azure",
               {field("container", string().at_least(1), "The container.").required(),
                text("connection_string", "How to connect.").secret(),
                text("account_url", "The account, if there is no connection_string."),
                text("credential", "The key for account_url.").secret()}}})
      .without({"azure", "hdfs"}, "use shared_fs, directory, s3 or gcs");
}

const Type& data_layer() {
  static const auto type =
      tagged("type", {},
             {{"shared_fs",
               {absolute("host_storage_path", "Where a machine keeps data sets."),
                absolute("container_storage_path", "The same, as a container sees it.")}},
              {"s3", cached_bucket({text("access_key", "Its access key.").secret(),
                                    text("secret_key", "Its secret key.").secret(),
                                    text("endpoint_url", "Where the service is, if not at Amazon.")})},
              {"gcs", cached_bucket({})}});
  return type;
}

}  // namespace det::config::schema
