#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "det/base/id.h"

namespace det::checkpoint {

/// A finished checkpoint, as garbage collection sees it.
struct Candidate {
  std::string uuid;
  TrialId trial;
  std::int64_t sequence = 0;     ///< newer ones are larger; no two are equal
  std::optional<double> metric;  ///< the searcher's, of the validation at the same batches
  bool pinned = false;           ///< needed by someone: never deleted
};

/// How many checkpoints to keep; all zeros keep none but the pinned.
struct Retention {
  std::int64_t experiment_best = 0;
  std::int64_t trial_best = 1;
  std::int64_t trial_latest = 1;
};

/// The checkpoints of one experiment that are neither pinned nor among its
/// best, its trials' best or their latest: uuids in the order given.
///
/// Of equal metrics the newer checkpoint ranks first. NaN ranks behind all
/// numbers; a checkpoint without a metric is never a best one.
std::vector<std::string> to_delete(std::span<const Candidate> candidates, const Retention& retention,
                                   bool smaller_is_better);

}  // namespace det::checkpoint
