#pragma once

#include <memory>

#include "det/store/sql/transactions.h"
#include "det/store/sqlite/sqlite.h"
#include "det/store/sqlite/sqlite_store.h"

namespace det::store {

/// The writer's connection to SQLite. Between transactions it copies the write-ahead log back, so that no
/// other connection ever writes to the database file.
class SqliteTransactions final : public Transactions {
 public:
  SqliteTransactions(std::unique_ptr<SqliteConnection> connection, const SqliteSettings& settings);
  ~SqliteTransactions() override;

  Connection& connection() override { return *connection_; }
  void begin() override { connection_->execute("BEGIN IMMEDIATE"); }
  void commit() override { connection_->execute("COMMIT"); }
  void abandon() noexcept override;
  void housekeeping() override { checkpoint_if_large(); }
  bool has_space_to_return() override;
  void return_some_space() override;

 private:
  void checkpoint_if_large();
  std::int64_t free_pages_kept();
  std::int64_t pragma(const char* name);

  std::unique_ptr<SqliteConnection> connection_;
  const int checkpoint_pages_;
  const std::int64_t least_free_pages_kept_;
  bool shrinks_ = false;    // can be made smaller while it is used: files of earlier versions cannot
  bool returning_ = false;  // until no more than what is kept is free
  int wal_pages_ = 0;
  int checkpointed_pages_ = 0;
};

}  // namespace det::store
