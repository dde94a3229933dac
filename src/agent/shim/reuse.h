#pragma once

#include <boost/describe.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

/// How one process runs several tasks, one after the other (docs/decisions/0053-reused-processes.md).
///
///     agent ──(socket of the state directory)── shim ──(channel)── task
///
/// When a task has succeeded, its process says so on the channel. The shim writes the exit down and offers
/// the process to the agent, which answers with the directory of another task, or closes the connection.
namespace det::agent {

/// What a process needs to become that of another task.
struct NextTask {
  std::map<std::string, std::string> environment;
  std::string working_directory;
};
BOOST_DESCRIBE_STRUCT(NextTask, (), (environment, working_directory))

/// Between a shim and the process of its task: made before the fork, then used by either at its own end.
class TaskChannel {
 public:
  TaskChannel() = default;
  ~TaskChannel();
  TaskChannel(const TaskChannel&) = delete;
  TaskChannel& operator=(const TaskChannel&) = delete;

  /// False: the machine has no descriptors left, and the process runs one task.
  bool open();

  // In the shim.
  void in_shim();
  int descriptor() const { return shim_; }
  /// Whether the task said that it is done; to be called when the descriptor is readable.
  bool heard_done();
  bool give(const NextTask& next);
  /// The process shall end, and run its exit functions first.
  void dismiss();

  /// In a process that is neither: it must not hold the ends open.
  void leave();

  // In the task's process.
  void in_task();
  /// Says that the task is done, calls `meanwhile` and waits for another one. Nothing: the process shall end.
  std::optional<NextTask> next(const std::function<bool()>& meanwhile);

 private:
  int shim_ = -1, task_ = -1;
  /// A file in memory that holds what is given: an environment can be larger than a packet.
  int paper_ = -1;
};

/// The name of the agent's socket in its state directory.
inline constexpr const char* kReuseSocket = "reuse.sock";

/// A shim's first packet: which task has ended, and the next one's directory as the answer.
struct ReuseMessage {
  std::string directory;
};
BOOST_DESCRIBE_STRUCT(ReuseMessage, (), (directory))

/// A socket of packets at `path`, which may be longer than an address. -1: failed; errno says why.
int listen_at(const std::filesystem::path& path);
int connect_to(const std::filesystem::path& path);

/// Whether this process has no children, and its parent no other: nothing of the former task would live on.
/// False where the kernel does not say.
bool is_alone();

}  // namespace det::agent
