#include "det/store/postgres/connection_pool.h"

#include <algorithm>
#include <thread>

namespace det::store {

void ConnectionPool::read(const std::function<void(Connection&)>& work) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  auto pause = std::chrono::milliseconds(20);
  while (true) {
    auto connection = take();
    try {
      if (!connection)
        connection = std::make_unique<PostgresConnection>(target_, PostgresConnection::Mode::Read);
      connection->wait();
      connection->forget_counts();
      connection->send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
      work(*connection);
      connection->send("COMMIT");
      connection->flush();
      return give_back(std::move(connection));
    } catch (const SqlError& error) {
      give_back(nullptr);
      if (error.kind() != SqlError::Kind::ConnectionLost || std::chrono::steady_clock::now() > until) throw;
    } catch (...) {
      give_back(nullptr);
      throw;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(500));
  }
}

std::unique_ptr<PostgresConnection> ConnectionPool::take() {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return lent_ < connections_max_; });
  ++lent_;
  if (idle_.empty()) return nullptr;
  auto connection = std::move(idle_.back());
  idle_.pop_back();
  return connection;
}

void ConnectionPool::give_back(std::unique_ptr<PostgresConnection> connection) {
  {
    const std::lock_guard lock(mutex_);
    if (connection) idle_.push_back(std::move(connection));
    --lent_;
  }
  returned_.notify_one();
}

}  // namespace det::store
