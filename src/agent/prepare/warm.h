#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
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
  std::function<void()> changed = [] {};  ///< Called when it became ready, and when it ended.
};

/// A warm worker, as far as the start of a trial depends on it.
struct WarmState {
  bool ready = false;
  /// Its process has been importing the framework for so long. Absent: it is ready, or has no process.
  std::optional<std::chrono::milliseconds> starting;
  bool failed = false;  ///< Its previous process ended before it was ready.
};

enum class TrialStart {
  Fork,   ///< The worker forks the trial's process.
  Wait,   ///< Soon the worker will: a process that imported the framework now would slow both down.
  Fresh,  ///< The trial's process imports the framework itself.
};

/// How a trial starts now. It waits for a worker that has been starting for less than `patience`, unless the
/// worker failed before and so may well fail again.
TrialStart how_to_start(const WarmState& worker, std::chrono::milliseconds patience);

/// Keeps one process ready that has imported a framework and forks trials in
/// milliseconds (docs/reference/protocols.md, section 5). It dies with this
/// process; what it forked does not.
class WarmWorker {
 public:
  WarmWorker(const asio::any_io_executor& executor, WarmOptions options);

  /// Starts the worker, again and again when it ends. Runs until cancelled.
  asio::awaitable<void> run();

  WarmState state() const;
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
  /// Of the process that is not ready yet. From the beginning: run() starts one at once.
  std::optional<std::chrono::steady_clock::time_point> starting_ = std::chrono::steady_clock::now();
  bool busy_ = false;
  bool ready_ = false;
  bool failed_ = false;
};

}  // namespace det::agent
