#pragma once

#include <filesystem>

#include "det/agent/shim/shim.h"
#include "det/base/error.h"
#include "det/config/agent_user_group.h"

/// Tasks that run as another account than the agent's.
namespace det::agent {

/// Makes the ranks of a task run as `account`: `work`, below the agent's `state`, becomes its own, and uid,
/// gid, USER, LOGNAME and HOME (the account's home directory, else `work`) go into `spec`. FailedPrecondition
/// where the agent is not root and so cannot change its user.
Result<void> run_as(const config::AgentUserGroup& account, const std::filesystem::path& state,
                    const std::filesystem::path& work, ShimSpec& spec);

}  // namespace det::agent
