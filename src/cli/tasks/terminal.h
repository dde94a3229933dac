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

}  // namespace det::cli
