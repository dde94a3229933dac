#pragma once

#include <functional>
#include <memory>

#include "det/store/sql/writer.h"
#include "det/store/store.h"

namespace det::store {

/// Connections for reads.
class Readers {
 public:
  virtual ~Readers() = default;
  /// Calls `work` inside one read transaction: all its queries see the same state. It may be called again
  /// from the start, where a connection is lost.
  virtual void read(const std::function<void(Connection&)>& work) = 0;
};

/// What a store holds on to, in the order in which it was made: the readers go first at the end, then the
/// writer.
struct SqlStoreParts {
  std::shared_ptr<void> rest;  ///< what lives longer than the writer: a lock, a connection
  std::unique_ptr<Transactions> transactions;
  WriterOptions writer;
  std::unique_ptr<Readers> readers;
  /// Called with the writer once it runs: what else may find out that another master leads.
  std::function<std::shared_ptr<void>(Writer&)> watch;
};

/// The store on any SQL database.
std::unique_ptr<Store> make_sql_store(SqlStoreParts parts);

}  // namespace det::store
