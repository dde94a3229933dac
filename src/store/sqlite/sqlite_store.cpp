#include "det/store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "det/store/sql/sql_store.h"
#include "det/store/sqlite/backup.h"
#include "det/store/sqlite/file_lock.h"
#include "det/store/sqlite/log_space.h"
#include "det/store/sqlite/migrations.h"
#include "det/store/sqlite/reader_pool.h"
#include "det/store/sqlite/sqlite_transactions.h"

namespace det::store {

namespace {

Result<void> make_directory(const std::filesystem::path& path) {
  if (!path.has_parent_path()) return {};
  std::error_code failure;
  std::filesystem::create_directories(path.parent_path(), failure);
  if (failure)
    return fail(ErrorCode::Unavailable, "cannot create the directory {}: {}", path.parent_path().string(),
                failure.message());
  return {};
}

void require_wal(SqliteConnection& connection) {
  Query query(connection, OneTimeSql{"PRAGMA journal_mode = WAL"});
  query.next();
  if (const auto mode = query.get<std::string>(); mode != "wal")
    throw std::runtime_error(
        fmt::format("the file system does not support a write-ahead log (journal mode is '{}'); choose "
                    "another data directory",
                    mode));
}

// The log usually stays within what is reserved: it is copied back at `pages`, and may
// grow a little further until that happens.
void prepare_log(SqliteConnection& connection, const std::filesystem::path& path, int pages) {
  constexpr std::int64_t kFrameBytes = 4096 + 24;
  const auto bytes = (pages + pages / 4) * kFrameBytes;
  connection.execute(fmt::format("PRAGMA journal_size_limit = {}", bytes).c_str());
  reserve_log_space(path.string() + "-wal", bytes);
}

}  // namespace

void keep_to_owner(const std::filesystem::path& path) {
  const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made >= 0) ::close(made);
  for (const char* beside : {"", "-wal", "-shm"}) ::chmod((path.string() + beside).c_str(), 0600);
}

Result<std::unique_ptr<Store>> open_sqlite(const std::filesystem::path& path, SqliteSettings settings) {
  if (auto whole = refuse_unfinished_backup(path); !whole) return tl::unexpected(std::move(whole).error());
  if (auto made = make_directory(path); !made) return tl::unexpected(std::move(made).error());
  DET_TRY(auto lock, FileLock::acquire(path));
  keep_to_owner(path);
  try {
    auto connection = std::make_unique<SqliteConnection>(path, SqliteConnection::Mode::Write);
    if (auto migrated = migrate(*connection, built_in_migrations()); !migrated)
      return tl::unexpected(std::move(migrated).error().within(path.string()));
    require_wal(*connection);
    if (settings.reserve_log) prepare_log(*connection, path, settings.checkpoint_pages);
    settings.name = path.string();
    return make_sql_store(
        {.rest = std::make_shared<FileLock>(std::move(lock)),
         .transactions = std::make_unique<SqliteTransactions>(std::move(connection), settings),
         .writer = settings,
         .readers = std::make_unique<ReaderPool>(path),
         .watch = nullptr});
  } catch (const SqliteError& error) {
    return fail(ErrorCode::Unavailable, "cannot open {}: {}{}", path.string(),
                error.disk_full() ? "the disk is full; free some space and start again: " : "", error.what());
  } catch (const std::runtime_error& error) {
    return fail(ErrorCode::Unavailable, "cannot open {}: {}", path.string(), error.what());
  }
}

Result<std::unique_ptr<Store>> open_sqlite(SqliteOptions options) {
  SqliteSettings writer;
  writer.on_stall = std::move(options.on_stall);
  return open_sqlite(options.path, std::move(writer));
}

}  // namespace det::store
