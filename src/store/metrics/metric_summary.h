#pragma once

#include "det/store/metrics/metric_blocks.h"
#include "det/store/metrics/metric_sums.h"
#include "det/store/sql/sql.h"
#include "det/store/store.h"

/// Sums over a trial's reports, kept up to some batch count: of each block (metric_blocks.h), and of the
/// whole curve (trial, group). A summary is the curve's, then the blocks', then the rows that follow. A
/// curve's sums are advanced now and then, so that a report need not write them each time; a report that is
/// out of order makes only its own block stale.
namespace det::store {

constexpr int kRowsBetweenSums = 64;
constexpr int kRowsAdvancedAtOnce = 4096;

/// Brings the stored blocks and sums of a curve up to its last whole block, or `kRowsAdvancedAtOnce` rows
/// nearer to it. No row after the batch count that it gives is in them.
std::int64_t advance_sums(Connection& connection, TrialId trial, const std::string& group);
/// No row of the curve after this batch count is in stored blocks or sums.
std::int64_t summed_up_to(Connection& connection, TrialId trial, const std::string& group);
/// Row `batches` came or changed: what covers it must be made anew.
void row_changed(Connection& connection, TrialId trial, const std::string& group, std::int64_t batches);
/// Rows from `batches` on went: the stored sums and blocks that cover one of them are dropped.
void rows_went(Connection& connection, TrialId trial, const std::string& group, std::int64_t batches);

/// Whether some block is stale.
bool blocks_stale(Connection& connection);
/// Makes some of them anew, inside the caller's transaction.
void renew_some_blocks(Connection& connection);

/// The sums of one curve.
struct CurveSums {
  TrialId trial;
  std::string group{};
  std::int64_t up_to_batches = -1;  ///< that the stored sums and blocks cover
  SumsByName names{};               ///< over all reports
  std::int64_t last_batches = -1;   ///< of the last report that is not covered; -1: there is none
  std::vector<CurvePoint> tail{};   ///< of one metric in the reports that are not covered, without times
};
/// Of all curves of these trials, in the order of the trials and then ascending by group.
std::vector<CurveSums> read_all_sums(Connection& connection, const std::vector<TrialId>& trials,
                                     const std::string& metric_of_tail = "");
std::map<TrialId, json::object> summaries_of(const std::vector<CurveSums>& curves);
/// See Store::summaries.
std::map<TrialId, json::object> read_summaries(Connection& connection, const std::vector<TrialId>& trials);

}  // namespace det::store
