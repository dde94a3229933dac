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

Result<PostgresSide> open_postgres_side(const std::string& target, UnfinishedCopy unfinished) {
  DET_TRY(auto connection, connect_postgres(target, unfinished));
  make_leadership_tables(*connection);
  const auto epoch = lead(*connection, {.holder = "det migrate", .give_up = once_another_leads()});
  if (!epoch)
    return failed_precondition("{}: a master uses this database; stop all masters first",
                               shown_target(connection->handle()));
  migrate_postgres(*connection, built_in_migrations());
  return PostgresSide(std::move(connection), *epoch);
}

Result<void> check_empty(Connection& to, const std::vector<Table>& tables) {
  for (const auto& table : tables)
    if (count_rows_of(to, table) != 0)
      return failed_precondition(
          "the database that is to be filled is not empty: table {} has rows; name an empty one", table.name);
  return {};
}

bool same(const MovedTable& one, const MovedTable& other) {
  return one.rows == other.rows && one.checksum == other.checksum;
}

void abandon(Connection& connection) {
  if (auto* postgres = dynamic_cast<PostgresConnection*>(&connection)) return postgres->roll_back();
  if (auto* sqlite = dynamic_cast<SqliteConnection*>(&connection);
      sqlite != nullptr && sqlite->in_transaction())
    sqlite->execute("ROLLBACK");
}

struct CopiedTable {
  MovedTable source, stored;  // as it was read, and as it was read back
};

/// Inside one transaction of the target.
CopiedTable copy_at_once(Connection& from, Connection& to, const Table& table) {
  const auto source = copy_table(from, to, table);
  return {source, sum_table(to, table)};
}

/// In transactions of the target, after the rows that it has from an interrupted copy.
CopiedTable copy_in_parts(Connection& from, Connection& to, const Table& table) {
  const auto copy_after = [&](std::int64_t present) {
    to.execute("BEGIN");
    const auto source = copy_table(from, to, table, present, [&] {
      to.execute("COMMIT");
      to.execute("BEGIN");
    });
    to.execute("COMMIT");
    to.execute("BEGIN");
    const auto stored = sum_table(to, table);
    to.execute("COMMIT");
    return CopiedTable{source, stored};
  };
  const auto present = count_rows_of(to, table);
  try {
    const auto copied = copy_after(present);
    if (present == 0 || same(copied.source, copied.stored)) return copied;
  } catch (const SqlError&) {
    if (present == 0) throw;
    abandon(to);
  }
  // The source has changed since the copy was interrupted.
  to.execute(fmt::format("DELETE FROM {}", table.name).c_str());
  return copy_after(0);
}

using CopyTable = CopiedTable (*)(Connection& from, Connection& to, const Table& table);

Result<std::vector<MovedTable>> copy_all(Connection& from, Connection& to, const std::vector<Table>& tables,
                                         CopyTable copy,
                                         const std::function<void(const MovedTable&)>& progress) {
  std::vector<MovedTable> moved;
  for (const auto& table : tables) {
    const auto [source, stored] = copy(from, to, table);
    if (!same(source, stored))
      return fail(ErrorCode::Internal,
                  "table {} differs after it was copied: {} rows with checksum {:016x}, but {} rows with "
                  "checksum {:016x} were read back; the copy cannot be used",
                  table.name, source.rows, source.checksum, stored.rows, stored.checksum);
    moved.push_back(stored);
    if (progress) progress(stored);
  }
  return moved;
}

Result<std::vector<MovedTable>> to_postgres(const std::filesystem::path& file, const std::string& target,
                                            const std::function<void(const MovedTable&)>& progress) {
  if (!std::filesystem::exists(file)) return not_found("database '{}' not found", file.string());
  if (auto whole = refuse_unfinished_backup(file); !whole) return tl::unexpected(std::move(whole).error());
  DET_TRY(auto source, open_sqlite_side(file, file));
  DET_TRY(auto to, open_postgres_side(target, UnfinishedCopy::Accepted));
  const auto tables = read_tables(*source.connection);
  if (!unfinished_copy(*to)) {
    if (auto empty = check_empty(*to, tables); !empty) return tl::unexpected(std::move(empty).error());
    mark_unfinished_copy(*to, file.parent_path().string());
  }
  source.connection->execute("BEGIN");
  auto moved = copy_all(*source.connection, *to, tables, copy_in_parts, progress);
  if (!moved) return moved;
  to->execute("BEGIN");
  for (const auto& table : tables) continue_numbers(*to, table);
  finish_copy(*to);
  to->execute("COMMIT");
  to->execute("ANALYZE");
  return moved;
}

