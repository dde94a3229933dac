#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "det/agent/async.h"
#include "det/agent/shim/process.h"
#include "det/base/error.h"

namespace det::agent {

struct WarmOptions {
  std::string framework;
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  std::filesystem::path directory;  ///< An empty one, to start it in.
  std::filesystem::path log;
};

/// Keeps one process ready that has imported a framework and forks trials in
/// milliseconds (docs/reference/protocols.md, section 5). It dies with this
/// process; what it forked does not.
class WarmWorker {
 public:
  WarmWorker(const asio::any_io_executor& executor, WarmOptions options);

  /// Starts the worker, again and again when it ends. Runs until cancelled.
  asio::awaitable<void> run();

  bool ready() const { return ready_; }
  /// Has it fork the shim of `directory`; the shim's process number. An error
  /// says nothing about whether a shim began: the ticket does.
  asio::awaitable<Result<pid_t>> start(std::filesystem::path directory);

 private:
  asio::awaitable<void> live();
  asio::awaitable<Result<std::string>> ask(std::string request, std::chrono::milliseconds patience);
  void drop();

  asio::any_io_executor executor_;
  WarmOptions options_;
  std::optional<Process> process_;
  std::optional<asio::posix::stream_descriptor> socket_;
  Bell free_;
  bool busy_ = false;
  bool ready_ = false;
};

}  // namespace det::agent
