#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "det/agent/options.h"
#include "det/base/error.h"

namespace det::agent {

/// Fills in what was left out (agent id, token from its file), checks the rest.
Result<AgentOptions> complete(AgentOptions options);

/// Runs an agent until the awaiting coroutine is cancelled; then it lets its
/// trials run on, for the next agent on this directory to find them again.
/// Returns early only when it cannot work at all: the directory is locked or
/// unreadable, or the options are wrong.
///
/// `machine`: from detect_machine(), which is best called while the process
/// has one thread. Runs on the caller's executor, which must be a strand or
/// belong to a context with one thread that lives as long as the process: warm
/// workers die with it. Several agents may run in one process, each with its own directory.
boost::asio::awaitable<Result<void>> run_agent(AgentOptions options, Machine machine);

}  // namespace det::agent
