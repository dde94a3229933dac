#include "det/store/metric_summary.h"

#include <cmath>

#include "det/store/metric_blocks.h"
#include "det/store/metric_rows.h"

namespace det::store {

namespace {

constexpr std::int64_t kRowsAtOnce = 4096;

/// Sums of one name over the reports that hold it.
struct Sums {
  std::int64_t count = 0;
  double sum = 0, min = 0, max = 0;
  json::value last;
  bool numeric = true;  ///< every value was a number
};
BOOST_DESCRIBE_STRUCT(Sums, (), (count, sum, min, max, last, numeric))

struct CurveSums {
  std::int64_t up_to_batches = -1;
  std::map<std::string, Sums> names;
};

// A total order in which NaN is greater than every number.
bool less(double a, double b) {
  return std::isnan(b) ? !std::isnan(a) : a < b;
}

void add_value(Sums& sums, const json::value& value) {
  sums.last = value;
  const auto number = json::to_double(value);
  if (!number) sums.numeric = false;
  if (!sums.numeric) return;
  if (sums.count == 0 || less(*number, sums.min)) sums.min = *number;
  if (sums.count == 0 || less(sums.max, *number)) sums.max = *number;
  sums.sum += *number;
  ++sums.count;
}

CurveSums read_sums(Connection& connection, TrialId trial, const std::string& group) {
  Query query(connection,
              "SELECT up_to_batches, body FROM metric_summaries WHERE trial_id = ? AND metric_group = ?");
  query.bind(trial, group);
  CurveSums sums;
  if (query.next()) query.read(sums.up_to_batches, Document{sums.names});
  return sums;
}

std::vector<MetricRecord> rows_after(Connection& connection, TrialId trial, const std::string& group,
                                     std::int64_t batches, std::int64_t limit) {
  return read_metrics(connection, {.trial = trial, .group = group, .after_batches = batches, .limit = limit});
}

void add_row(CurveSums& sums, const MetricRecord& row) {
  for (const auto& [name, value] : row.avg_metrics) add_value(sums.names[std::string(name)], value);
  sums.up_to_batches = row.batches;
}

const char* type_name(const json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::string: return "string";
    case boost::json::kind::bool_: return "boolean";
    case boost::json::kind::array: return "array";
    case boost::json::kind::object: return "object";
    case boost::json::kind::null: return "null";
    default: return "number";
  }
}

json::object to_summary(const Sums& sums) {
  json::object o;
  if (sums.numeric) {
    o["count"] = sums.count;
    o["sum"] = json::from_double(sums.sum);
    o["min"] = json::from_double(sums.min);
    o["max"] = json::from_double(sums.max);
    o["mean"] = json::from_double(sums.sum / static_cast<double>(sums.count));
  }
  o["last"] = sums.last;
  o["type"] = sums.numeric ? "number" : type_name(sums.last);
  return o;
}

std::string summary_name(const std::string& group) {
  if (group == "training") return "avg_metrics";
  if (group == "validation") return "validation_metrics";
  return group;
}

}  // namespace

std::int64_t advance_sums(Connection& connection, TrialId trial, const std::string& group) {
  auto sums = read_sums(connection, trial, group);
  auto in_blocks = blocks_up_to(connection, trial, group);
  MetricBlock block;
  for (const auto& row :
       rows_after(connection, trial, group, std::min(sums.up_to_batches, in_blocks), kRowsAtOnce)) {
    if (row.batches > sums.up_to_batches) add_row(sums, row);
    if (row.batches <= in_blocks) continue;
    block.add(row);
    if (block.rows < kRowsOfBlock) continue;
    write_block(connection, trial, group, block);
    in_blocks = block.up_to_batches;
    block = {};
  }
  Query(connection, R"sql(
INSERT INTO metric_summaries (trial_id, metric_group, up_to_batches, body)
VALUES (?, ?, ?, ?)
ON CONFLICT (trial_id, metric_group) DO UPDATE SET up_to_batches = excluded.up_to_batches, body = excluded.body
)sql")
      .bind(trial, group, sums.up_to_batches, Document{sums.names})
      .run();
  return std::max(sums.up_to_batches, in_blocks);
}

void drop_sums_from(Connection& connection, TrialId trial, const std::string& group, std::int64_t batches) {
  Query(connection,
        "DELETE FROM metric_summaries WHERE trial_id = ? AND metric_group = ? AND up_to_batches >= ?")
      .bind(trial, group, batches)
      .run();
  drop_blocks_from(connection, trial, group, batches);
}

json::object read_summary(Connection& connection, TrialId trial) {
  json::object summary;
  for (const auto& group : read_metric_groups(connection, trial)) {
    auto sums = read_sums(connection, trial, group);
    for (const auto& row : rows_after(connection, trial, group, sums.up_to_batches, 0)) add_row(sums, row);
    json::object names;
    for (const auto& [name, of_name] : sums.names) names[name] = to_summary(of_name);
    summary[summary_name(group)] = std::move(names);
  }
  return summary;
}

}  // namespace det::store
