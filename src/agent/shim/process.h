#pragma once

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "det/base/error.h"

namespace det::agent {

namespace asio = boost::asio;

/// A process that this agent started or found again, held by a descriptor so
/// that its number can never come to mean another process.
class Process {
 public:
  /// Of a running process; `start_time` (field 22 of /proc/pid/stat) must match if given.
  static Result<Process> open(const asio::any_io_executor& executor, pid_t pid,
                              std::optional<std::int64_t> start_time = {});

  pid_t pid() const { return pid_; }
  /// True if the signal was sent; false: it has ended.
  bool signal(int number);
  /// Returns when it has ended, and reaps it if it is a child of ours; or when it was let go.
  asio::awaitable<void> ended();
  /// Nobody waits for its end any more.
  void let_go();

 private:
  Process(pid_t pid, asio::posix::stream_descriptor descriptor)
      : pid_(pid), descriptor_(std::move(descriptor)) {}
  pid_t pid_;
  asio::posix::stream_descriptor descriptor_;
  bool let_go_ = false;
};

/// Starts `command` with nothing but standard input, output and error: they
/// are /dev/null, `log`, `log` (or all /dev/null when `log` is empty). The
/// signals that a shim handles begin blocked, so that none can hit it too early.
Result<pid_t> start_detached(const std::vector<std::string>& command, const std::filesystem::path& log = {});

/// Starts `command` with `descriptor` as file descriptor 3, to be killed when
/// the calling thread ends.
Result<pid_t> start_bound(const std::vector<std::string>& command,
                          const std::map<std::string, std::string>& environment,
                          const std::filesystem::path& directory, const std::filesystem::path& log,
                          int descriptor);

bool process_alive(std::int64_t pid);

/// The variable by which a task's processes are known: random for every rank, so that no two agents
/// on a machine, whatever their allocations are called, can take one's task for the other's.
inline constexpr const char* kMark = "DET_PROCESS_MARK";

/// Kills what still runs with `mark` in its environment: the last resort where a shim was killed
/// that had neither namespaces nor a control group.
void end_processes_of(const std::string& mark);

/// Kills process `pid` if it is the one that started then; true: the signal was sent.
bool kill_process(std::int64_t pid, std::int64_t start_time);

}  // namespace det::agent
