#include "det/store/postgres/postgres_transactions.h"

namespace det::store {

void PostgresTransactions::begin() {
  connection_->wait();
  connection_->forget_counts();
  connection_->send("BEGIN");
  write_epoch(*connection_, epoch_, ++number_);
}

void PostgresTransactions::commit() {
  connection_->send("COMMIT");
  connection_->wait();
}

bool PostgresTransactions::resume() {
  connection_->reconnect();
  return lead_again(*connection_, epoch_) == number_;
}

}  // namespace det::store
