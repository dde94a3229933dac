#pragma once

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

}  // namespace det::master
