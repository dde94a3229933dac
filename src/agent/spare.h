#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

namespace det::agent {

/// Directories of tasks that have ended, for the next ones. A task has a dozen small files; file systems take
/// longer to create and delete them than to write them (ext4 does not use a deleted inode again for half a
/// minute, and has to look for another one). Thread-safe.
///
/// Every file in it is called `<name>.new`, which is where `replace_file` writes what `<name>` will hold;
/// `work` is empty.
class SpareDirectories {
 public:
  /// `place`: on the same file system as the directories. What is there is deleted.
  explicit SpareDirectories(std::filesystem::path place) : place_(std::move(place)) {}
  void clear();

  /// Makes `directory` and a directory `rank` in it; false: there is no spare one.
  bool take(const std::filesystem::path& directory, const std::string& rank);
  /// Empties a directory of a task with one rank and keeps it. False: it has something else, too, or belongs
  /// to another account, or there are enough; then the caller deletes it. Requires: nobody writes there any
  /// more.
  bool keep(const std::filesystem::path& directory);

 private:
  std::filesystem::path place_;
  std::mutex mutex_;
  std::vector<std::filesystem::path> spare_;
  std::int64_t kept_ = 0;
};

}  // namespace det::agent
