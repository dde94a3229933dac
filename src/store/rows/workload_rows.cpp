#include "det/store/rows/workload_rows.h"

#include <algorithm>

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
WHERE ? <> 0 AND trial_id = ?
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
  + (SELECT COUNT(*) FROM checkpoints WHERE ? <> 0 AND trial_id = ?)
)sql");
  query.bind(reports && wanted.training, wanted.trial, reports && wanted.validation, wanted.trial,
             wanted.checkpoints, wanted.trial);
  return first<std::int64_t>(query, [](Query& row) { return row.get<std::int64_t>(); }).value_or(0);
}

}  // namespace

WorkloadPage read_workloads(Connection& connection, const WorkloadQuery& wanted) {
  const bool reports = !is_purged(connection, wanted.trial);
  WorkloadPage page;
  page.total = count(connection, wanted, reports);
  page.offset = wanted.offset < 0 ? std::max<std::int64_t>(0, page.total + wanted.offset)
                                  : std::min(wanted.offset, page.total);
  static const auto ascending = std::string(kKeys) + std::string(kAscending);
  static const auto descending = std::string(kKeys) + std::string(kDescending);
  Query query(connection, wanted.descending ? descending : ascending);
  query.bind(reports && wanted.training, wanted.trial, reports && wanted.validation, wanted.trial,
             wanted.checkpoints, wanted.trial, limit_or_all(wanted.limit), page.offset);
  const auto keys = collect<Key>(query, [](Query& row) {
    Key key;
    row.read(key.batches, key.kind, key.number, key.uuid);
    return key;
  });
  for (const auto& key : keys) {
    if (key.kind == 2) {
      if (auto found = read_checkpoint(connection, key.uuid)) page.workloads.emplace_back(*std::move(found));
    } else if (auto found = read_metrics_at(connection, wanted.trial,
                                            key.kind == 0 ? "training" : "validation", key.batches)) {
      page.workloads.emplace_back(*std::move(found));
    }
  }
  return page;
}

}  // namespace det::store
