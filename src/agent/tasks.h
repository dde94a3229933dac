#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "det/agent/options.h"
#include "det/agent/prepare/environment.h"
#include "det/agent/reconcile.h"
#include "det/agent/shim/shim.h"
#include "det/agent/spare.h"
#include "det/agent/twin_file.h"
#include "det/base/error.h"

namespace det::agent {

/// What the files of one rank say about it.
struct FoundRank {
  enum class State {
    Absent,     ///< No ticket and no trace: it never began.
    Waiting,    ///< The ticket is still there: it has not begun.
    Beginning,  ///< The ticket is taken; the shim has not said who it is yet.
    Running,
    Ended,   ///< exit.json is there.
    Killed,  ///< The shim is gone without exit.json.
  };
  State state = State::Absent;
  ShimState shim;
  ShimExit exit;
};

/// A process that has run a task, and may run another one.
struct ReusedProcess {
  std::filesystem::path root;  ///< Its files.
  std::string started_for;     ///< An allocation.
};

/// The agent's directory: memory, model definitions, and a directory for each
/// allocation. Blocking; safe from one thread at a time for each allocation.
///
///     lock, agent.json, boot, token, lease, worker-<framework>.log
///     models/<digest>.tar.gz
///     tasks/<allocation>/work, logs.json, <rank>/…
///     reused/<random>/work, reuse.sock, spare/<number>
class Tasks {
 public:
  explicit Tasks(std::filesystem::path state_dir)
      : state_dir_(std::move(state_dir)), spare_(state_dir_ / "spare"), memory_(state_dir_ / "agent.json") {}

  /// Makes the directory and locks it against a second agent; held until the
  /// process ends. Fails with a sentence for the person who started it.
  Result<void> open();
  ~Tasks();
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  /// NotFound at the very first start; another error must stop the agent.
  Result<Memory> read_memory();
  Result<void> write_memory(const Memory& memory);
  /// Until when running tasks may run on; nothing: nobody asks for a lease. Read by their shims.
  Result<void> write_lease(std::optional<Time> until) const;
  /// Whether the machine was started anew since this was last called.
  Result<bool> machine_restarted() const;

  std::filesystem::path allocation(const std::string& id) const { return state_dir_ / "tasks" / id; }
  std::filesystem::path rank(const std::string& id, int rank) const {
    return allocation(id) / std::to_string(rank);
  }
  const std::filesystem::path& state_dir() const { return state_dir_; }

  /// The archive of a model definition, if it is kept here.
  std::optional<std::filesystem::path> model(const std::string& digest) const;
  Result<void> keep_model(const std::string& digest, const std::string& archive) const;

  /// Makes the directory of an allocation with a fresh copy of the model
  /// definition and the specs of all its ranks, but no tickets. What a crash
  /// left there is deleted first. Requires: no process of it ever began.
  ///
  /// `taken_over` is the process that runs it, and has the model definition; without one, it gets its own
  /// files, where a process that others may take over (reuse_key) keeps them in `reused/`.
  Result<void> prepare(const api::DesiredAllocation& allocation, const AgentOptions& options,
                       const Machine& machine, const std::string& cluster_id,
                       const std::optional<ReusedProcess>& taken_over = {}) const;
  /// Deletes the files of a process that others might have taken over; not while it lives.
  void remove_root(const std::filesystem::path& root) const;
  /// Deletes those that no rank names.
  void remove_forgotten_roots() const;
  /// What the agent wrote for the shim; empty where there is no such rank.
  ShimSpec spec(const std::string& id, int rank) const;
  /// Lays the ticket: from now on a shim may begin.
  Result<void> lay_ticket(const std::string& id, int rank) const;
  /// Takes the ticket away; true if the rank had not begun and now never will.
  bool take_ticket(const std::string& id, int rank) const;
  FoundRank look(const std::string& id, int rank) const;
  /// By what the rank's processes are known (kMark); empty: there is no such rank.
  std::string mark(const std::string& id, int rank) const;
  /// Puts down an exit that no shim wrote, with a line in the rank's log.
  Result<void> write_exit(const std::string& id, int rank, int code, int signal,
                          const std::string& reason) const;

  /// All allocations that have a directory.
  std::set<std::string> allocations() const;
  /// Deletes the files; whatever still runs of it is killed first.
  Result<void> remove(const std::string& id) const;

 private:
  std::filesystem::path state_dir_;
  mutable SpareDirectories spare_;
  TwinFile memory_;
  int lock_ = -1;
};

}  // namespace det::agent
