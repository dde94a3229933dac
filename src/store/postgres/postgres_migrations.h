#pragma once

#include <optional>
#include <span>
#include <string>

#include "det/store/postgres/postgres.h"
#include "det/store/sqlite/migrations.h"

namespace det::store {

/// Whether the database is empty or this program's, and no newer than it; see migrate().
Result<void> check_schema(PostgresConnection& connection, std::span<const Migration> migrations);

/// The last migration of such a database; 0: it is empty.
std::int64_t schema_version(PostgresConnection& connection);

/// A copy into this database that was interrupted, or is still under way: of what; nothing: there is none.
std::optional<std::string> unfinished_copy(PostgresConnection& connection);
void mark_unfinished_copy(PostgresConnection& connection, const std::string& source);
void finish_copy(PostgresConnection& connection);
Result<void> refuse_unfinished_copy(PostgresConnection& connection);

/// Applies the migrations that are missing, in one transaction. Their text is that of SQLite, see
/// postgres_schema().
void migrate_postgres(PostgresConnection& connection, std::span<const Migration> migrations);

}  // namespace det::store