std::filesystem::path unfinished_of(std::filesystem::path file) {
  return file += kUnfinishedCopy;
}

/// A file that is whole has its name; before, it has another.
Result<void> give_name(const std::filesystem::path& file) {
  std::error_code failed;
  std::filesystem::rename(unfinished_of(file), file, failed);
  if (!failed) return {};
  return fail(ErrorCode::Unavailable, "cannot rename the copy to '{}': {}", file.string(), failed.message());
}

Result<Sqlite> open_unfinished(const std::filesystem::path& file) {
  if (std::filesystem::exists(file))
    return fail(ErrorCode::AlreadyExists, "'{}' already exists; name another directory", file.string());
  std::error_code failed;
  std::filesystem::create_directories(file.parent_path(), failed);
  DET_TRY(auto target, open_sqlite_side(unfinished_of(file), file));
  target.connection->execute("PRAGMA synchronous = FULL");
  return target;
}

/// All of one moment, at once: the source may change meanwhile.
Result<std::vector<MovedTable>> snapshot_to_file(PostgresConnection& from, const std::filesystem::path& file,
                                                 const std::function<void(const MovedTable&)>& progress) {
  std::error_code ignored;
  std::filesystem::remove(unfinished_of(file), ignored);
  Result<std::vector<MovedTable>> moved{};
  {
    DET_TRY(auto target, open_unfinished(file));
    auto& to = *target.connection;
    to.execute("BEGIN");
    from.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
    moved = copy_all(from, to, read_tables(to), copy_at_once, progress);
    from.execute("COMMIT");
    to.execute(moved ? "COMMIT" : "ROLLBACK");
  }
  if (!moved) {
    std::filesystem::remove(unfinished_of(file), ignored);
    return moved;
  }
  if (auto named = give_name(file); !named) return tl::unexpected(std::move(named).error());
  return moved;
}

Result<std::vector<MovedTable>> to_sqlite(const std::string& source, const std::filesystem::path& file,
                                          const std::function<void(const MovedTable&)>& progress) {
  if (std::filesystem::exists(file))
    return fail(ErrorCode::AlreadyExists, "'{}' already exists; name another directory", file.string());
  DET_TRY(auto from, open_postgres_side(source, UnfinishedCopy::Refused));
  DET_TRY(auto target, open_unfinished(file));
  auto& to = *target.connection;
  from->execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
  auto moved = copy_all(*from, to, read_tables(to), copy_in_parts, progress);
  from->execute("COMMIT");
  if (!moved) return moved;
  target.connection.reset();
  if (auto named = give_name(file); !named) return tl::unexpected(std::move(named).error());
  return moved;
}

}  // namespace

Result<std::vector<MovedTable>> move_store(const std::string& from, const std::string& to,
                                           const std::function<void(const MovedTable&)>& progress) {
  if (auto fine = check_places(from, to); !fine) return tl::unexpected(std::move(fine).error());
  try {
    return is_sqlite(from) ? to_postgres(file_of(from), to, progress)
                           : to_sqlite(from, file_of(to), progress);
  } catch (const SqlError& error) {
    return fail(ErrorCode::Unavailable,
                "cannot copy the database: {}; run the command again, and it continues where it stopped",
                error.what());
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
    return snapshot_to_file(*from, file, progress);
  } catch (const SqlError& error) {
    return fail(ErrorCode::Unavailable, "cannot copy the database: {}; nothing was kept", error.what());
  }
}

}  // namespace det::store
