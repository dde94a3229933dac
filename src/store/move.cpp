#include "det/store/move.h"

#include <filesystem>

#include "det/store/move_tables.h"
#include "det/store/postgres/leadership.h"
#include "det/store/postgres/postgres_migrations.h"
#include "det/store/postgres/postgres_store.h"
#include "det/store/sqlite/backup.h"
#include "det/store/sqlite/file_lock.h"
#include "det/store/sqlite/migrations.h"
#include "det/store/sqlite/sqlite_store.h"

namespace det::store {

namespace {

constexpr std::string_view kSqlite = "sqlite:";

bool is_sqlite(const std::string& place) {
  return place.starts_with(kSqlite);
}

std::filesystem::path file_of(const std::string& place) {
  return std::filesystem::path(place.substr(kSqlite.size())) / "determined.db";
}

Result<void> check_places(const std::string& from, const std::string& to) {
  for (const auto& place : {from, to})
    if (!is_sqlite(place) && !is_postgres_url(place))
      return invalid_argument(
          "'{}' must be sqlite:DIRECTORY, the directory of a master, or postgres://USER@HOST:PORT/NAME",
          place);
  if (is_sqlite(from) == is_sqlite(to))
    return invalid_argument(
        "one of both must be sqlite:DIRECTORY and the other postgres://…; to copy within one kind, use 'det "
        "backup' or 'pg_dump'");
  return {};
}

struct Sqlite {
  FileLock lock;
  std::unique_ptr<SqliteConnection> connection;
};

Result<Sqlite> open_sqlite_side(const std::filesystem::path& file, const std::filesystem::path& locked) {
  DET_TRY(auto lock, FileLock::acquire(locked));
  keep_to_owner(file);
  auto connection = std::make_unique<SqliteConnection>(file, SqliteConnection::Mode::Write);
  if (auto migrated = migrate(*connection, built_in_migrations()); !migrated)
    return tl::unexpected(std::move(migrated).error().within(file.string()));
  return Sqlite{std::move(lock), std::move(connection)};
}

/// Leads while it lives, as a master does.
class PostgresSide {
 public:
  PostgresSide(std::unique_ptr<PostgresConnection> connection, std::int64_t epoch)
      : connection_(std::move(connection)), epoch_(epoch) {}
  PostgresSide(PostgresSide&&) = default;
  PostgresSide& operator=(PostgresSide&&) = default;
  ~PostgresSide() {
    if (!connection_) return;
    connection_->roll_back();
    resign(*connection_, epoch_);
  }
  PostgresConnection& operator*() { return *connection_; }
  PostgresConnection* operator->() { return connection_.get(); }

