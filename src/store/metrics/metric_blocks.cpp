#include "det/store/metrics/metric_blocks.h"

#include <algorithm>
#include <cmath>

#include "det/store/metrics/metric_rows.h"

namespace det::store {
namespace {

/// As many rows are read whole rather than in blocks, also where blocks would give the points that are
/// wanted; and where they would not, so many.
constexpr std::int64_t kRowsReadWhole = 8192;
constexpr std::int64_t kRowsReadForPoints = 65'536;

/// Whether so many blocks, which give two points each, are too few to be read instead of their rows.
bool too_few(std::size_t blocks, std::size_t points) {
  const auto rows = static_cast<std::int64_t>(blocks) * kRowsOfBlock;
  return rows <= kRowsReadWhole || (2 * blocks < points && rows <= kRowsReadForPoints);
}

// In the table: {"rows":64,"from":1,"records":640,"names":{"loss":[b,v,t, b,v,t]}}, least, greatest, no
// number.
json::array to_array(const Extremes& e) {
  json::array a;
  const auto put = [&a](const CurvePoint& p) {
    a.emplace_back(p.batches);
    a.emplace_back(json::from_double(p.value));
    a.emplace_back(p.time.microseconds);
  };
  if (e.numbers) put(e.low), put(e.high);
  if (e.nan) put(*e.nan);
  return a;
}

Extremes from_array(const json::array& a) {
  Extremes e;
  const auto get = [&a](std::size_t at) {
    return CurvePoint{json::to_int64(a[at]).value_or(0), json::to_double(a[at + 1]).value_or(NAN),
                      Time{json::to_int64(a[at + 2]).value_or(0)}};
  };
  e.numbers = a.size() >= 6;
  if (e.numbers) {
    e.low = get(0);
    e.high = get(3);
  }
  if (a.size() % 6 == 3) e.nan = get(a.size() - 3);
  return e;
}

void add_point(Extremes& e, const CurvePoint& p) {
  if (std::isnan(p.value)) {
    if (!e.nan) e.nan = p;
    return;
  }
  if (!e.numbers || p.value < e.low.value) e.low = p;
  if (!e.numbers || p.value > e.high.value) e.high = p;
  e.numbers = true;
}

std::vector<MetricBlock> read_blocks(Connection& connection, const CurveQuery& wanted,
                                     const std::string& group) {
  Query query(connection, R"sql(
SELECT up_to_batches, body
FROM metric_blocks
WHERE trial_id = ? AND metric_group = ? AND up_to_batches > ? AND up_to_batches <= ?
ORDER BY up_to_batches
)sql");
  query.bind(wanted.trial, group, wanted.after_batches, wanted.up_to_batches);
  std::vector<MetricBlock> blocks;
  while (query.next()) {
    MetricBlock block;
    json::object body;
    query.read(block.up_to_batches, Document{body});
    block.stale = body.empty();
    if (block.stale) {
      blocks.push_back(std::move(block));
      continue;
    }
    block.rows = json::to_int64(body["rows"]).value_or(0);
    block.from_batches = json::to_int64(body["from"]).value_or(0);
    block.counted = body.contains("records");
    if (block.counted) block.records = json::to_int64(body["records"]).value_or(0);
    if (block.from_batches <= wanted.after_batches) continue;  // partly before the range
    for (const auto& [name, points] : body["names"].as_object())
      if (wanted.wants(group, name) && points.is_array())
        block.names.emplace(name, from_array(points.get_array()));
    blocks.push_back(std::move(block));
  }
  return blocks;
}

void keep_wanted(MetricRecord& row, const CurveQuery& wanted) {
  if (wanted.names.empty() && wanted.ids.empty()) return;
  json::object kept;
  for (const auto& [name, value] : row.avg_metrics)
    if (wanted.wants(row.group, name)) kept.emplace(name, value);
  row.avg_metrics = std::move(kept);
}

/// The rows after `after`, up to and with `up_to`.
std::vector<MetricRecord> read_rows(Connection& connection, const CurveQuery& wanted,
                                    const std::string& group, std::int64_t after, std::int64_t up_to) {
  if (after >= up_to) return {};
  auto rows = read_metrics(
      connection, {.trial = wanted.trial, .group = group, .after_batches = after, .up_to_batches = up_to});
  for (auto& row : rows) {
    row.batch_metrics.clear();
    keep_wanted(row, wanted);
  }
  return rows;
}

/// One curve, thinned out if it must be.
std::vector<MetricRecord> read_one_curve(Connection& connection, const CurveQuery& wanted,
                                         const std::string& group) {
  const auto blocks = read_blocks(connection, wanted, group);
  const auto whole = [&] {
    return read_rows(connection, wanted, group, wanted.after_batches, wanted.up_to_batches);
  };
  std::vector<MetricBlock> cells;
  const auto add_rows = [&cells](const std::vector<MetricRecord>& rows) {
    for (const auto& row : rows) cells.emplace_back().add(row);
  };
  if (too_few(blocks.size(), wanted.points)) {
    auto rows = whole();
    if (rows.size() <= wanted.points) return rows;
    add_rows(rows);
  } else {
    // The first and the last block as rows, for the first and the last report are shown.
    add_rows(read_rows(connection, wanted, group, wanted.after_batches, blocks.front().up_to_batches));
    for (auto block = blocks.begin() + 1; block != blocks.end() - 1; ++block)
      if (block->stale)
        add_rows(read_rows(connection, wanted, group, (block - 1)->up_to_batches, block->up_to_batches));
      else
        cells.push_back(*block);
    add_rows(read_rows(connection, wanted, group, (blocks.end() - 2)->up_to_batches, wanted.up_to_batches));
  }
  return thin_out(cells, wanted.points, wanted.trial, group);
}

}  // namespace

void MetricBlock::add(const MetricRecord& row) {
  if (rows == 0) from_batches = row.batches;
  up_to_batches = row.batches;
  ++rows;
  records += row.records;
  counted = counted && row.records > 0;
  for (const auto& [name, value] : row.avg_metrics)
    if (const auto number = json::to_double(value))
      add_point(names[std::string(name)], {row.batches, *number, row.report_time});
}

void MetricBlock::add(const MetricBlock& later) {
  if (rows == 0) from_batches = later.from_batches;
  up_to_batches = later.up_to_batches;
  rows += later.rows;
  records += later.records;
  counted = counted && later.counted;
  for (const auto& [name, e] : later.names) {
    auto& mine = names[name];
    if (e.numbers) {
      add_point(mine, e.low);
      add_point(mine, e.high);
    }
    if (e.nan) add_point(mine, *e.nan);
  }
}

std::optional<Extremes> extremes_in(const json::object& body, const std::string& metric) {
  const auto* points = body.at("names").as_object().if_contains(metric);
  if (points == nullptr || !points->is_array()) return std::nullopt;
  return from_array(points->get_array());
}

std::int64_t blocks_up_to(Connection& connection, TrialId trial, const std::string& group) {
  return block_before(connection, trial, group, std::numeric_limits<std::int64_t>::max());
}

std::int64_t block_before(Connection& connection, TrialId trial, const std::string& group,
                          std::int64_t batches) {
  Query query(connection, R"sql(
SELECT up_to_batches
FROM metric_blocks
WHERE trial_id = ? AND metric_group = ? AND up_to_batches < ?
ORDER BY up_to_batches DESC
LIMIT 1
)sql");
  query.bind(trial, group, batches);
  return first<std::int64_t>(query, [](Query& row) { return row.get<std::int64_t>(); }).value_or(-1);
}

void write_block(Connection& connection, TrialId trial, const std::string& group, const MetricBlock& block,
                 const SumsByName& sums) {
  json::object body, names;
  for (const auto& [name, extremes] : block.names) names.emplace(name, to_array(extremes));
  body["rows"] = block.rows;
  body["from"] = block.from_batches;
  if (block.counted) body["records"] = block.records;
  body["names"] = std::move(names);
  Query(connection, R"sql(
INSERT INTO metric_blocks (trial_id, metric_group, up_to_batches, body, sums)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (trial_id, metric_group, up_to_batches) DO UPDATE SET body = excluded.body, sums = excluded.sums
)sql")
      .bind(trial, group, block.up_to_batches, Document{body}, Bytes{encode_document(to_short(sums))})
      .run();
}

void drop_block(Connection& connection, TrialId trial, const std::string& group, std::int64_t up_to_batches) {
  Query(connection, "DELETE FROM metric_blocks WHERE trial_id = ? AND metric_group = ? AND up_to_batches = ?")
      .bind(trial, group, up_to_batches)
      .run();
}

void drop_blocks_from(Connection& connection, TrialId trial, const std::string& group, std::int64_t batches) {
  Query(connection,
        "DELETE FROM metric_blocks WHERE trial_id = ? AND metric_group = ? AND up_to_batches >= ?")
      .bind(trial, group, batches)
      .run();
}

void make_block_stale(Connection& connection, TrialId trial, const std::string& group, std::int64_t batches) {
  const json::object nothing;
  Query(connection, R"sql(
UPDATE metric_blocks
SET body = ?, sums = NULL
WHERE trial_id = ? AND metric_group = ? AND up_to_batches =
      (SELECT MIN(up_to_batches) FROM metric_blocks WHERE trial_id = ? AND metric_group = ? AND up_to_batches >= ?)
  AND body <> ?
)sql")
      .bind(Document{nothing}, trial, group, trial, group, batches, Document{nothing})
      .run();
}

std::vector<MetricRecord> read_curve(Connection& connection, const CurveQuery& wanted) {
  std::vector<MetricRecord> records;
  for (const auto& group : read_metric_groups(connection, wanted.trial)) {
    if (wanted.group && *wanted.group != group) continue;
    auto curve = read_one_curve(connection, wanted, group);
    records.insert(records.end(), std::make_move_iterator(curve.begin()),
                   std::make_move_iterator(curve.end()));
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.batches < b.batches; });
  return records;
}

