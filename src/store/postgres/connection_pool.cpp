#include "det/store/postgres/connection_pool.h"

#include <algorithm>
#include <thread>

namespace det::store {

void ConnectionPool::read(const std::function<void(Connection&)>& work) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  auto pause = std::chrono::milliseconds(20);
  while (true) {
    auto connection = lender_.take();
    try {
      if (!connection)
        connection = std::make_unique<PostgresConnection>(target_, PostgresConnection::Mode::Read);
      connection->wait();
      connection->forget_counts();
      connection->send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
      work(*connection);
      connection->send("COMMIT");
      connection->flush();
      return lender_.give_back(std::move(connection));
    } catch (const SqlError& error) {
      lender_.give_back(nullptr);
      if (error.kind() != SqlError::Kind::ConnectionLost || std::chrono::steady_clock::now() > until) throw;
    } catch (...) {
      lender_.give_back(nullptr);
      throw;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(500));
  }
}

}  // namespace det::store
