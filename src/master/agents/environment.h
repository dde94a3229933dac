#pragma once

#include <map>
#include <string>

#include "det/api/agent.h"
#include "det/master/services.h"

namespace det::master {

/// What of a task's environment the master knows: the trial, its hyperparameters and
/// configuration, the checkpoint to resume from, and what the user's configuration adds.
/// Machine-dependent variables are the agent's (docs/reference/protocols.md §2).
std::map<std::string, std::string> task_environment(Services& s, const api::DesiredAllocation& allocation);

}  // namespace det::master
