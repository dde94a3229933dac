#pragma once

#include <functional>
#include <vector>

#include "det/store/metrics/metric_rows.h"
#include "det/store/rows/event_rows.h"
#include "det/store/rows/log_rows.h"
#include "det/store/sql/sql.h"
#include "det/store/store.h"

namespace det::store {

/// Turns changes into rows, inside the writer's transactions.
class ChangeWriter {
 public:
  explicit ChangeWriter(Connection& connection);

  /// Requires: sequences of events ascend. Throws SqlError.
  void apply(const Change& change);
  /// At the end of each transaction, whose changes must still live.
  void finish() { metrics_.settle(); }
  /// What AddMetrics has to tell since the last call; valid while the changes live.
  std::vector<std::function<void()>> take_refusals() { return metrics_.take_refusals(); }
  /// Whether blocks of metrics became stale since the last call.
  bool take_stale() { return metrics_.take_stale(); }
  /// Forgets what it remembers of the database, after a rollback.
  void forget();

 private:
  void apply_one(const AppendEvent& append);
  void apply_one(const SaveSnapshot& save);

  Connection& connection_;
  std::int64_t last_sequence_;
  EventPruner events_;
  MetricWriter metrics_;
  LogWriter logs_;
};

/// About how much memory a change takes, for the bounds of the queue.
std::size_t approximate_bytes(const Change& change);

}  // namespace det::store
