#pragma once

#include <set>
#include <vector>

#include "det/cluster/cluster.h"

namespace det::cluster {

constexpr std::int64_t kPreemptionTimeoutSeconds = 3600;

/// One call of `Cluster::handle`: its time, and what it has brought about so far.
struct Cluster::Step {
  Time now;
  std::int64_t& next_trial;
  std::vector<Effect> effects{};
  std::set<ExperimentId> touched{};  ///< experiments whose row may have changed
  bool place = false;                ///< slots or requests changed: plan again

  experiment::Experiment::Context context() { return {.now = now, .next_trial_id = next_trial}; }
};

}  // namespace det::cluster
