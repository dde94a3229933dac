#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace det::agent {

/// The leaf into which an agent moves itself where its own control group must be empty to hand
/// memory and pids on (version 2); tasks' groups are made beside it.
inline constexpr const char* kAgentLeaf = "det-agent";

/// What a task's control groups shall do; 0: no limit.
struct GroupLimits {
  std::int64_t memory_bytes_max = 0;
  std::int64_t pids_max = 0;  ///< Processes and threads.
};

/// The control groups of one task, made below those of this process: one of version 2, which can be
/// ended as a whole, and where memory and pids belong to version 1 one for each of these.
/// Their names end with random digits, so no two tasks of whatever agents ever share one.
class ControlGroups {
 public:
  /// Makes what the machine allows. `name`: at most 220 characters; says whose they are.
  void make(const std::string& name, bool whole, bool memory, bool pids, GroupLimits limits);
  /// Moves the calling process in; what it cannot enter is given up.
  void join();

  /// To end as a whole, and to know all of the task by; empty where there is none.
  const std::string& whole() const { return whole_; }
  bool memory() const { return !memory_.empty(); }
  bool pids() const { return !pids_.empty(); }
  /// All of them, for end_cgroup().
  std::vector<std::string> paths() const;
  /// What the groups know of a task that has failed, in the user's words: the kernel killed some
  /// of it for want of memory, or a process was refused. Empty: nothing.
  std::string trouble() const;

 private:
  std::string whole_;
  std::string memory_;
  std::string pids_;
  GroupLimits limits_;
};

/// Ends everything in a group that ControlGroups made, and removes it. Empty: nothing to do.
void end_cgroup(const std::string& path);

/// Where control groups are of version 2 and hand memory and pids on to nobody yet: makes this
/// process' group do so, moving it into the leaf kAgentLeaf if need be. Where that is refused
/// nothing is changed. Once, at the start of an agent.
void hand_on_controllers();

/// "2 GiB", "1.5 MiB", "100 B": the largest unit that leaves at least 1.
std::string bytes_text(std::int64_t bytes);

}  // namespace det::agent
