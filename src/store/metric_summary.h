#pragma once

#include "det/store/sqlite.h"
#include "det/store/store.h"

/// Sums over a trial's reports. The stored sums of a curve (trial, group) cover its
/// rows up to some batch count; a summary is those sums and the rows that follow.
/// They are advanced now and then, so that a report need not write them each time.
namespace det::store {

constexpr int kRowsBetweenSums = 64;

/// Brings the stored sums of a curve up to its last row, or some thousand rows nearer to it.
void advance_sums(Connection& connection, TrialId trial, const std::string& group);
/// Row `batches` changed or went: the stored sums are dropped if they cover it.
void drop_sums_from(Connection& connection, TrialId trial, const std::string& group, std::int64_t batches);
/// See Store::summary_metrics.
json::object read_summary(Connection& connection, TrialId trial);

}  // namespace det::store
