#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"
#include "det/checkpoint/scratch.h"
#include "det/config/experiment_config.h"

namespace det::checkpoint {

/// What a checkpoint consists of: name relative to its directory -> bytes.
/// Names of directories end in "/" and have 0 bytes.
using Resources = std::map<std::string, std::int64_t>;

struct Manifest;

/// Where the files of checkpoints live, under their uuids: in directories or in a bucket.
///
/// A checkpoint is there completely or not at all, whatever happened while it
/// was saved: a crash, a full disk. What an interrupted save or removal left
/// behind is invisible; `discard` clears what is of one uuid, `sweep` all.
///
/// Threads: safe, also between processes and machines that share the storage.
class Storage {
 public:
  virtual ~Storage() = default;

  /// Copies the directory and answers once the copy is durable. Saving the
  /// same content under the same uuid again succeeds, other content fails with
  /// AlreadyExists. Symbolic links to files are followed; a link to anything
  /// else, a socket, a pipe or a device is refused by its name. Without space: ResourceExhausted.
  virtual Result<Resources> save(const std::filesystem::path& directory, const std::string& uuid) = 0;

  /// A new empty directory for the files of a checkpoint, to be passed to `publish`. On a file system it lies
  /// in the storage, so that the files are written only once. A leftover until then: see `discard`.
  virtual Result<std::filesystem::path> draft(const std::string& uuid);

  /// Saves what is in a draft, as `save` does. Whether it succeeds or not, the draft is gone.
  virtual Result<Resources> publish(const std::string& uuid, const std::filesystem::path& draft);

  /// Copies into a directory that is empty or does not exist yet. Every file
  /// is compared with what was saved; the first that differs is named
  /// (FailedPrecondition), and nothing is left in the directory. No such uuid: NotFound.
  Result<Resources> restore(const std::string& uuid, const std::filesystem::path& directory);

  /// Reads everything and compares as `restore` does.
  Result<Resources> verify(const std::string& uuid);

  /// Already gone is success.
  virtual Result<void> remove(const std::string& uuid) = 0;

  /// Deletes some files of a checkpoint for good; names that it does not have are passed over. What is left
  /// is a whole checkpoint again, also after a crash in between. No such uuid: NotFound.
  virtual Result<Resources> remove_files(const std::string& uuid, const std::vector<std::string>& names) = 0;

  virtual Result<bool> exists(const std::string& uuid) = 0;

  /// Whether the original wrote a checkpoint of this uuid here. Such files are restored without comparing
  /// them, for nobody noted what they were; they are not for us to delete.
  virtual Result<bool> is_of_original(const std::string& uuid) = 0;
  virtual Result<std::vector<std::string>> list() = 0;

  /// Where the files lie in this machine's file system; empty for a bucket.
  virtual std::filesystem::path path(const std::string& uuid) const = 0;

  /// Deletes what interrupted saves and removals left, if nothing in it
  /// changed for `age`. Returns how many there were.
  virtual Result<std::int64_t> sweep(std::chrono::seconds age) = 0;

  /// Writes, reads and deletes a file under a random name, so that a trial
  /// learns at its start, not at its end, that it cannot save.
  virtual Result<void> probe() = 0;

  /// Deletes all that saves of this uuid have left, whole or half. Nothing is success; what is not of our
  /// making stays. Requires: nobody saves it any more.
  virtual Result<void> discard(const std::string& uuid) = 0;

 protected:
  /// Compares every file with the manifest, and copies all to `target` unless that is empty. Throws Failure.
  virtual Manifest read_checkpoint(const std::string& uuid, const std::filesystem::path& target) = 0;
};

/// A checkpoint's files in this machine's file system: where they lie, or a copy that goes with this object.
class LocalFiles {
 public:
  /// No such uuid: NotFound. Only a copy is compared with what was saved.
  static Result<std::shared_ptr<LocalFiles>> of(Storage& storage, const std::string& uuid);

  const std::filesystem::path& path() const { return copy_ ? copy_->path() : path_; }

 private:
  std::filesystem::path path_;
  std::optional<Scratch> copy_;
};

/// Checkpoints below a directory, which is created when needed.
std::unique_ptr<Storage> directory_storage(std::filesystem::path root);

/// The storage of a configuration. `container_root` is where host_path is
/// mounted for a process in a container, else empty.
Result<std::unique_ptr<Storage>> open_storage(const config::CheckpointStorage& config,
                                              const std::filesystem::path& container_root = {});

/// The directory that `shared_fs` means: storage_path is relative to host_path,
/// or absolute and inside it, after "." and ".." are resolved. Compares whole
/// components: /data-secret is not inside /data.
Result<std::filesystem::path> shared_fs_root(const std::string& host_path, const std::string& storage_path,
                                             const std::filesystem::path& container_root = {});

/// Whether a checkpoint may have this name: 1 to 128 letters, digits and "-_.", the first of them no dot.
bool is_checkpoint_name(std::string_view name);

/// A random (version 4) uuid. Leaves every seeded stream alone.
std::string new_uuid();

}  // namespace det::checkpoint
