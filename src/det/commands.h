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
int migrate(std::vector<std::string> arguments);
int init(std::vector<std::string> arguments);
int doctor_command(std::vector<std::string> arguments);
int import_determined(std::vector<std::string> arguments);

/// Parses the arguments. Prints the help or an error and returns the exit code if the command must not run.
std::optional<int> parse(CLI::App& app, std::vector<std::string> arguments);

}  // namespace det::commands
