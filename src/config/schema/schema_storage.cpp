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
               "A prefix for the name of every checkpoint.")
      .otherwise(nullptr);
}

Field absolute(const char* name, const char* about) {
  return field(name,
               string().matches("^/", is_absolute).says(fmt::format("{} must be an absolute path", name)),
               about);
}

std::vector<Field> cached_bucket(std::vector<Field> fields) {
  fields.push_back(field("bucket", string().at_least(1), "The bucket name.").required());
  fields.push_back(
      field("bucket_directory_path", string().at_least(1), "The directory in the bucket that holds datasets.")
          .required());
  fields.push_back(absolute("local_cache_host_path", "The local cache directory on each machine."));
  fields.push_back(absolute("local_cache_container_path", "The local cache directory inside containers."));
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
                   "How many of the experiment's best checkpoints are kept after it ends."),
              kept("save_trial_best", 1, "How many of each trial's best checkpoints are kept."),
              kept("save_trial_latest", 1, "How many of each trial's latest checkpoints are kept.")},
             {{"shared_fs",
               {absolute("host_path", "A directory that every machine can access at this path.").required(),
                field("storage_path", string(), "Relative to host_path, or inside it.").otherwise(nullptr),
                field("container_path", one_of({"/determined_shared_fs"}).says("cannot set value"), "Fixed.")
                    .otherwise(nullptr),
                field("checkpoint_path", string(), "The old name of storage_path.").otherwise(nullptr),
                field("tensorboard_path", string(), "No longer used.").otherwise(nullptr),
                field("propagation", one_of({"private", "rprivate", "shared", "rshared", "slave", "rslave"}),
                      "The propagation mode of the mount.")
                    .otherwise("rprivate")}},
              {"directory",
               {field("container_path", string().at_least(1), "The path inside the trial.").required()}},
              {"s3",
               {field("bucket", string().at_least(1), "The bucket name.").required(),
                text("access_key", "The access key.").secret(),
                text("secret_key", "The secret key.").secret(),
                text("endpoint_url", "The service's URL, if it is not Amazon's."), prefix()}},
              {"gcs", {field("bucket", string().at_least(1), "The bucket name.").required(), prefix()}},
              {"azure",
               {field("container", string().at_least(1), "The container name.").required(),
                text("connection_string", "The connection string.").secret(),
                text("account_url", "The account's URL, if there is no connection_string."),
                text("credential", "The credential for account_url.").secret()}}})
      .without({"azure", "hdfs"}, "use shared_fs, directory, s3 or gcs");
}

const Type& data_layer() {
  static const auto type =
      tagged("type", {},
             {{"shared_fs",
               {absolute("host_storage_path", "The local dataset directory on each machine."),
                absolute("container_storage_path", "The local dataset directory inside containers.")}},
              {"s3", cached_bucket({text("access_key", "The access key.").secret(),
                                    text("secret_key", "The secret key.").secret(),
                                    text("endpoint_url", "The service's URL, if it is not Amazon's.")})},
              {"gcs", cached_bucket({})}});
  return type;
}

}  // namespace det::config::schema
