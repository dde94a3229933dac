#pragma once

#include <functional>
#include <memory>
#include <string>

#include "det/base/error.h"
#include "det/master/logs/log_ring.h"
#include "det/master/master.h"

/// What the servers among the commands share.
namespace det::commands {

/// The program's log goes to stderr and, where there is a master, to its ring.
void log_to_stderr(bool verbose, std::shared_ptr<master::LogRing> ring = nullptr);

/// Prints why a command failed; returns its exit code.
int failed(const Error& error);

/// Where the master is reached from this machine; with TLS by a name that its certificate is for.
std::string url_of(const master::Master& server, const std::string& address);

/// Serves until SIGINT or SIGTERM. `ready` is called when the master listens.
int serve(master::MasterOptions options, const std::function<void(master::Master&)>& ready);

}  // namespace det::commands
