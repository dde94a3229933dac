#pragma once

#include <chrono>
#include <string>

#include "det/store/postgres/postgres.h"
#include "det/store/sql/lender.h"
#include "det/store/sql/sql_store.h"

namespace det::store {

/// A few connections for reads, opened when first needed. A caller that finds all of them in use waits. A
/// read whose connection is lost is made again on another one, for as long as a restart of the server takes.
class ConnectionPool final : public Readers {
 public:
  explicit ConnectionPool(std::string target, std::size_t connections_max = 8)
      : target_(std::move(target)), lender_(connections_max) {}

  void read(const std::function<void(Connection&)>& work) override;

 private:
  static constexpr std::chrono::seconds kPatience{20};
  const std::string target_;
  Lender<PostgresConnection> lender_;
};

}  // namespace det::store
