// The program: the command line, and the processes that it can become.

#include "det/cli/cli.h"
#include "det/det/commands.h"
#include "det/det/paths.h"

int main(int argc, char** argv) {
  using namespace det;
  const std::vector<cli::ExtraCommand> commands = {
      {"up", "Start a master and an agent on this machine", commands::up},
      {"init", "Make a project to start from", commands::init},
      {"doctor", "Check what this machine has for training", commands::doctor_command},
      {"master", "Start a master", commands::master},
      {"agent", "Start an agent", commands::agent},
      {"backup", "Back up the state of a master, even while it runs", commands::backup},
      {"migrate", "Copy the state of a master from SQLite to PostgreSQL, or back", commands::migrate},
      {"import-determined", "Import the database of an original Determined cluster",
       commands::import_determined},
      {"shim", "Run the task that a directory describes (started by agents)", commands::shim,
       /*hidden=*/true},
  };
  commands::find_programs_of_wheel();
  return cli::run(argc, argv, commands);
}
