#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "det/store/sqlite/sqlite.h"

/// The numbered files of migrations/, which bring a database from any earlier
/// version to this program's. A file that was released is never edited: its
/// checksum is in every database that has seen it.
namespace det::store {

struct Migration {
  int number;  ///< from 1, without gaps
  std::string_view name;
  std::string_view sql;
};

/// Tells an edited file, not an attacker.
std::string checksum_of(const Migration& migration);

/// Those built into this program, ascending.
std::span<const Migration> built_in_migrations();

/// Applies the migrations that are missing, each in a transaction of its own, so
/// that a crash at any statement leaves the version before or the version after.
///
/// Refuses a file that is not ours, a schema newer than this program, and one
/// that was made by other text than ours. `before_statement` is for tests that crash.
Result<void> migrate(SqliteConnection& connection, std::span<const Migration> migrations,
                     const std::function<void()>& before_statement = {});

}  // namespace det::store
