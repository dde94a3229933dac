#include "det/det/upgrade.h"

#include "det/logging/log.h"

#include "det/store/sqlite/backup.h"
#include "det/store/sqlite/migrations.h"
#include "det/store/sqlite/sqlite.h"

namespace det::commands {
namespace {

namespace fs = std::filesystem;

/// 0: no schema of ours, or a file that opening the store will refuse with its own words.
int schema_version(const fs::path& database) {
  std::error_code failed;
  if (!fs::exists(database, failed)) return 0;
  try {
    store::SqliteConnection connection(database, store::SqliteConnection::Mode::Read);
    store::Query query(connection, "SELECT COALESCE(MAX(number), 0) FROM schema_migrations");
    return query.next() ? query.get<int>() : 0;
  } catch (const store::SqliteError&) {
    return 0;
  }
}

/// The first name that is free: there may be the copy of an earlier upgrade that was taken back.
fs::path free_name(const fs::path& database, int version) {
  const auto first = fs::path(database).concat(fmt::format(".schema-{}", version));
  auto name = first;
  std::error_code failed;
  for (int number = 2; fs::exists(name, failed); ++number)
    name = fs::path(first).concat(fmt::format("-{}", number));
  return name;
}

}  // namespace

Result<void> back_up_before_upgrade(const fs::path& directory) {
  const auto database = directory / "determined.db";
  const int version = schema_version(database);
  const int newest = static_cast<int>(store::built_in_migrations().size());
  if (version == 0 || version >= newest) return {};
  const auto target = free_name(database, version);
  if (auto copied = store::back_up_sqlite(database, target); !copied)
    return tl::unexpected(
        std::move(copied.error())
            .within(fmt::format("cannot back up the database before its upgrade from schema "
                                "version {} to {}",
                                version, newest)));
  logging::info("upgrading the database from schema version {} to {}; {} is a copy of it as it was", version,
                newest, target.string());
  return {};
}

}  // namespace det::commands
