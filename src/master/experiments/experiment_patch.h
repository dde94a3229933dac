#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <vector>

#include "det/experiment/reconfigure.h"
#include "det/master/services.h"

namespace det::master {

/// How many checkpoints stay once the experiment is over; what is absent stays as it is.
struct PatchStorage {
  std::optional<std::int64_t> save_experiment_best, save_trial_best, save_trial_latest;
};
BOOST_DESCRIBE_STRUCT(PatchStorage, (), (save_experiment_best, save_trial_best, save_trial_latest))

/// How large the search is; what is absent stays as it is.
struct PatchSearcher {
  std::optional<std::int64_t> max_trials, max_length, max_concurrent_trials, num_rounds;
};
BOOST_DESCRIBE_STRUCT(PatchSearcher, (), (max_trials, max_length, max_concurrent_trials, num_rounds))

/// PATCH /api/v1/experiments/{id}; what is absent stays as it is.
struct ExperimentPatchRequest {
  ExperimentId id;
  std::optional<std::string> name, description, notes;
  std::optional<std::vector<std::string>> labels;
  json::value resources;  ///< {"maxSlots": integer or null, "weight": number, "priority": integer}
  std::optional<PatchStorage> checkpoint_storage;
  std::optional<std::int64_t> project_id;  ///< not by PATCH: by moving it
  std::optional<PatchSearcher> searcher;   ///< of a completed experiment: its search is extended
};
BOOST_DESCRIBE_STRUCT(ExperimentPatchRequest, (),
                      (id, name, description, notes, labels, resources, checkpoint_storage, searcher))

/// Makes all the changes or none, of a live experiment or of a stored one. A finished experiment's
/// checkpoints that its new policy does not keep are deleted before this returns. `by`: see Ledger::handle.
asio::awaitable<Result<void>> patch_experiment(Services& s, ExperimentPatchRequest request, std::string by);

}  // namespace det::master
