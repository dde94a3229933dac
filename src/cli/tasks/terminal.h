#pragma once

#include <string>

#include "det/base/error.h"
#include "det/cli/output/console.h"

namespace det::cli {

/// The process's own standard streams.
Streams process_streams();

/// How large the terminal is at the moment; {0, 0} where standard output is none.
struct TerminalSize {
  int columns = 0, rows = 0;
};
TerminalSize terminal_size();

/// Makes Ctrl-C end the process with exit code 3, after restoring the terminal
/// and a red "Interrupting...". While a line is read, the reader gets the end
/// of input instead if it asked for that.
void end_on_interrupt();

class Session;

/// Opens a shell of a task in this terminal, until it ends; its status. Where standard input is no terminal,
/// it is what the shell reads, to its end, and standard output and error stay apart.
///
/// With `command` that command is run in place of a shell. Unavailable when the connection is lost.
Result<int> open_shell(Session& session, const std::string& task_id, const std::string& command = "");

}  // namespace det::cli
