#pragma once

#include "det/store/sql/sql.h"

namespace det::store {

/// How the writer makes transactions of one kind of database. All calls come from one thread.
class Transactions {
 public:
  virtual ~Transactions() = default;

  virtual Connection& connection() = 0;
  virtual void begin() = 0;
  /// Durable when it returns.
  virtual void commit() = 0;
  /// After an error in between: lets go of what the transaction held. Never throws.
  virtual void abandon() noexcept = 0;
  /// Before the next try. Whether what was being committed is stored after all.
  virtual bool resume() { return false; }
  /// Between transactions.
  virtual void housekeeping() {}
  /// Whether the database holds much space that nothing uses any more, and can be made smaller.
  virtual bool has_space_to_return() { return false; }
  /// Returns some of it to the file system, inside a transaction.
  virtual void return_some_space() {}
};

}  // namespace det::store
