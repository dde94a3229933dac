#pragma once

#include <chrono>

#include "det/agent/async.h"
#include "det/agent/options.h"

namespace det::agent {

/// An agent inside a machine that an engine such as Slurm gives for a while.
struct Pilot {
  std::string allotment;  ///< which the master asked the engine for
  int node = 0;           ///< the number of this machine among those of the allotment
  std::string token;      ///< of the allotment; good for one pilot of each node
  /// How long to try when the master does not answer.
  std::chrono::seconds patience{300};
};

/// Exchanges the token of the allotment for the id, the token and the pool of an agent. Fails when the master
/// refuses, or does not answer for as long as the pilot is patient.
asio::awaitable<Result<AgentOptions>> claim(AgentOptions options, Pilot pilot);

}  // namespace det::agent
