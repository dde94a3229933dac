#pragma once

#include <functional>
#include <vector>

#include "det/store/metrics/metric_rows.h"
#include "det/store/rows/event_rows.h"
#include "det/store/rows/log_rows.h"
#include "det/store/sqlite/sqlite.h"
#include "det/store/store.h"

namespace det::store {

/// Turns changes into rows, inside the writer's transactions.
class ChangeWriter {
 public:
  explicit ChangeWriter(Connection& connection);

  /// Requires: sequences of events ascend. Throws SqliteError.
  void apply(const Change& change);
  /// What AddMetrics has to tell since the last call; valid while the changes live.
  std::vector<std::function<void()>> take_refusals() { return std::exchange(refusals_, {}); }
  /// Forgets what it remembers of the database, after a rollback.
  void forget();

 private:
  void apply_one(const AppendEvent& append);
  void apply_one(const SaveSnapshot& save);
  void apply_one(const AddMetrics& add);

  Connection& connection_;
  std::int64_t last_sequence_;
  EventPruner events_;
  MetricWriter metrics_;
  LogWriter logs_;
  std::vector<std::function<void()>> refusals_;
};

/// About how much memory a change takes, for the bounds of the queue.
std::size_t approximate_bytes(const Change& change);

}  // namespace det::store
