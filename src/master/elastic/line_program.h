#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "det/base/error.h"

namespace det::master {

/// A program that answers each line of its standard input with a line, and ends with it.
///
/// Threads: one call at a time.
class LineProgram {
 public:
  LineProgram() = default;
  ~LineProgram() { stop(); }
  LineProgram(const LineProgram&) = delete;
  LineProgram& operator=(const LineProgram&) = delete;

  /// What it writes to stderr is added to the file `log`. NotFound: there is no such program.
  Result<void> start(const std::vector<std::string>& words, const std::string& log);
  bool running();
  pid_t pid() const { return pid_; }
  /// Unavailable: it ended, or did not answer in time; it is gone afterwards.
  Result<std::string> ask(const std::string& line, std::chrono::milliseconds timeout);
  void stop();

 private:
  Result<std::string> lost(const std::string& why);

  pid_t pid_ = 0;
  int in_ = -1, out_ = -1;
  std::string kept_;  ///< read beyond the last answer
};

}  // namespace det::master
