#pragma once

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include "det/store/sql/sql_store.h"
#include "det/store/sqlite/sqlite.h"

namespace det::store {

/// A few read-only connections, opened when first needed. A caller that finds all
/// of them in use waits: reads are short, and more would not be faster.
class ReaderPool final : public Readers {
 public:
  explicit ReaderPool(std::filesystem::path path, std::size_t connections_max = 4)
      : path_(std::move(path)), connections_max_(connections_max) {}

  void read(const std::function<void(Connection&)>& work) override {
    Lease lease(*this);
    work(lease.connection());
  }

 private:
  class Lease {
   public:
    explicit Lease(ReaderPool& pool);
    ~Lease();
    Connection& connection() { return *connection_; }

   private:
    ReaderPool& pool_;
    std::unique_ptr<SqliteConnection> connection_;
  };

  const std::filesystem::path path_;
  const std::size_t connections_max_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::size_t lent_ = 0;
  std::vector<std::unique_ptr<SqliteConnection>> idle_;
};

}  // namespace det::store
