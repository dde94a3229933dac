#include "det/store/sqlite/backup.h"

#include <fcntl.h>
#include <unistd.h>

#include "det/store/sqlite/sqlite.h"
#include "det/store/sqlite/sqlite_store.h"

namespace det::store {
namespace {

constexpr int kPagesAtOnce = 4096;  // 16 MiB: the writer never waits for long

/// The backup API: it copies pages in one read transaction, beside the writer.
void copy(SqliteConnection& from, const std::filesystem::path& target,
          const std::function<void(int, int)>& progress) {
  sqlite3* opened = nullptr;
  keep_to_owner(target);
  const int failed =
      sqlite3_open_v2(target.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> to(opened, sqlite3_close_v2);
  if (failed != SQLITE_OK) throw SqliteError(opened, failed, "create the copy");
  from.execute("BEGIN");  // one moment for all pages, whatever is written meanwhile
  Query(from, "SELECT count(*) FROM sqlite_schema").next();
  auto* backup = sqlite3_backup_init(to.get(), "main", from.handle(), "main");
  if (backup == nullptr) throw SqliteError(to.get(), sqlite3_extended_errcode(to.get()), "begin the copy");
  int code = SQLITE_OK;
  while (code == SQLITE_OK || code == SQLITE_BUSY || code == SQLITE_LOCKED) {
    code = sqlite3_backup_step(backup, kPagesAtOnce);
    const int all = sqlite3_backup_pagecount(backup);
    if (progress) progress(all - sqlite3_backup_remaining(backup), all);
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) sqlite3_sleep(20);
  }
  const int finished = sqlite3_backup_finish(backup);
  from.execute("COMMIT");
  if (code != SQLITE_DONE || finished != SQLITE_OK) throw SqliteError(to.get(), code, "copy the database");
}

/// Pages would carry over that a file of an older release cannot shrink. Rows do not.
void copy_rows(const std::filesystem::path& database, const std::filesystem::path& target) {
  SqliteConnection from(database, SqliteConnection::Mode::Read);
  keep_to_owner(target);
  from.execute("PRAGMA query_only = OFF");  // it also keeps other files from being written
  from.execute("PRAGMA auto_vacuum = INCREMENTAL");
  Query(from, "VACUUM INTO ?").bind(target.string()).run();
}

bool can_shrink(SqliteConnection& connection) {
  Query query(connection, "PRAGMA auto_vacuum");
  return query.next() && query.get<int>() != 0;
}

Result<void> sync(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  if (descriptor >= 0) ::close(descriptor);
  if (synced) return {};
  return fail(ErrorCode::Unavailable, "cannot sync '{}' to the disk", path.string());
}

}  // namespace

Result<void> refuse_unfinished_backup(const std::filesystem::path& database) {
  const auto directory = database.parent_path();
  if (!std::filesystem::exists(database) && std::filesystem::exists(database.string() + kUnfinishedCopy))
    return failed_precondition(
        "'{}' contains an unfinished copy of a database: 'det migrate' was interrupted, or still runs. Run "
        "it "
        "again, and it continues; or remove '{}{}'",
        directory.string(), database.string(), kUnfinishedCopy);
  if (!std::filesystem::exists(directory / kUnfinishedBackup)) return {};
  return failed_precondition(
      "'{}' is an unfinished backup: 'det backup' was interrupted, or still runs. Use another backup, or "
      "make "
      "it again",
      directory.string());
}

Result<void> back_up_sqlite(const std::filesystem::path& database, const std::filesystem::path& target,
                            const std::function<void(int done, int all)>& progress) {
  if (!std::filesystem::exists(database)) return not_found("database '{}' not found", database.string());
  if (std::filesystem::exists(target))
    return fail(ErrorCode::AlreadyExists, "'{}' already exists; choose another path", target.string());
  auto unfinished = target;
  unfinished += ".unfinished";
  std::error_code ignored;
  std::filesystem::remove(unfinished, ignored);
  try {
    SqliteConnection from(database, SqliteConnection::Mode::Read);
    if (can_shrink(from))
      copy(from, unfinished, progress);
    else
      copy_rows(database, unfinished);
  } catch (const SqliteError& error) {
    std::filesystem::remove(unfinished, ignored);
    return fail(ErrorCode::Unavailable, "cannot copy '{}': {}", database.string(), error.what());
  }
  if (auto synced = sync(unfinished); !synced) return synced;
  std::error_code failed;
  std::filesystem::rename(unfinished, target, failed);
  if (failed)
    return fail(ErrorCode::Unavailable, "cannot rename the copy to '{}': {}", target.string(),
                failed.message());
  return sync(target.parent_path());
}

}  // namespace det::store
