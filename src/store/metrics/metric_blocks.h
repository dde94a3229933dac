#pragma once

#include "det/store/metrics/metric_sums.h"
#include "det/store/sql/sql.h"
#include "det/store/store.h"

/// Long curves in short: of every 64 reports the extremes of each metric are kept beside them, so that a
/// chart of some hundred points reads a sixty-fourth of what was reported and still shows every peak.
namespace det::store {

/// A value of a metric, and where.
struct CurvePoint {
  std::int64_t batches = 0;
  double value = 0;
  Time time;
};

/// The least, the greatest and, where there is one, a value that is not a number, of some reports.
struct Extremes {
  CurvePoint low, high;
  std::optional<CurvePoint> nan;
  bool numbers = false;  ///< low and high are set
};

/// Consecutive reports of one curve (trial, group) taken together.
struct MetricBlock {
  std::int64_t up_to_batches = -1;  ///< of the last
  std::int64_t from_batches = 0;    ///< of the first
  std::int64_t rows = 0, records = 0;
  bool counted = true;  ///< every report said its number of records
  bool stale = false;   ///< says nothing but up to where it goes
  std::map<std::string, Extremes> names;

  /// Takes a report in. What is no number is no point of a chart.
  void add(const MetricRecord& row);
  /// Takes the reports of a later block in.
  void add(const MetricBlock& later);
};

constexpr std::int64_t kRowsOfBlock = 64;

/// The last batch count that a block of a curve covers; -1: there is none.
std::int64_t blocks_up_to(Connection& connection, TrialId trial, const std::string& group);
/// The same of the blocks that end before `batches`: where the block after them begins.
std::int64_t block_before(Connection& connection, TrialId trial, const std::string& group,
                          std::int64_t batches);
void write_block(Connection& connection, TrialId trial, const std::string& group, const MetricBlock& block,
                 const SumsByName& sums);
void drop_block(Connection& connection, TrialId trial, const std::string& group, std::int64_t up_to_batches);
/// Rows from `batches` on went: they and all after them are in no block any more.
void drop_blocks_from(Connection& connection, TrialId trial, const std::string& group, std::int64_t batches);
/// Row `batches` came or changed: of the block that covers it only the rows count until it is made anew.
void make_block_stale(Connection& connection, TrialId trial, const std::string& group, std::int64_t batches);
/// Of a metric, as the column `body` of a block has them.
std::optional<Extremes> extremes_in(const json::object& body, const std::string& metric);
/// See Store::curve.
std::vector<MetricRecord> read_curve(Connection& connection, const CurveQuery& query);

/// `cells`, consecutive and ascending, as at most `points` points a name: the extremes of as many equal
/// parts. Records are shared out in proportion to batches, so that their sum stays.
std::vector<MetricRecord> thin_out(const std::vector<MetricBlock>& cells, std::size_t points, TrialId trial,
                                   const std::string& group);

}  // namespace det::store
