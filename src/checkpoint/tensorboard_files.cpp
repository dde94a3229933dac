#include "det/checkpoint/tensorboard_files.h"

#include "det/checkpoint/buckets/object_store.h"
#include "det/checkpoint/guarded.h"
#include "det/checkpoint/storage.h"

namespace det::checkpoint {

namespace fs = std::filesystem;

namespace {

Result<fs::path> root_of(const config::CheckpointStorage& storage) {
  if (storage.type == "shared_fs") return shared_fs_root(storage.host_path, storage.storage_path);
  if (storage.type == "directory" && fs::path(storage.container_path).is_absolute())
    return fs::path(storage.container_path);
  return fail(ErrorCode::Unimplemented,
              "checkpoint_storage.type is \"{}\"; only shared_fs and directory have a directory for "
              "TensorBoard files",
              storage.type);
}

}  // namespace

Result<fs::path> tensorboard_directory(const config::CheckpointStorage& storage,
                                       const std::string& cluster_id, std::int64_t experiment) {
  DET_TRY(const auto root, root_of(storage));
  return root / cluster_id / "tensorboard" / "experiment" / std::to_string(experiment);
}

std::string tensorboard_prefix(const config::CheckpointStorage& storage, const std::string& cluster_id,
                               std::int64_t experiment) {
  return fmt::format("{}{}/tensorboard/experiment/{}/", bucket_prefix(storage.fields), cluster_id,
                     experiment);
}

namespace {

Result<void> remove_from_bucket(const config::CheckpointStorage& storage, const std::string& cluster_id,
                                std::int64_t experiment) {
  DET_TRY(const auto objects, open_object_store(storage.fields));
  return guarded("", [&] {
    for (const auto& object : objects->list(tensorboard_prefix(storage, cluster_id, experiment)))
      objects->remove(object.key);
  });
}

}  // namespace

Result<void> remove_tensorboard_files(const config::CheckpointStorage& storage, const std::string& cluster_id,
                                      std::int64_t experiment) {
  DET_ASSERT(!cluster_id.empty());
  if (storage.type == "s3" || storage.type == "gcs")
    return remove_from_bucket(storage, cluster_id, experiment);
  DET_TRY(const auto root, root_of(storage));
  DET_TRY(const auto directory, tensorboard_directory(storage, cluster_id, experiment));
  std::error_code failed;
  if (!fs::exists(fs::symlink_status(directory, failed))) return {};
  const auto real_root = fs::canonical(root, failed);
  const auto real_parent = failed ? fs::path() : fs::canonical(directory.parent_path(), failed);
  if (!failed &&
      real_parent.lexically_relative(real_root) != directory.parent_path().lexically_relative(root))
    return failed_precondition(
        "{} is behind a link to a directory outside the checkpoint storage; it was not deleted",
        directory.string());
  if (!failed) fs::remove_all(real_parent / directory.filename(), failed);
  if (failed == std::errc::no_such_file_or_directory) return {};  // Somebody else deleted them meanwhile.
  if (failed)
    return fail(ErrorCode::Unavailable, "cannot delete the TensorBoard files in {}: {}", directory.string(),
                failed.message());
  return {};
}

}  // namespace det::checkpoint
