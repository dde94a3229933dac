#pragma once

#include <map>
#include <string>

#include "det/api/agent.h"
#include "det/master/services.h"

namespace det::master {

/// The environment variables of a task that the master sets: the trial, its hyperparameters and
/// configuration, the checkpoint to resume from, and what the user's configuration adds.
/// Machine-dependent variables are the agent's (docs/reference/protocols.md §2).
std::map<std::string, std::string> task_environment(Services& s, const api::DesiredAllocation& allocation);

/// The account that the processes of an allocation run as: of its workspace, else of its owner.
std::optional<config::AgentUserGroup> account_of(Services& s, const api::DesiredAllocation& allocation);
std::optional<config::AgentUserGroup> account_of(Services& s, const task::TaskRecord& task);

}  // namespace det::master
