#include "det/store/metrics/metric_summary.h"

#include <set>

#include "det/store/metrics/metric_blocks.h"
#include "det/store/metrics/metric_rows.h"
#include "det/store/metrics/metric_sums.h"

namespace det::store {

namespace {

constexpr int kBlocksAtOnce = 32;

CurveSums read_sums(Connection& connection, TrialId trial, const std::string& group) {
  Query query(connection,
              "SELECT up_to_batches, body FROM metric_summaries WHERE trial_id = ? AND metric_group = ?");
  query.bind(trial, group);
  CurveSums sums{.trial = trial, .group = group};
  if (query.next()) query.read(sums.up_to_batches, Document{sums.names});
  return sums;
}

std::vector<MetricRecord> rows_between(Connection& connection, TrialId trial, const std::string& group,
                                       std::int64_t after, std::int64_t up_to, std::int64_t limit = 0) {
  return read_metrics(
      connection,
      {.trial = trial, .group = group, .after_batches = after, .up_to_batches = up_to, .limit = limit});
}

void add_rows(Connection& connection, CurveSums& sums, std::int64_t up_to) {
  for (const auto& row : rows_between(connection, sums.trial, sums.group, sums.up_to_batches, up_to))
    add(sums.names, row);
  sums.up_to_batches = up_to;
}

bool block_ends_at(Connection& connection, TrialId trial, const std::string& group, std::int64_t batches) {
  Query query(connection,
              "SELECT 1 FROM metric_blocks WHERE trial_id = ? AND metric_group = ? AND up_to_batches = ?");
  query.bind(trial, group, batches);
  return query.next();
}

enum class Stale { End, AddRows };

// Adds the blocks that follow, of one in which older versions' sums end the rows. Many may be stale at a
// time, so that who stores the sums ends at the first, not to read the same rows again and again.
void add_blocks(Connection& connection, CurveSums& sums, Stale stale) {
  const auto& trial = sums.trial;
  const auto& group = sums.group;
  bool within = sums.up_to_batches >= 0 && !block_ends_at(connection, trial, group, sums.up_to_batches);
  Query query(connection, R"sql(
SELECT up_to_batches, sums
FROM metric_blocks
WHERE trial_id = ? AND metric_group = ? AND up_to_batches > ?
ORDER BY up_to_batches
)sql");
  query.bind(trial, group, sums.up_to_batches);
  while (query.next()) {
    std::int64_t up_to = 0;
    std::optional<std::string> body;
    query.read(up_to, body);
    if (!body && stale == Stale::End) return;
    if (within || !body) {
      add_rows(connection, sums, up_to);
    } else {
      add(sums.names, from_short(decode_document(*body).as_object()));
      sums.up_to_batches = up_to;
    }
    within = false;
  }
}

void write_sums(Connection& connection, const CurveSums& sums) {
  Query(connection, R"sql(
INSERT INTO metric_summaries (trial_id, metric_group, up_to_batches, body)
VALUES (?, ?, ?, ?)
ON CONFLICT (trial_id, metric_group) DO UPDATE SET up_to_batches = excluded.up_to_batches, body = excluded.body
)sql")
      .bind(sums.trial, sums.group, sums.up_to_batches, Document{sums.names})
      .run();
}

void drop_sums_from(Connection& connection, TrialId trial, const std::string& group, std::int64_t batches) {
  Query(connection,
        "DELETE FROM metric_summaries WHERE trial_id = ? AND metric_group = ? AND up_to_batches >= ?")
      .bind(trial, group, batches)
      .run();
}

/// Writes blocks of consecutive rows. The last rows, too few for a block, are left, or with `all` join the
/// one before. Where the last block ends; -1: there is none.
std::int64_t write_blocks(Connection& connection, TrialId trial, const std::string& group,
                          const std::vector<MetricRecord>& rows, bool all) {
  MetricBlock block;
  SumsByName sums;
  auto left = static_cast<std::int64_t>(rows.size());
  std::int64_t end = -1;
  for (const auto& row : rows) {
    block.add(row);
    add(sums, row);
    --left;
    if (all ? left > 0 && (block.rows < kRowsOfBlock || left < kRowsOfBlock) : block.rows < kRowsOfBlock)
      continue;
    write_block(connection, trial, group, block, sums);
    end = block.up_to_batches;
    block = {};
    sums.clear();
  }
  return end;
}

struct StaleBlock {
  TrialId trial;
  std::string group;
  std::int64_t up_to = 0;
};

std::vector<StaleBlock> read_stale_blocks(Connection& connection, int limit) {
  Query query(connection, connection.dialect().stale_blocks);
  query.bind(limit);
  std::vector<StaleBlock> blocks;
  while (query.next()) {
    auto& block = blocks.emplace_back();
    query.read(block.trial, block.group, block.up_to);
  }
  return blocks;
}

// Many rows may have come between the others: then blocks for some of them, and the stale one is left with
// fewer.
void renew_block(Connection& connection, const StaleBlock& stale) {
  const auto& [trial, group, up_to] = stale;
  const auto after = block_before(connection, trial, group, up_to);
  const auto rows = rows_between(connection, trial, group, after, up_to, kRowsAdvancedAtOnce);
  const bool all = rows.size() < static_cast<std::size_t>(kRowsAdvancedAtOnce);
  if (all) drop_block(connection, trial, group, up_to);
  write_blocks(connection, trial, group, rows, all);
}

std::int64_t advance_stored_sums(Connection& connection, TrialId trial, const std::string& group) {
  auto sums = read_sums(connection, trial, group);
  const auto before = sums.up_to_batches;
  add_blocks(connection, sums, Stale::End);
  if (sums.up_to_batches != before) write_sums(connection, sums);
  return sums.up_to_batches;
}

}  // namespace

std::int64_t advance_sums(Connection& connection, TrialId trial, const std::string& group) {
  const auto in_blocks = blocks_up_to(connection, trial, group);
  constexpr auto kEnd = std::numeric_limits<std::int64_t>::max();
  const auto rows = rows_between(connection, trial, group, in_blocks, kEnd, kRowsAdvancedAtOnce);
  const auto written = write_blocks(connection, trial, group, rows, false);
  return std::max({in_blocks, written, advance_stored_sums(connection, trial, group)});
}

std::int64_t summed_up_to(Connection& connection, TrialId trial, const std::string& group) {
  Query query(connection, R"sql(
SELECT
  COALESCE((SELECT up_to_batches FROM metric_blocks WHERE trial_id = ?1 AND metric_group = ?2
            ORDER BY up_to_batches DESC LIMIT 1), -1),
  COALESCE((SELECT up_to_batches FROM metric_summaries WHERE trial_id = ?1 AND metric_group = ?2), -1)
)sql");
  query.bind(trial, group);
  query.next();
  std::int64_t blocks = -1, sums = -1;
  query.read(blocks, sums);
  return std::max(blocks, sums);
}

void row_changed(Connection& connection, TrialId trial, const std::string& group, std::int64_t batches) {
  drop_sums_from(connection, trial, group, batches);
  make_block_stale(connection, trial, group, batches);
}

void rows_went(Connection& connection, TrialId trial, const std::string& group, std::int64_t batches) {
  drop_sums_from(connection, trial, group, batches);
  drop_blocks_from(connection, trial, group, batches);
}

bool blocks_stale(Connection& connection) {
  return !read_stale_blocks(connection, 1).empty();
}

void renew_some_blocks(Connection& connection) {
  std::set<std::pair<TrialId, std::string>> curves;
  for (const auto& stale : read_stale_blocks(connection, kBlocksAtOnce)) {
    renew_block(connection, stale);
    curves.emplace(stale.trial, stale.group);
  }
  for (const auto& [trial, group] : curves) advance_stored_sums(connection, trial, group);
}

std::vector<CurveSums> read_all_sums(Connection& connection, const std::vector<TrialId>& trials,
                                     const std::string& metric_of_tail) {
  static const auto with_sums = std::string(kWithGroups) + R"sql(
SELECT hops.name, sums.up_to_batches, sums.body,
       (SELECT MAX(blocks.up_to_batches) FROM metric_blocks AS blocks
        WHERE blocks.trial_id = ?1 AND blocks.metric_group = hops.name)
FROM hops LEFT JOIN metric_summaries AS sums ON sums.trial_id = ?1 AND sums.metric_group = hops.name
WHERE hops.name IS NOT NULL
)sql";
  std::vector<CurveSums> curves;
  std::vector<std::int64_t> block_ends;
  ask_of_each(
      connection, with_sums, trials, [](Query& query, TrialId trial) { query.bind(trial); },
      [&](Query& row, TrialId trial) {
        auto& curve = curves.emplace_back(CurveSums{.trial = trial});
        std::optional<std::int64_t> up_to, block_end;
        row.read(curve.group, up_to, Document{curve.names}, block_end);
        curve.up_to_batches = up_to.value_or(-1);
        block_ends.push_back(block_end.value_or(-1));
      });
  for (std::size_t i = 0; i < curves.size(); ++i)
    if (block_ends[i] > curves[i].up_to_batches) add_blocks(connection, curves[i], Stale::AddRows);
  ask_of_each(
      connection,
      "SELECT batches, body FROM metrics WHERE trial_id = ? AND metric_group = ? AND batches > ? ORDER BY "
      "batches",
      curves,
      [](Query& query, const CurveSums& curve) { query.bind(curve.trial, curve.group, curve.up_to_batches); },
      [&](Query& row, CurveSums& curve) {
        std::string body;
        row.read(curve.last_batches, body);
        decode_first_members(body, [&](std::string_view name, const json::value& value) {
          curve.names[std::string(name)].add(value);
          if (name != metric_of_tail) return;
          if (const auto number = json::to_double(value))
            curve.tail.push_back({.batches = curve.last_batches, .value = *number});
        });
      });
  return curves;
}

std::map<TrialId, json::object> summaries_of(const std::vector<CurveSums>& curves) {
  std::map<TrialId, json::object> summaries;
  for (const auto& curve : curves) {
    json::object names;
    for (const auto& [name, sums] : curve.names) names[name] = to_summary(sums);
    const auto key = curve.group == "training"     ? "avg_metrics"
                     : curve.group == "validation" ? "validation_metrics"
                                                   : curve.group;
    summaries[curve.trial][key] = std::move(names);
  }
  return summaries;
}

std::map<TrialId, json::object> read_summaries(Connection& connection, const std::vector<TrialId>& trials) {
  return summaries_of(read_all_sums(connection, trials));
}

}  // namespace det::store
