#include "det/store/rows/workload_rows.h"

#include <algorithm>
#include <cmath>

#include "det/store/metrics/metric_rows.h"
#include "det/store/rows/trial_rows.h"

namespace det::store {
namespace {

// Each part comes in the order of its index, so that they are merged as they are read, without sorting.
constexpr std::string_view kKeys = R"sql(
SELECT batches, 0 AS kind, 0 AS number, '' AS uuid
FROM metrics
WHERE ? <> 0 AND trial_id = ? AND metric_group = 'training'
UNION ALL
SELECT batches, 1, 0, ''
FROM metrics
WHERE ? <> 0 AND trial_id = ? AND metric_group = 'validation'
UNION ALL
SELECT batches, 2, number, uuid
FROM checkpoints
WHERE ? <> 0 AND trial_id = ? AND (? <> 0 OR state <> ?)
)sql";
constexpr std::string_view kAscending = "ORDER BY batches, kind, number\nLIMIT ? OFFSET ?";
constexpr std::string_view kDescending = "ORDER BY batches DESC, kind DESC, number DESC\nLIMIT ? OFFSET ?";

struct Key {
  std::int64_t batches = 0;
  int kind = 0;
  std::int64_t number = 0;
  std::string uuid;
};

bool is_purged(Connection& connection, TrialId trial) {
  Query query(connection, "SELECT 1 FROM purges WHERE kind = 'trial' AND id = ?");
  query.bind(trial);
  return query.next();
}

std::int64_t count(Connection& connection, const WorkloadQuery& wanted, bool reports) {
  Query query(connection, R"sql(
SELECT
  (SELECT COUNT(*) FROM metrics WHERE ? <> 0 AND trial_id = ? AND metric_group = 'training')
  + (SELECT COUNT(*) FROM metrics WHERE ? <> 0 AND trial_id = ? AND metric_group = 'validation')
  + (SELECT COUNT(*) FROM checkpoints WHERE ? <> 0 AND trial_id = ? AND (? <> 0 OR state <> ?))
)sql");
  query.bind(reports && wanted.training, wanted.trial, reports && wanted.validation, wanted.trial,
             wanted.checkpoints, wanted.trial, wanted.deleted_checkpoints,
             experiment::CheckpointState::Deleted);
  return first<std::int64_t>(query, [](Query& row) { return row.get<std::int64_t>(); }).value_or(0);
}

/// The keys of `limit` workloads from `offset` on; all of them for a limit of 0.
std::vector<Key> read_keys(Connection& connection, const WorkloadQuery& wanted, bool reports,
                           std::int64_t limit, std::int64_t offset, bool is_descending) {
  static const auto ascending = std::string(kKeys) + std::string(kAscending);
  static const auto descending = std::string(kKeys) + std::string(kDescending);
  Query query(connection, is_descending ? descending : ascending);
  query.bind(reports && wanted.training, wanted.trial, reports && wanted.validation, wanted.trial,
             wanted.checkpoints, wanted.trial, wanted.deleted_checkpoints,
             experiment::CheckpointState::Deleted, limit_or_all(limit), offset);
  return collect<Key>(query, [](Query& row) {
    Key key;
    row.read(key.batches, key.kind, key.number, key.uuid);
    return key;
  });
}

std::optional<WorkloadRecord> read_workload(Connection& connection, TrialId trial, const Key& key) {
  if (key.kind == 2) {
    auto found = read_checkpoint(connection, key.uuid);
    return found ? std::optional<WorkloadRecord>(*std::move(found)) : std::nullopt;
  }
  auto found = read_metrics_at(connection, trial, key.kind == 0 ? "training" : "validation", key.batches);
  return found ? std::optional<WorkloadRecord>(*std::move(found)) : std::nullopt;
}

/// The metric of a report by which a list is sorted; nothing where it is no number.
std::optional<double> value_of(const std::optional<WorkloadRecord>& workload, const std::string& metric) {
  const auto* report = workload ? std::get_if<MetricRecord>(&*workload) : nullptr;
  if (report == nullptr) return std::nullopt;
  const auto* found = report->avg_metrics.if_contains(metric);
  if (found == nullptr && metric.starts_with(report->group + "."))
    found = report->avg_metrics.if_contains(std::string_view(metric).substr(report->group.size() + 1));
  const auto number = found == nullptr ? std::nullopt : json::to_double(*found);
  return number && !std::isnan(*number) ? number : std::nullopt;
}

/// All keys by the value of a metric; equal ones and those without a value by batches.
std::vector<Key> keys_by_metric(Connection& connection, const WorkloadQuery& wanted, bool reports) {
  struct Ranked {
    Key key;
    std::optional<double> value;
  };
  std::vector<Ranked> all;
  for (auto& key : read_keys(connection, wanted, reports, 0, 0, wanted.descending)) {
    const auto value = value_of(read_workload(connection, wanted.trial, key), wanted.sort_metric);
    all.push_back({std::move(key), value});
  }
  std::ranges::stable_sort(all, [&](const Ranked& a, const Ranked& b) {
    if (!a.value || !b.value) return a.value.has_value() && !b.value;
    return wanted.descending ? *a.value > *b.value : *a.value < *b.value;
  });
  std::vector<Key> keys;
  for (auto& ranked : all) keys.push_back(std::move(ranked.key));
  return keys;
}

}  // namespace

WorkloadPage read_workloads(Connection& connection, const WorkloadQuery& wanted) {
  const bool reports = !is_purged(connection, wanted.trial);
  WorkloadPage page;
  page.total = count(connection, wanted, reports);
  page.offset = wanted.offset < 0 ? std::max<std::int64_t>(0, page.total + wanted.offset)
                                  : std::min(wanted.offset, page.total);
  std::vector<Key> keys;
  if (wanted.sort_metric.empty()) {
    keys = read_keys(connection, wanted, reports, wanted.limit, page.offset, wanted.descending);
  } else {
    keys = keys_by_metric(connection, wanted, reports);
    keys.erase(keys.begin(), keys.begin() + std::min<std::ptrdiff_t>(page.offset, std::ssize(keys)));
    if (wanted.limit > 0 && std::ssize(keys) > wanted.limit)
      keys.resize(static_cast<std::size_t>(wanted.limit));
  }
  for (const auto& key : keys)
    if (auto found = read_workload(connection, wanted.trial, key))
      page.workloads.push_back(*std::move(found));
  return page;
}

}  // namespace det::store
