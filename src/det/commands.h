#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

/// The commands of `det` that work on a directory of this machine, most of them servers: they return the exit
/// code when stopped.
namespace det::commands {

int up(std::vector<std::string> arguments);
int master(std::vector<std::string> arguments);
int agent(std::vector<std::string> arguments);
int shim(std::vector<std::string> arguments);
int backup(std::vector<std::string> arguments);

/// Parses, or says what is wrong or asked for; then the exit code is there.
std::optional<int> parse(CLI::App& app, std::vector<std::string> arguments);

}  // namespace det::commands
