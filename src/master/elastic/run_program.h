#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "det/base/error.h"

namespace det::master {

struct ProgramEnd {
  int status = 0;
  std::string out, err;
};

/// Runs a program to its end with `input`, and with `environment` added to the master's. Blocks. NotFound: it
/// is not in the PATH. Unavailable: it did not end in time, and was killed.
Result<ProgramEnd> run_program(const std::vector<std::string>& words, const std::string& input = "",
                               const std::map<std::string, std::string>& environment = {},
                               std::chrono::seconds timeout = std::chrono::seconds(30));

/// Starts a program in a process group of its own, in the directory /, with these as its standard files and
/// no other open. NotFound: there is none.
Result<pid_t> spawn_program(const std::vector<std::string>& words, int in, int out, int err,
                            const std::map<std::string, std::string>& environment = {});
/// As write(2), but nothing is sent a signal where nobody reads. 0: the pipe is full.
long write_to_pipe(int pipe, const char* data, std::size_t size);

}  // namespace det::master
