#pragma once

#include <filesystem>

#include "det/base/error.h"

namespace det::store {

/// Holds `<path>.lock` while it lives, so that one process at a time has the
/// database. The kernel lets go of the lock when the process ends, however it ends.
class FileLock {
 public:
  /// Fails with FailedPrecondition, naming the process that holds the lock.
  static Result<FileLock> acquire(const std::filesystem::path& path);

  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace det::store
