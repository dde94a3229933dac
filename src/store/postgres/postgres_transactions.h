#pragma once

#include <memory>

#include "det/store/postgres/leadership.h"
#include "det/store/postgres/postgres.h"
#include "det/store/sql/transactions.h"

namespace det::store {

/// The leader's session: every transaction writes its epoch. After a lost connection the commits of the
/// epoch, which are numbered, tell whether the last one is stored.
class PostgresTransactions final : public Transactions {
 public:
  PostgresTransactions(std::unique_ptr<PostgresConnection> connection, std::int64_t epoch)
      : connection_(std::move(connection)), epoch_(epoch) {}
  ~PostgresTransactions() override { resign(*connection_, epoch_); }

  Connection& connection() override { return *connection_; }
  void begin() override;
  void commit() override;
  void abandon() noexcept override { connection_->roll_back(); }
  bool resume() override;

 private:
  std::unique_ptr<PostgresConnection> connection_;
  const std::int64_t epoch_;
  std::int64_t number_ = 0;  // of the transaction that is being made
};

}  // namespace det::store
