#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

/// Ports of this machine that are connected to ports of a task while this process runs.
class PublishedPorts {
 public:
  /// Listens as "8000" or "8000:80", on the port of this machine and for that of the task, say.
  /// InvalidArgument, or FailedPrecondition for a port that is taken.
  static Result<PublishedPorts> listen(const std::vector<std::string>& wishes);
  /// Connects who came, and who comes, to the task's ports.
  Result<void> connect(Session& session, const std::string& task) const;

 private:
  struct Port {
    std::uint16_t local = 0, remote = 0;
    int socket = -1;
  };
  std::vector<Port> ports_;
};

/// `det tunnel`
Action define_tunnel(CLI::App& app);

}  // namespace det::cli
