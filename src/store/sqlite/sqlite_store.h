#pragma once

#include "det/store/sqlite/writer.h"
#include "det/store/store.h"

namespace det::store {

/// open_sqlite with the writer's bounds in the caller's hands: for tests and benchmarks.
Result<std::unique_ptr<Store>> open_sqlite(const std::filesystem::path& path, WriterOptions options);

/// A database that only its owner reads, hashes of passwords are in it: made where it is not there yet.
/// SQLite gives the files beside it the same rights.
void keep_to_owner(const std::filesystem::path& path);

}  // namespace det::store