 private:
  std::unique_ptr<PostgresConnection> connection_;
  std::int64_t epoch_;
};

Result<PostgresSide> open_postgres_side(const std::string& target) {
  DET_TRY(auto connection, connect_postgres(target));
  make_leadership_tables(*connection);
  const auto epoch = lead(*connection, {.holder = "det migrate", .give_up = once_another_leads()});
  if (!epoch)
    return failed_precondition("{}: a master uses this database; stop all masters first",
                               shown_target(connection->handle()));
  migrate_postgres(*connection, built_in_migrations());
  return PostgresSide(std::move(connection), *epoch);
}

/// Copies, and reads both back.
Result<std::vector<MovedTable>> copy_all(Connection& from, Connection& to, const std::vector<Table>& tables,
                                         const std::function<void(const MovedTable&)>& progress) {
  std::vector<MovedTable> moved;
  for (const auto& table : tables)
    if (count_rows_of(to, table) != 0)
      return failed_precondition(
          "the database that is to be filled is not empty: table {} has rows; name an empty one", table.name);
  for (const auto& table : tables) {
    const auto copied = copy_table(from, to, table);
    const auto stored = sum_table(to, table);
    if (copied.rows != stored.rows || copied.checksum != stored.checksum)
      return fail(ErrorCode::Internal,
                  "table {} differs after it was copied: {} rows with checksum {:016x}, but {} rows with "
                  "checksum {:016x} were read back; nothing was kept",
                  table.name, copied.rows, copied.checksum, stored.rows, stored.checksum);
    moved.push_back(stored);
    if (progress) progress(stored);
  }
  return moved;
}

Result<std::vector<MovedTable>> to_postgres(const std::filesystem::path& file, const std::string& target,
                                            const std::function<void(const MovedTable&)>& progress) {
  if (!std::filesystem::exists(file)) return not_found("database '{}' not found", file.string());
  if (auto whole = refuse_unfinished_backup(file.parent_path()); !whole)
    return tl::unexpected(std::move(whole).error());
  DET_TRY(auto source, open_sqlite_side(file, file));
  DET_TRY(auto to, open_postgres_side(target));
  const auto tables = read_tables(*source.connection);
  source.connection->execute("BEGIN");
  to->execute("BEGIN");
  auto moved = copy_all(*source.connection, *to, tables, progress);
  if (!moved) {
    to->roll_back();
    return moved;
  }
  for (const auto& table : tables) continue_numbers(*to, table);
  to->execute("COMMIT");
  to->execute("ANALYZE");
  return moved;
}

/// All of one moment, into a file that is there whole or not at all.
Result<std::vector<MovedTable>> copy_to_file(PostgresConnection& from, const std::filesystem::path& file,
                                             const std::function<void(const MovedTable&)>& progress) {
  if (std::filesystem::exists(file))
    return fail(ErrorCode::AlreadyExists, "'{}' already exists; name another directory", file.string());
  std::error_code failed;
  std::filesystem::create_directories(file.parent_path(), failed);
  auto unfinished = file;
  unfinished += ".unfinished";
  std::filesystem::remove(unfinished, failed);
  Result<std::vector<MovedTable>> moved{};
  {
    DET_TRY(auto target, open_sqlite_side(unfinished, file));
    auto& to = *target.connection;
    to.execute("PRAGMA synchronous = FULL");
    to.execute("BEGIN");
    from.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
    moved = copy_all(from, to, read_tables(to), progress);
    from.execute("COMMIT");
    to.execute(moved ? "COMMIT" : "ROLLBACK");
    if (moved) std::filesystem::rename(unfinished, file, failed);
  }
  if (!moved) {
    std::filesystem::remove(unfinished, failed);
  } else if (failed) {
    return fail(ErrorCode::Unavailable, "cannot rename the copy to '{}': {}", file.string(),
                failed.message());
  }
  return moved;
}

Result<std::vector<MovedTable>> to_sqlite(const std::string& source, const std::filesystem::path& file,
                                          const std::function<void(const MovedTable&)>& progress) {
  if (std::filesystem::exists(file))
    return fail(ErrorCode::AlreadyExists, "'{}' already exists; name another directory", file.string());
  DET_TRY(auto from, open_postgres_side(source));
  return copy_to_file(*from, file, progress);
}

}  // namespace

Result<std::vector<MovedTable>> move_store(const std::string& from, const std::string& to,
                                           const std::function<void(const MovedTable&)>& progress) {
  if (auto fine = check_places(from, to); !fine) return tl::unexpected(std::move(fine).error());
  try {
    return is_sqlite(from) ? to_postgres(file_of(from), to, progress)
                           : to_sqlite(from, file_of(to), progress);
  } catch (const SqlError& error) {
    return fail(ErrorCode::Unavailable, "cannot copy the database: {}; nothing was kept", error.what());
  }
}

Result<std::vector<MovedTable>> back_up_postgres(const std::string& target, const std::filesystem::path& file,
                                                 const std::function<void(const MovedTable&)>& progress) {
  DET_TRY(const auto from, connect_postgres(target));
  try {
    const auto version = schema_version(*from);
    if (version == 0)
      return failed_precondition("{}: the database is empty; name the one that the master uses",
                                 shown_target(from->handle()));
    if (version < static_cast<std::int64_t>(built_in_migrations().size()))
      return failed_precondition(
          "{}: the database has schema version {}, this program's is {}; back it up with the release of its "
          "master, or start a master of this release first",
          shown_target(from->handle()), version, built_in_migrations().size());
    return copy_to_file(*from, file, progress);
  } catch (const SqlError& error) {
    return fail(ErrorCode::Unavailable, "cannot copy the database: {}; nothing was kept", error.what());
  }
}

}  // namespace det::store
