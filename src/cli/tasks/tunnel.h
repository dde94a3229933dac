#pragma once

#include <string>

#include "det/cli/command.h"
#include "det/http/url.h"

namespace det::cli {

/// A way through the master's proxy: the bytes of a TCP connection as binary messages of a WebSocket.
struct TunnelEnd {
  http::Url master;
  std::string service;  ///< "TASK_ID", the SSH server of a shell, or "TASK_ID:PORT"
  std::string token;    ///< empty: none is needed
};

/// Moves bytes between two descriptors, which may be the same socket, and the service, until both ends are
/// closed. Unavailable when the connection to the master is lost; the master's error when it refuses.
Result<void> run_tunnel(const TunnelEnd& end, int in, int out);

/// `det tunnel`
Action define_tunnel(CLI::App& app);

}  // namespace det::cli
