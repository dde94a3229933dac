#pragma once

#include "det/store/sql/writer.h"
#include "det/store/store.h"

namespace det::store {

struct SqliteSettings : WriterOptions {
  bool sync_every_commit = true;        ///< false only to measure what it costs
  bool reserve_log = true;              ///< false only to measure what it gains
  int checkpoint_pages = 4096;          ///< the write-ahead log is copied back whenever it has grown by this
  std::int64_t free_pages_kept = 4096;  ///< the file is not made smaller for fewer than twice as many
};

/// open_sqlite with the writer's bounds in the caller's hands: for tests and benchmarks.
Result<std::unique_ptr<Store>> open_sqlite(const std::filesystem::path& path, SqliteSettings settings);

/// A database that only its owner reads, hashes of passwords are in it: made where it is not there yet.
/// SQLite gives the files beside it the same rights.
void keep_to_owner(const std::filesystem::path& path);

}  // namespace det::store
