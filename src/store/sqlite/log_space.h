#pragma once

#include <cstdint>
#include <filesystem>

namespace det::store {

/// Fills the write-ahead log with zeros up to `bytes`, if it is shorter. A sync of a file
/// that grows makes the file system write its own journal; one of a file that keeps its size
/// is many times faster (docs/decisions/0003-sqlite-one-writer.md). SQLite takes zeros for the
/// end of the log. Requires: the database is open in WAL mode, and nobody writes yet.
///
/// Without the space the log is left as it was: it then grows as it needs.
void reserve_log_space(const std::filesystem::path& log, std::int64_t bytes);

}  // namespace det::store
