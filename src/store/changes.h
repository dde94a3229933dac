#pragma once

#include <functional>
#include <map>
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
  void finish();
  /// What AddMetrics has to tell since the last call; valid while the changes live.
  std::vector<std::function<void()>> take_refusals() { return metrics_.take_refusals(); }
  /// Whether blocks of metrics became stale since the last call.
  bool take_stale() { return metrics_.take_stale(); }
  /// Forgets what it remembers of the database, after a rollback.
  void forget();

 private:
  void put_gathered();
  void apply_one(const AppendEvent& append);
  void apply_one(const PutTrial& put);
  void apply_one(const SaveSnapshot& save);

  Connection& connection_;
  std::int64_t last_sequence_;
  EventPruner events_;
  MetricWriter metrics_;
  LogWriter logs_;
  // What is put with few statements, at the end or before something else is done.
  std::vector<const Event*> gathered_events_;
  std::map<TrialId, const TrialRecord*> gathered_trials_;
};

/// About how much memory a change takes, for the bounds of the queue.
std::size_t approximate_bytes(const Change& change);

}  // namespace det::store
