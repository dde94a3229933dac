#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "det/experiment/records.h"
#include "det/master/workspaces/workspaces.h"

/// Decisions about deleting workspaces and projects with their contents, without I/O.
namespace det::master {

/// Whether a deletion of the place has begun and not failed. Null: there is none.
bool goes_on(const Workspaces::Deletion* deletion);

/// Refuses to delete a workspace that has models, or one to which alone a pool is bound. `only_pool`: such a
/// pool; empty: there is none.
Result<void> check_workspace_deletion(const std::string& workspace, std::size_t models,
                                      const std::string& only_pool);

/// Why an experiment in that state cannot be deleted; none: it can.
std::optional<std::string> unfinished_problem(ExperimentId id, experiment::State state);
/// Why a checkpoint that is needed cannot be deleted; `need`: what for.
std::string checkpoint_problem(const std::string& uuid, ExperimentId experiment, const std::string& need);

/// The refusal to delete a place because of problems with its contents, of which it names the first.
Error deletion_refusal(const char* what, const std::string& name, std::vector<std::string> problems);

}  // namespace det::master
