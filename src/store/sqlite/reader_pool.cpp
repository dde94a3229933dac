#include "det/store/sqlite/reader_pool.h"

namespace det::store {

ReaderPool::Lease::Lease(ReaderPool& pool) : pool_(pool), connection_(pool.lender_.take()) {
  try {
    if (!connection_)
      connection_ = std::make_unique<SqliteConnection>(pool_.path_, SqliteConnection::Mode::Read);
    connection_->execute("BEGIN");
  } catch (...) {
    pool_.lender_.give_back(nullptr);
    throw;
  }
}

ReaderPool::Lease::~Lease() {
  // A connection that cannot end its transaction would hold the write-ahead log for ever: close it.
  const bool ended = sqlite3_exec(connection_->handle(), "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK;
  pool_.lender_.give_back(ended ? std::move(connection_) : nullptr);
}

}  // namespace det::store
