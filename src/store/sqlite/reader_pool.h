#pragma once

#include <filesystem>
#include <memory>

#include "det/store/sql/lender.h"
#include "det/store/sql/sql_store.h"
#include "det/store/sqlite/sqlite.h"

namespace det::store {

/// A few read-only connections, opened when first needed. A caller that finds all
/// of them in use waits: reads are short, and more would not be faster.
class ReaderPool final : public Readers {
 public:
  explicit ReaderPool(std::filesystem::path path, std::size_t connections_max = 4)
      : path_(std::move(path)), lender_(connections_max) {}

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
  Lender<SqliteConnection> lender_;
};

}  // namespace det::store
