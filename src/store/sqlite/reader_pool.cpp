#include "det/store/sqlite/reader_pool.h"

namespace det::store {

ReaderPool::Lease::Lease(ReaderPool& pool) : pool_(pool) {
  {
    std::unique_lock lock(pool_.mutex_);
    pool_.returned_.wait(lock, [&] { return pool_.lent_ < pool_.connections_max_; });
    ++pool_.lent_;
    if (!pool_.idle_.empty()) {
      connection_ = std::move(pool_.idle_.back());
      pool_.idle_.pop_back();
    }
  }
  try {
    if (!connection_)
      connection_ = std::make_unique<SqliteConnection>(pool_.path_, SqliteConnection::Mode::Read);
    connection_->execute("BEGIN");
  } catch (...) {
    const std::lock_guard lock(pool_.mutex_);
    --pool_.lent_;
    pool_.returned_.notify_one();
    throw;
  }
}

ReaderPool::Lease::~Lease() {
  // A connection that cannot end its transaction would hold the write-ahead log for ever: close it.
  const bool ended = sqlite3_exec(connection_->handle(), "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK;
  const std::lock_guard lock(pool_.mutex_);
  if (ended) pool_.idle_.push_back(std::move(connection_));
  --pool_.lent_;
  pool_.returned_.notify_one();
}

}  // namespace det::store
