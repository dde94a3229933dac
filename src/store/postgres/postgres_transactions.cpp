#include "det/store/postgres/postgres_transactions.h"

#include <utility>

namespace det::store {

void PostgresTransactions::begin() {
  connection_->wait();
  connection_->forget_counts();
  connection_->send("BEGIN");
  write_epoch(*connection_, epoch_, stored_, ++number_);
}

void PostgresTransactions::commit() {
  connection_->send("COMMIT");
  connection_->wait();
  stored_ = number_;
}

bool PostgresTransactions::resume() {
  connection_->reconnect();
  // Whichever of the attempts it was: all of them had the same changes.
  const auto before = std::exchange(stored_, lead_again(*connection_, epoch_));
  return stored_ > before;
}

}  // namespace det::store
