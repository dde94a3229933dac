#pragma once

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "det/base/error.h"
#include "det/experiment/records.h"

/// What is asked of a trial's metrics.
namespace det::store {

struct MetricQuery {
  TrialId trial;
  std::optional<std::string> group;
  std::int64_t after_batches = -1;
  std::int64_t up_to_batches = std::numeric_limits<std::int64_t>::max();
  std::int64_t limit = 0;  ///< 0: all; reports of the last batch count come together, even beyond it
};

/// A trial's metrics for a chart: of each metric and group at most about `points` values, the first and the
/// last report's and in between the least and the greatest of each part, so that no peak is lost; and what is
/// not a number.
struct CurveQuery {
  TrialId trial;
  std::optional<std::string> group;
  std::set<std::string> names;  ///< wanted; with `ids` empty: all
  std::set<std::string> ids;    ///< wanted as "group.name"
  std::int64_t after_batches = -1;
  std::int64_t up_to_batches = std::numeric_limits<std::int64_t>::max();
  std::size_t points = 1000;

  bool wants(const std::string& of_group, std::string_view name) const {
    if (names.empty() && ids.empty()) return true;
    return names.contains(std::string(name)) || ids.contains(fmt::format("{}.{}", of_group, name));
  }
};

/// One page of what a trial did, ascending by batches; of equal batches training, then validation, then
/// checkpoints in the order of their reports. With `sort_metric`, by the value of that metric; what does not
/// have it comes last.
struct WorkloadQuery {
  TrialId trial;
  bool training = true, validation = true, checkpoints = true;  ///< which of it
  std::int64_t offset = 0;                                      ///< negative: from the end
  std::int64_t limit = 0;                                       ///< 0: all from `offset` on
  bool descending = false;
  bool deleted_checkpoints = true;  ///< also those whose files were deleted
  std::string sort_metric{};        ///< "loss", or "validation.loss"; empty: by batches
};
using WorkloadRecord = std::variant<experiment::MetricRecord, experiment::CheckpointRecord>;
struct WorkloadPage {
  std::vector<WorkloadRecord> workloads;
  std::int64_t offset = 0;  ///< of the first, from the beginning of the whole list
  std::int64_t total = 0;   ///< of all pages
};

}  // namespace det::store
