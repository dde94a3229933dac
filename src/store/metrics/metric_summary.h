#pragma once

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

/// See Store::summary_metrics.
json::object read_summary(Connection& connection, TrialId trial);

}  // namespace det::store
