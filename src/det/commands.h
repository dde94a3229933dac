#pragma once

#include <string>
#include <vector>

/// The commands of `det` that become servers: they return the exit code when stopped.
namespace det::commands {

int up(std::vector<std::string> arguments);
int master(std::vector<std::string> arguments);
int agent(std::vector<std::string> arguments);
int shim(std::vector<std::string> arguments);

}  // namespace det::commands
