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

 private:
  void checkpoint_if_large();

  std::unique_ptr<SqliteConnection> connection_;
  const int checkpoint_pages_;
  int wal_pages_ = 0;
  int checkpointed_pages_ = 0;
};

}  // namespace det::store