std::vector<MetricRecord> thin_out(const std::vector<MetricBlock>& cells, std::size_t points, TrialId trial,
                                   const std::string& group) {
  std::int64_t rows = 0;
  for (const auto& cell : cells) rows += cell.rows;
  const auto parts = std::max<std::int64_t>(1, static_cast<std::int64_t>(points) / 2);
  std::map<std::int64_t, MetricRecord> kept;  // by batches
  const auto keep = [&](const std::string& name, const CurvePoint& p) {
    auto& record = kept[p.batches];
    record.trial_id = trial;
    record.group = group;
    record.batches = p.batches;
    record.report_time = p.time;
    record.avg_metrics[name] = json::from_double(p.value);
  };
  const bool counted = std::all_of(cells.begin(), cells.end(), [](const auto& cell) { return cell.counted; });
  std::int64_t before = 0;  // rows of the parts that are done
  MetricBlock part;
  const auto keep_all = [&](const MetricBlock& block) {
    for (const auto& [name, e] : block.names) {
      if (e.numbers) {
        keep(name, e.low);
        keep(name, e.high);
      }
      if (e.nan) keep(name, *e.nan);
    }
  };
  for (const auto& cell : cells) {
    if (part.rows > 0 && before * parts / rows != (before - part.rows) * parts / rows) {
      keep_all(part);
      part = {};
    }
    part.add(cell);
    before += cell.rows;
  }
  keep_all(part);
  for (const auto* end : {&cells.front(), &cells.back()})
    if (end->rows == 1) keep_all(*end);

  // Records up to each point that is kept, then the differences.
  std::int64_t total = 0, said = 0;
  auto at = kept.begin();
  for (const auto& cell : cells) {
    for (; counted && at != kept.end() && at->first <= cell.up_to_batches; ++at) {
      const auto span = static_cast<double>(cell.up_to_batches - cell.from_batches + 1);
      const auto done = static_cast<double>(at->first - cell.from_batches + 1) / span;
      const std::int64_t now = total + std::llround(std::ceil(static_cast<double>(cell.records) * done));
      at->second.records = std::max<std::int64_t>(1, now - said);
      said = std::max(now, said + 1);
    }
    total += cell.records;
  }
  std::vector<MetricRecord> records;
  records.reserve(kept.size());
  for (auto& [_, record] : kept) records.push_back(std::move(record));
  return records;
}

}  // namespace det::store
