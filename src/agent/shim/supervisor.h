#pragma once

#include <csignal>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "det/agent/shim/reuse.h"
#include "det/agent/shim/shim.h"
#include "det/agent/shim/stream.h"

namespace det::agent {

inline constexpr const char* kForced = "did not exit within its grace period and was killed";

/// The shim's process: starts the init, supervises the task (supervisor.cpp), and writes down how it ended.
/// Then it ends, or goes on with the task of another directory.
class Shim {
 public:
  Shim(std::filesystem::path directory, ShimSpec spec)
      : directory_(std::move(directory)), spec_(std::move(spec)) {}

  int run(const TaskFunction& task, const std::vector<struct sigaction>& dispositions);
  /// Before anything else: what an agent needs to find this shim again.
  void introduce();

 private:
  // shim.cpp
  void write_state();
  void lock_root();
  /// The exit is written: another task for the process, or its end. `unhurt`: no limit was hit, which would
  /// be taken for the next task's.
  bool take_another(bool unhurt);
  /// The directory of the next task; nothing: the agent has none, or is gone.
  std::optional<std::filesystem::path> ask_for_another();
  int finish(int status, std::string reason);

  // supervisor.cpp
  void supervise();
  /// Waits beside the process until it has ended or shall (false), or the agent says something (true). What
  /// the process writes meanwhile belongs to no task.
  bool linger(int agent, std::int64_t longest = -1);
  void handle_signals();
  void listen();
  /// The end of all of it. A task that has said it can is asked where it is, and has a moment to tell.
  void force(const char* reason);
  void watch_lease();
  void ring_at(std::int64_t time);
  void look_at_lease();
  void lease_rang();

  std::filesystem::path directory_;
  ShimSpec spec_;
  ShimState state_;
  std::deque<Stream> streams_;
  TaskChannel channel_;
  int pipes_[2] = {-1, -1};  ///< The task's stdout and stderr.
  int spools_ = -1;          ///< The directory that they are written to.
  bool done_ = false;        ///< The task is, and its process waits for another.
  bool written_ = false;     ///< exit.json of the last task.
  int signals_ = -1;
  int socket_ = -1;
  pid_t init_ = -1;
  int init_status_ = 0;
  bool init_reaped_ = false;
  bool ended_ = false;
  int status_ = 0;
  std::string reason_;
  const char* forced_ = nullptr;  ///< Why it is ended by force.
  std::int64_t force_at_ = 0;     ///< When (CLOCK_MONOTONIC); 0: not, or done.
  int lease_timer_ = -1;
  std::int64_t lease_until_ = 0;
  bool stop_asked_ = false;  ///< By the agent.
  bool lease_over_ = false;
  bool lapsed_ = false;  ///< Asked to end because the lease is over.
};

}  // namespace det::agent
