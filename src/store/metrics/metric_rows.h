#pragma once

#include <map>
#include <optional>
#include <unordered_map>

#include "det/store/sql/sql.h"
#include "det/store/store.h"

/// Metric reports. A row is named by (trial, group, batches) and belongs to one
/// run: that of the last report which did not agree with what an earlier run said.
namespace det::store {

/// What a report adds to the one that is stored under its name.
struct MergedReport {
  bool changed = false;
  json::object avg_metrics;
  json::array batch_metrics;
  std::int64_t records = 0;
};
/// Fails with InvalidArgument where both hold the same name with different values.
Result<MergedReport> merge_reports(const MetricRecord& stored, const MetricRecord& report);

/// Writes reports, on the writer's connection.
class MetricWriter {
 public:
  explicit MetricWriter(Connection& connection) : connection_(connection) {}

  /// Refuses what Store::check_metrics says; what does not contradict is stored even then. What it takes to
  /// merge with the report that is there may wait for `settle`, so that a group of reports asks the database
  /// once. The change must live as long as the transaction.
  void add(const AddMetrics& add);
  /// Before other changes to the same rows, and at the end of a transaction.
  void settle();
  void rewind(const RewindTrial& rewind);
  /// What senders are to be told since the last call; valid while the changes live.
  std::vector<std::function<void()>> take_refusals() { return std::exchange(refusals_, {}); }
  /// Whether blocks became stale since the last call.
  bool take_stale() { return std::exchange(blocks_made_stale_, false); }
  /// Forgets what it remembers of the database, after a rollback.
  void forget();

 private:
  std::int64_t current_run(TrialId trial);
  void replace(const MetricRecord& stored, const MetricRecord& report);
  Result<void> merge_into_stored(const MetricRecord& report, const std::string& body);
  void refuse(const AddMetrics& add, Error error);
  bool note_new_row(const MetricRecord& report);
  void changed(const MetricRecord& report);
  void archive(TrialId trial, const std::string& group, std::int64_t beyond, std::int64_t runs_before);

  struct Curve {
    TrialId trial;
    std::string group;
    friend auto operator<=>(const Curve&, const Curve&) = default;
  };
  struct Added {
    const AddMetrics* change;
    std::string body;
  };
  /// Rows of `added_` that one statement inserted, except those whose name was taken.
  struct Insert {
    std::size_t from, rows;
    ChangeCount inserted;
  };
  void insert_added();

  Connection& connection_;
  std::vector<Added> added_;     // since `settle`
  std::vector<Insert> inserts_;  // of `added_`, from the first on
  std::vector<std::function<void()>> refusals_;
  bool blocks_made_stale_ = false;
  std::unordered_map<std::int64_t, std::int64_t> runs_;  // of trials, as in metric_runs
  std::map<Curve, std::int64_t>
      begun_;  // the run before whose first report nothing of earlier runs is left beyond
  struct Unsummed {
    int rows = 0;                     ///< since the sums of the curve were advanced
    std::int64_t up_to_batches = -1;  ///< the sums cover no row after these
  };
  std::map<Curve, Unsummed> unsummed_;
};

/// Begins a statement about the curves of trial ?1, none while it is being purged: the table `hops` has their
/// names, ascending, and a row of NULL. It hops from group to group: reads one row of each, however many
/// there are.
inline constexpr std::string_view kWithGroups = R"sql(
WITH RECURSIVE hops(name) AS (
  SELECT (SELECT MIN(metric_group) FROM metrics WHERE trial_id = ?1)
  WHERE NOT EXISTS (SELECT 1 FROM purges WHERE kind = 'trial' AND id = ?1)
  UNION ALL
  SELECT (SELECT MIN(metric_group) FROM metrics WHERE trial_id = ?1 AND metric_group > hops.name)
  FROM hops
  WHERE hops.name IS NOT NULL
)
)sql";
/// Selects the columns of a report; `read_report` reads them.
inline constexpr std::string_view kSelectReports = R"sql(
SELECT trial_id, run_id, metric_group, batches, body, report_time
FROM metrics
)sql";
MetricRecord read_report(Query& query);

/// Ascending by name.
std::vector<std::string> read_metric_groups(Connection& connection, TrialId trial);
std::vector<MetricRecord> read_metrics(Connection& connection, const MetricQuery& query);
/// The report of this trial, group and batch count.
std::optional<MetricRecord> read_metrics_at(Connection& connection, TrialId trial, const std::string& group,
                                            std::int64_t batches);
std::optional<MetricRecord> read_latest_metrics(Connection& connection, TrialId trial,
                                                const std::string& group);
/// See Store::check_metrics.
Result<void> check_report(Connection& connection, const MetricRecord& report);

}  // namespace det::store
