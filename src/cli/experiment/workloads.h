#pragma once

#include "det/cli/output/paging.h"
#include "det/cli/output/table.h"

namespace det::cli {

/// What trials did, batch count by batch count: the rows of `describe`.
class WorkloadTable {
 public:
  /// The raw entries of GET /api/v1/trials/{id}/workloads.
  void add(std::int64_t trial_id, const json::array& workloads);

  /// With a column for each metric, names sorted, if `metrics`; with a column
  /// for the trial if `trial_ids`. Entries of the same batch count are one row.
  Table table(bool metrics, bool trial_ids) const;

 private:
  struct Row {
    json::value training, validation, checkpoint;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, Row> rows_;  ///< By trial and batches.
};

/// By default all, many at a time: the master reads through them for each page.
Result<json::array> fetch_workloads(Session& session, std::int64_t trial_id,
                                    const Paging& paging = {.limit = 20'000});

}  // namespace det::cli
