#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace det::store {

/// A disk that forgets, for tests: stands between SQLite and the file system as the
/// default VFS, and knows of the files of one database what has been synced and what
/// was written since. After every operation on them a power cut can be pretended.
///
/// One at a time; one thread writes. Everything else goes through to the real disk.
class CrashDisk {
 public:
  /// Records from now on. Requires: the database is open, in WAL mode and quiet.
  CrashDisk(std::filesystem::path database, std::function<void()> after_operation);
  ~CrashDisk();
  CrashDisk(const CrashDisk&) = delete;
  CrashDisk& operator=(const CrashDisk&) = delete;

  /// Puts the VFS in place; must be called before the database is opened.
  static void install();
  /// From now on every sync of every file fails, in the whole process.
  static void fail_syncs();

  enum class Unsynced { None, All, Some };
  /// Writes what a power cut would leave into `directory`: all that was synced and, of what
  /// was not, nothing, everything, or a random part whose last write may be torn.
  void write_image(const std::filesystem::path& directory, Unsynced unsynced, std::mt19937& random) const;

  // Called by the VFS.
  void written(const std::string& path, std::int64_t offset, std::string_view bytes);
  void truncated(const std::string& path, std::int64_t size);
  void synced(const std::string& path);
  bool records(const std::string& path) const { return files_.contains(path); }

 private:
  struct Operation {
    std::int64_t offset = 0;  ///< or the new size
    std::string bytes;
    bool truncates = false;
  };
  struct File {
    std::string synced;
    std::vector<Operation> pending;
  };
  static void apply(const Operation& operation, std::string& image);

  std::map<std::string, File> files_;
  std::function<void()> after_operation_;
};

}  // namespace det::store
