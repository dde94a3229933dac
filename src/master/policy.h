#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <vector>

#include "det/master/services.h"

namespace det::master {

/// How many checkpoints an experiment keeps once it is over.
struct GcPolicy {
  std::int64_t save_experiment_best = 0, save_trial_best = 0, save_trial_latest = 0;
};
BOOST_DESCRIBE_STRUCT(GcPolicy, (), (save_experiment_best, save_trial_best, save_trial_latest))

/// Gives a finished experiment another policy and deletes what it no longer keeps.
/// The policy of a running one is not changed: FailedPrecondition.
asio::awaitable<Result<void>> change_policy(Services& s, ExperimentId id, GcPolicy policy);

}  // namespace det::master
