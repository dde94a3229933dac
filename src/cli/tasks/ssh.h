#pragma once

#include <string>
#include <vector>

#include "det/cli/session/session.h"

namespace det::cli {

/// How to log in to a shell.
struct SshWish {
  std::vector<std::string> options;  ///< for ssh, after the host: options of its own, and a command
  std::string command;               ///< to run in place of a login shell
  bool show = false;                 ///< print ssh's command line first, which then works later, too
  bool connect = true;
};

/// Logs in to a ready shell with the system's ssh, through a tunnel to the master (tunnel.h); ssh's status.
/// PermissionDenied where the shell belongs to another user, and with it its key.
Result<int> open_shell(Session& session, const std::string& id, const SshWish& wish);

}  // namespace det::cli
