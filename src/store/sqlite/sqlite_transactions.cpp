#include "det/store/sqlite/sqlite_transactions.h"

#include <fmt/format.h>

#include <algorithm>

namespace det::store {

namespace {

constexpr int kAutoVacuumIncremental = 2;
constexpr std::int64_t kPagesReturnedAtOnce = 256;  // 1 MiB: a commit may have to wait for one such step

}  // namespace

SqliteTransactions::SqliteTransactions(std::unique_ptr<SqliteConnection> connection,
                                       const SqliteSettings& settings)
    : connection_(std::move(connection)),
      checkpoint_pages_(settings.checkpoint_pages),
      least_free_pages_kept_(settings.free_pages_kept),
      shrinks_(pragma("auto_vacuum") == kAutoVacuumIncremental) {
  connection_->execute(settings.sync_every_commit ? "PRAGMA synchronous = FULL"
                                                  : "PRAGMA synchronous = NORMAL");
  // Replaces SQLite's own checkpoints by a count, upon which checkpoint_if_large acts.
  const auto count_pages = [](void* self, sqlite3*, const char*, int pages) {
    static_cast<SqliteTransactions*>(self)->wal_pages_ = pages;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(connection_->handle(), count_pages, this);
}

SqliteTransactions::~SqliteTransactions() {
  sqlite3_wal_hook(connection_->handle(), nullptr, nullptr);
}

void SqliteTransactions::abandon() noexcept {
  if (connection_->in_transaction())
    sqlite3_exec(connection_->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

std::int64_t SqliteTransactions::pragma(const char* name) {
  Query query(*connection_, OneTimeSql{std::string("PRAGMA ") + name});
  return query.next() ? query.get<std::int64_t>() : 0;
}

std::int64_t SqliteTransactions::free_pages_kept() {
  return std::max(pragma("page_count") / 16, least_free_pages_kept_);
}

bool SqliteTransactions::has_space_to_return() {
  if (!shrinks_) return false;
  returning_ = pragma("freelist_count") > free_pages_kept() * (returning_ ? 1 : 2);
  return returning_;
}

void SqliteTransactions::return_some_space() {
  const auto pages = std::min(pragma("freelist_count") - free_pages_kept(), kPagesReturnedAtOnce);
  if (pages <= 0) return;
  connection_->execute(fmt::format("PRAGMA incremental_vacuum({})", pages).c_str());
  // The file gets smaller when the log is copied back: after the last step at once.
  if (pages < kPagesReturnedAtOnce) checkpointed_pages_ = -checkpoint_pages_;
}

void SqliteTransactions::checkpoint_if_large() {
  if (wal_pages_ < checkpointed_pages_) checkpointed_pages_ = 0;  // the log has begun anew
  if (wal_pages_ < checkpointed_pages_ + checkpoint_pages_) return;
  // Readers keep a passive checkpoint from starting the log anew. When that has gone
  // on for long, wait for them.
  const int mode =
      wal_pages_ > 16 * checkpoint_pages_ ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE;
  const int code = sqlite3_wal_checkpoint_v2(connection_->handle(), nullptr, mode, nullptr, nullptr);
  checkpointed_pages_ = wal_pages_;
  if (code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY) return;
  const SqliteError error(connection_->handle(), code, "copy the write-ahead log back");
  // The log itself holds all that was acknowledged; the next commit meets the full disk.
  if (!error.disk_full()) throw error;
}

}  // namespace det::store
