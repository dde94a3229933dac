#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "det/base/error.h"
#include "det/config/experiment_config.h"

namespace det::checkpoint {

/// Where the trials of an experiment keep their event files: `<storage>/<cluster
/// id>/tensorboard/experiment/<id>`. Unimplemented for a storage that is no directory (in buckets the keys
/// begin so).
Result<std::filesystem::path> tensorboard_directory(const config::CheckpointStorage& storage,
                                                    const std::string& cluster_id, std::int64_t experiment);

/// What all keys of an experiment's event files begin with, in a bucket.
std::string tensorboard_prefix(const config::CheckpointStorage& storage, const std::string& cluster_id,
                               std::int64_t experiment);

/// Deletes them; already gone is success. Symbolic links are deleted and never followed: a directory that a
/// link leads out of the storage is refused.
Result<void> remove_tensorboard_files(const config::CheckpointStorage& storage, const std::string& cluster_id,
                                      std::int64_t experiment);

}  // namespace det::checkpoint
