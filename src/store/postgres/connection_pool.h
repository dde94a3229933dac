#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "det/store/postgres/postgres.h"
#include "det/store/sql/sql_store.h"

namespace det::store {

/// A few connections for reads, opened when first needed. A caller that finds all of them in use waits. A
/// read whose connection is lost is made again on another one, for as long as a restart of the server takes.
class ConnectionPool final : public Readers {
 public:
  explicit ConnectionPool(std::string target, std::size_t connections_max = 8)
      : target_(std::move(target)), connections_max_(connections_max) {}

  void read(const std::function<void(Connection&)>& work) override;

 private:
  std::unique_ptr<PostgresConnection> take();
  void give_back(std::unique_ptr<PostgresConnection> connection);

  static constexpr std::chrono::seconds kPatience{20};
  const std::string target_;
  const std::size_t connections_max_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::size_t lent_ = 0;
  std::vector<std::unique_ptr<PostgresConnection>> idle_;
};

}  // namespace det::store
