#pragma once

#include "det/store/store.h"
#include "det/store/writer.h"

namespace det::store {

/// open_sqlite with the writer's bounds in the caller's hands: for tests and benchmarks.
Result<std::unique_ptr<Store>> open_sqlite(const std::filesystem::path& path, WriterOptions options);

}  // namespace det::store
