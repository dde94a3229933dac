#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "det/checkpoint/buckets/object_store.h"
#include "det/checkpoint/buckets/parts.h"
#include "det/checkpoint/manifest.h"
#include "det/checkpoint/storage.h"

namespace det::checkpoint {

/// Checkpoints in a bucket: `<prefix>/<uuid>/<file>`.
///
/// Each checkpoint is whole and on its own, and yet a process sends only what has changed since its last
/// save: the service copies the rest from that checkpoint, part by part (S3's UploadPartCopy).
///
/// There are no renames there, so the manifest says what is complete: it is written last and deleted first.
/// While anything else of a checkpoint is written or deleted there is `<uuid>/.det-unfinished`; objects below
/// a uuid that has neither were made by another program, and nobody here deletes them.
class ObjectStorage : public Storage {
 public:
  /// `prefix` is empty or ends in "/".
  ObjectStorage(std::unique_ptr<ObjectStore> objects, std::string prefix);

  Result<Resources> save(const std::filesystem::path& directory, const std::string& uuid) override;
  Result<void> remove(const std::string& uuid) override;
  Result<void> discard(const std::string& uuid) override;
  Result<Resources> remove_files(const std::string& uuid, const std::vector<std::string>& names) override;
  Result<bool> exists(const std::string& uuid) override;
  Result<bool> is_of_original(const std::string& uuid) override;
  Result<std::vector<std::string>> list() override;
  std::filesystem::path path(const std::string& uuid) const override;
  Result<std::int64_t> sweep(std::chrono::seconds age) override;
  Result<void> probe() override;

 private:
  /// A checkpoint, and the sums of its large files.
  struct Earlier {
    std::string uuid;
    std::map<std::string, PartSums> files;
  };

  std::string key(const std::string& uuid, const std::string& name) const;
  std::optional<Manifest> find_manifest(const std::string& uuid);
  Manifest read_manifest(const std::string& uuid);
  /// What a checkpoint of the original has, without hashes; nothing: there is none.
  std::optional<Manifest> list_original(const std::string& uuid);
  Manifest read_checkpoint(const std::string& uuid, const std::filesystem::path& target) override;
  void read_file(const std::string& uuid, const std::string& name, const ManifestFile& expected, int target,
                 const std::string& shown_target);
  void remove_objects(const std::string& uuid);

  std::shared_ptr<const Earlier> last_saved();
  /// Sends a file, but for what is as in `earlier`, and notes its sums in `now`.
  void put_file(const std::string& uuid, const std::filesystem::path& directory, const std::string& name,
                const ManifestFile& saved, const Earlier* earlier, Earlier& now);

  std::unique_ptr<ObjectStore> objects_;
  std::string prefix_;
  std::mutex mutex_;
  std::shared_ptr<const Earlier> earlier_;  ///< what this process saved last
};

}  // namespace det::checkpoint
