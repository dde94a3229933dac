#pragma once

#include "det/cli/console.h"

namespace det::cli {

/// The process's own standard streams.
Streams process_streams();

/// Makes Ctrl-C end the process with exit code 3, after restoring the terminal
/// and a red "Interrupting...". While a line is read, the reader gets the end
/// of input instead if it asked for that.
void end_on_interrupt();

}  // namespace det::cli
