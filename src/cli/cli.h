#pragma once

#include <functional>
#include <string>
#include <vector>

#include "det/cli/output/console.h"
#include "det/cli/session/auth.h"

namespace det::cli {

/// A sub-command that the program adds: `det up`, `det agent`, … The arguments
/// after its name are passed on as they are.
struct ExtraCommand {
  std::string name;
  std::string help;
  std::function<int(std::vector<std::string> arguments)> run;
  bool hidden = false;  ///< Not in the help: for commands that only programs use.
};

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitInterrupted = 3;

/// The `det` command line: reads the arguments, runs the command, returns the
/// exit code. Where `extra` and a group share a name (`det master`), the
/// group's own commands go first and everything else goes to `extra`.
int run(int argc, char** argv, const std::vector<ExtraCommand>& extra = {});

/// The same with the outside world given.
int run(const std::vector<std::string>& arguments, Console& console, const Variables& variables,
        const std::vector<ExtraCommand>& extra = {});

}  // namespace det::cli
