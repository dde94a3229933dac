#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "det/access/permission.h"
#include "det/cluster/events.h"
#include "det/experiment/records.h"

/// Decisions about actions on experiments and runs, without I/O.
namespace det::master {

/// The labels of an experiment with one more, or without one: sorted, each once.
std::vector<std::string> with_label(const std::vector<std::string>& labels, const std::string& label);
std::vector<std::string> without_label(const std::vector<std::string>& labels, const std::string& label);

/// How many experiments or runs one call acts on at most.
inline constexpr std::size_t kBulkMax = 10'000;
/// Refuses a list of ids that is too long; `member` names it.
Result<void> check_bulk_size(std::string_view member, std::size_t size);

/// The action of the same meaning on runs, as its path names it; none: runs have none of this meaning, or one
/// of their own.
std::optional<std::string> run_action(const std::string& experiment_action);

/// The experiment to which an action on a run applies. A run is a trial here, so it must be the only one of
/// its experiment. `trial`: none, if there is no such run; `runs`: of its experiment.
Result<ExperimentId> experiment_of_run(TrialId id, const std::optional<experiment::TrialRecord>& trial,
                                       std::size_t runs);

}  // namespace det::master
