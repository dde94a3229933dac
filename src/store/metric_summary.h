#pragma once

#include "det/store/sqlite.h"
#include "det/store/store.h"

/// Sums over a trial's reports. The stored sums of a curve (trial, group) cover its
/// rows up to some batch count; a summary is those sums and the rows that follow.
/// They are advanced now and then, so that a report need not write them each time.
namespace det::store {

constexpr int kRowsBetweenSums = 64;

/// Brings the stored sums and blocks (metric_blocks.h) of a curve up to its last row, or some thousand rows
/// nearer to it. No row after the batch count that it gives is in them.
std::int64_t advance_sums(Connection& connection, TrialId trial, const std::string& group);
/// Row `batches` changed or went: the stored sums and blocks that cover it are dropped.
void drop_sums_from(Connection& connection, TrialId trial, const std::string& group, std::int64_t batches);
/// See Store::summary_metrics.
json::object read_summary(Connection& connection, TrialId trial);

}  // namespace det::store
