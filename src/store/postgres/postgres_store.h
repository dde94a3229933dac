#pragma once

#include <functional>

#include "det/store/postgres/leadership.h"
#include "det/store/sql/writer.h"
#include "det/store/store.h"

namespace det::store {

/// open_postgres with the writer's bounds in the caller's hands: for tests and benchmarks.
Result<std::unique_ptr<Store>> open_postgres(const std::string& target, WriterOptions writer,
                                             LeadershipOptions leadership);

/// What libpq says of a connection that failed, and what to do.
Error cannot_connect(const std::string& words);

enum class UnfinishedCopy { Refused, Accepted };
/// A connection to a database that this program may use, empty or its own; otherwise what to do.
Result<std::unique_ptr<PostgresConnection>> connect_postgres(
    const std::string& target, UnfinishedCopy unfinished = UnfinishedCopy::Refused);

}  // namespace det::store
