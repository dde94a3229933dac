#pragma once

#include <map>
#include <string>

#include "det/agent/options.h"
#include "det/agent/shim/shim.h"
#include "det/api/agent.h"

namespace det::agent {

using Environment = std::map<std::string, std::string>;

/// What of the agent's own environment a task gets: PATH, HOME, language,
/// proxies, certificates. Never credentials of the agent, nor DET_*.
Environment inherited_environment(const Environment& own);

/// Threads for the process of one slot: cores ÷ slots of the machine, at least 1.
int threads_for_slot(const Machine& machine);

/// The environment of one rank (docs/reference/protocols.md, section 2), from
/// the weakest to the strongest: `inherited`, what the agent sets, what the
/// master sends. `rank` counts over all agents.
Environment task_environment(const api::DesiredAllocation& allocation, int rank, const AgentOptions& options,
                             const Machine& machine, const std::string& cluster_id,
                             const std::string& work_directory, const Environment& inherited);

/// The isolation steps for an allocation, of those that work here. Ranks that
/// share a machine must see each other's shared memory.
std::vector<std::string> isolation_for(const api::DesiredAllocation& allocation, const AgentOptions& options,
                                       const Machine& machine);

/// malloc settings that keep freed memory of big tensors: 5 to 17 % faster
/// convolutions, because pages are not given back and faulted in again.
Environment malloc_environment();

}  // namespace det::agent
