#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "det/base/time.h"

/// The shim: a small process above each rank's process. It owns the pipes,
/// outlives the agent, and writes down how the rank ended.
///
///     agent ──(starts, then may die)── shim ── init ── task ── its children
///
/// The shim stays outside of the task's namespaces; the init is their process
/// 1, reaps, forwards signals, and its end is the end of all that they hold.
/// Files and formats: docs/reference/protocols.md, section 4.
///
/// This library (det_shim) uses nothing but base: it is also linked into the
/// Python module, where a warm worker forks and the fork becomes the shim.
namespace det::agent {

/// `spec.json`: what to run, written by the agent before the start.
struct ShimSpec {
  std::vector<std::string> command;                ///< Used where run_shim got no function.
  std::map<std::string, std::string> environment;  ///< All of it; nothing is inherited.
  std::string working_directory;
  std::string startup_hook;  ///< A shell script, sourced first; empty: none. Once for all ranks that share
                             ///< `shared_directory`.
  std::string
      hook_python;  ///< Makes the environment that the hook installs packages into; empty: none is made.
  std::string hook_packages;     ///< The directory of that environment.
  std::string shared_directory;  ///< Of the allocation on this machine: where the hook's outcome is kept.
  std::vector<std::string>
      isolation;     ///< Steps to try, of kIsolationSteps; each is left out where the machine refuses.
  std::string hide;  ///< With "files": a directory that the task shall not see …
  std::vector<std::string> show;               ///< … but for these directories inside it.
  std::map<std::string, std::int64_t> limits;  ///< "nofile", "nproc", "as", "fsize": soft and hard limit.
  std::string cgroup;                          ///< Begins the names of the control groups to make.
  std::int64_t memory_bytes_max = 0;           ///< With "memory"; 0: no limit.
  std::int64_t pids_max = 0;                   ///< With "processes": of processes and threads; 0: no limit.
  std::string lease;          ///< A file (ShimLease) to end with; empty: runs on without a master.
  double grace_seconds = 15;  ///< After the lease: between SIGTERM and SIGKILL.
  double drain_seconds = 1;   ///< How long output is awaited after the task's end.
  double stall_seconds = 10;  ///< A full spool holds the task up for so long, then drops.
  std::int64_t spool_bytes_max = 64 << 20;  ///< For each of stdout and stderr.
  std::int64_t uid = -1, gid = -1;          ///< What hook and task run as; below 0: as the shim does.
  std::string
      reuse;  ///< What a task must have in common with this one to run in its process; empty: none may.
  std::string reuse_socket;  ///< With `reuse`: the agent's, for shims whose task has succeeded (reuse.h).
  std::string reuse_root;    ///< With `reuse`: the directory of the process's files, locked while it lives.
  std::string process_of;    ///< The allocation for which the process was started; empty: this one.
};
BOOST_DESCRIBE_STRUCT(ShimSpec, (),
                      (command, environment, working_directory, startup_hook, hook_python, hook_packages,
                       shared_directory, isolation, hide, show, limits, cgroup, memory_bytes_max, pids_max,
                       lease, grace_seconds, drain_seconds, stall_seconds, spool_bytes_max, uid, gid, reuse,
                       reuse_socket, reuse_root, process_of))

/// `lease` of the state directory: until when this machine may run what it runs.
struct ShimLease {
  std::int64_t until = 0;  ///< On CLOCK_BOOTTIME, in microseconds (boot_time()); 0: nobody asks for a lease.
};
BOOST_DESCRIBE_STRUCT(ShimLease, (), (until))

/// In the order in which they are taken: "cgroup": own control group, ended as
/// one; "memory", "processes": limits of them and word of what they did; "pid": own process numbers, the end
/// of their first is the end of all; "mount": private mounts; "proc": own /proc; "shm": private /dev/shm;
/// "ipc", "uts": own System V IPC and host name; "files": `hide` is not visible.
inline constexpr const char* kIsolationSteps[] = {"cgroup", "memory", "processes", "pid", "mount",
                                                  "proc",   "shm",    "ipc",       "uts", "files"};

/// `shim.json`, written when the shim starts and again when the task runs.
struct ShimState {
  std::int64_t pid = 0;
  std::int64_t startTime = 0;  ///< Field 22 of /proc/<pid>/stat: with the pid, it names one process for ever.
  std::int64_t taskPid = 0;    ///< As the agent sees it; 0 until the task runs.
  std::vector<std::string>
      isolation;                    ///< The steps that worked; "user" too where a user namespace was needed.
  std::string cgroup;               ///< Path of the control group that holds all of the task; empty: none.
  std::vector<std::string> groups;  ///< Paths of all control groups that were made for it.
};
BOOST_DESCRIBE_STRUCT(ShimState, (), (pid, startTime, taskPid, isolation, cgroup, groups))

/// `exit.json`, renamed when the task and all of its output are done. Not synced: what a machine that loses
/// its power forgets was not reported, and the task runs again.
struct ShimExit {
  int code = 0;  ///< Exit status; 128 + signal when a signal ended it.
  int signal = 0;
  std::string reason;  ///< Where code and signal do not say enough.
  Time time;
  bool lapsed = false;  ///< Asked to end by the shim, because the lease was over.
};
BOOST_DESCRIBE_STRUCT(ShimExit, (), (code, signal, reason, time, lapsed))

/// Whether process `pid` has a handler for `signal`; false where that cannot be told.
bool catches(std::int64_t pid, int signal);

/// In `task`: says that the task has succeeded, its output flushed, calls `meanwhile`, which tidies up, and
/// waits. True: environment and working directory are now those of another task, which this process shall
/// run; the exit of the former is written. False: this process runs no other task, and returns its status; so
/// it is where `meanwhile` returns false. Empty: the spec allows no other task.
using AnotherTask = std::function<bool(const std::function<bool()>& meanwhile)>;
using TaskFunction = std::function<int(const AnotherTask&)>;

/// Becomes the shim of `directory`, which holds spec.json and the empty file
/// `start`, and returns its exit status when the task has ended (0: exit.json
/// is written). The file `start` is a ticket: it is renamed to `started` as the first
/// act, and a shim that finds none does nothing. So a rank begins at most once,
/// and whoever removes the ticket first knows that it never will.
///
/// Requires: a process with one thread, which leaves when this returns.
/// `task`, if given, runs in place of the spec's command, in a child of the
/// init, in its namespaces, with the spec's environment and working directory in
/// place; what it returns is the exit status.
int run_shim(const std::filesystem::path& directory, TaskFunction task = {});

/// The environment of this process as it is now. In `task`, language runtimes
/// that copied the environment when they started must copy it again from here.
std::map<std::string, std::string> process_environment();

/// Tries each isolation step in a short-lived child; the names of those that work here.
std::vector<std::string> isolation_that_works();

}  // namespace det::agent
