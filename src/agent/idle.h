#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "det/agent/async.h"
#include "det/agent/shim/process.h"
#include "det/agent/tasks.h"
#include "det/api/agent.h"

namespace det::agent {

/// What a process and an allocation must have in common for it to run there: experiment, files, slots,
/// account. Empty: the allocation gets a process of its own.
std::string reuse_key(const api::DesiredAllocation& allocation);

/// A process whose task has succeeded.
struct IdleProcess {
  std::string key;
  std::vector<int> slots;
  ReusedProcess process;
  std::int64_t start_time = 0;
  Process shim;
  asio::posix::stream_descriptor socket;  ///< To the shim, which ends when it is closed.
  bool taken = false;
};
using IdleProcessPtr = std::shared_ptr<IdleProcess>;

/// The processes that wait for another task, each for some seconds at most. Shims offer them on a socket
/// (shim/reuse.h); none survives this agent.
class IdleProcesses {
 public:
  struct Kind {
    std::string key;
    std::vector<int> slots;
    ReusedProcess process;
  };
  /// Called with the directory of the rank that has ended and its shim's number; nothing: it is not accepted.
  using Offered = std::function<std::optional<Kind>(const std::filesystem::path& directory, pid_t shim)>;
  /// Called when a process has ended, with its root.
  using Ended = std::function<void(const std::filesystem::path& root)>;

  IdleProcesses(asio::any_io_executor executor, Coroutines& coroutines, std::filesystem::path socket,
                Offered offered, Ended ended);

  /// Listens until cancelled. Where that fails, every task has a process of its own.
  asio::awaitable<void> run();
  /// Null: there is none.
  IdleProcessPtr take(const std::string& key);
  /// Of a process that was taken and not used.
  void keep(const IdleProcessPtr& process);
  /// Gives it the task of `directory`; false: it has ended.
  static bool give(const IdleProcessPtr& process, const std::filesystem::path& directory);
  /// Ends those that use one of `slots`, whose memory another task needs; returns when they have ended.
  asio::awaitable<void> clear(std::vector<int> slots);

 private:
  asio::awaitable<void> greet(int socket);
  asio::awaitable<void> watch(IdleProcessPtr process);

  asio::any_io_executor executor_;
  Coroutines& coroutines_;
  std::filesystem::path path_;
  Offered offered_;
  Ended ended_;
  std::list<IdleProcessPtr> idle_;
};

}  // namespace det::agent
