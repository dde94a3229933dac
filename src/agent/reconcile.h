#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "det/api/agent.h"
#include "det/base/time.h"

namespace det::agent {

/// Prepare the task's directory and start all its ranks.
struct Start {
  api::DesiredAllocation allocation;
  friend bool operator==(const Start&, const Start&) = default;
};
/// Ask every rank to end (SIGTERM), or give up its start. Idempotent.
struct Terminate {
  std::string allocation_id;
  friend bool operator==(const Terminate&, const Terminate&) = default;
};
/// End everything of the allocation at once (SIGKILL). Idempotent.
struct Kill {
  std::string allocation_id;
  friend bool operator==(const Kill&, const Kill&) = default;
};
/// The master knows how it ended: delete its files.
struct Forget {
  std::string allocation_id;
  friend bool operator==(const Forget&, const Forget&) = default;
};
using Action = std::variant<Start, Terminate, Kill, Forget>;
using Actions = std::vector<Action>;

/// What an agent must remember of an allocation that it has ever started.
struct Remembered {
  int rank_start = 0;
  int ranks = 1;
  std::vector<int> slot_ids;
  double grace_seconds = 15;
  // What follows may be out of date after a crash; the files of the ranks tell it again.
  bool running = false;              ///< All its ranks were started.
  bool shipped = false;              ///< All its logs are with the master.
  bool lapsed = false;               ///< Ended by us because no master answered: not a failure of the task.
  std::vector<api::RankExit> exits;  ///< By rank, each once.
  std::string process_of;            ///< See api::AllocationReport.
  bool ended() const { return static_cast<int>(exits.size()) == ranks; }
  friend bool operator==(const Remembered&, const Remembered&) = default;
};
BOOST_DESCRIBE_STRUCT(Remembered, (),
                      (rank_start, ranks, slot_ids, grace_seconds, running, shipped, lapsed, exits,
                       process_of))

/// The durable state of an agent: what it has ever started and not yet been
/// told to forget, and the newest master that it has heard.
struct Memory {
  std::string cluster_id;
  std::int64_t epoch = 0;
  std::map<std::string, Remembered> allocations;
  friend bool operator==(const Memory&, const Memory&) = default;
};
BOOST_DESCRIBE_STRUCT(Memory, (), (cluster_id, epoch, allocations))

/// What happens to running tasks when no master answers for a whole lease.
enum class OnDisconnect {
  Continue,  ///< They go on; their tokens fence them (the default).
  Stop,      ///< They are ended.
};
BOOST_DESCRIBE_ENUM(OnDisconnect, Continue, Stop)

/// Why a reply was not used.
enum class Dropped { None, OldEpoch, OldSequence, ForeignCluster };
BOOST_DESCRIBE_ENUM(Dropped, None, OldEpoch, OldSequence, ForeignCluster)

struct ReconcilerOptions {
  std::string session;  ///< Random for each agent process.
  std::set<int> slots;  ///< That this machine has.
  OnDisconnect on_disconnect = OnDisconnect::Continue;
};

/// Decides what an agent does, from what it has, what it remembers and what
/// the master wants. It does no I/O and reads no clock: the agent and the
/// simulator run this very class.
///
/// The shell's duties:
///   1. after every call compare `memory_revision()`; if it grew, make
///      `memory()` durable **before** performing the returned actions (the
///      files of a `Start` may be prepared meanwhile) and before sending the
///      next request. `Forget` alone does not make it grow: it is performed
///      when the memory is written next, soon;
///   2. perform every action in order; each is idempotent;
///   3. tell what became of it: `running`, `exited` for each rank (also when a
///      start failed or was given up), `logs_shipped` after the last exit;
///   4. call `on_time` no later than `next_deadline()`;
///   5. send `next_request` again when `report_revision()` grew.
///
/// After a restart construct it with the memory read back, then for each
/// allocation remembered without all of its exits say `running`, `exited`, or
/// `not_started` if it is certain that no process of it ever began.
///
/// Guarantees: an allocation id is never in two `Start`s unless `not_started`
/// came in between or it was acknowledged and left the desired set; no two
/// allocations are started on one slot at a time; what is wanted no longer gets
/// `Terminate`, after its grace period `Kill`, and again every few seconds
/// until all ranks have ended; an exit is reported until it is acknowledged;
/// nothing is started on the word of a reply whose lease is over.
///
/// `now` is a monotonic clock of the agent's own; only differences matter.
class Reconciler {
 public:
  explicit Reconciler(ReconcilerOptions options, Memory memory = {});

  /// The next message to the master; the caller adds version, hostname, pool,
  /// slots and addresses. Notes `now` as its send time, which is where a lease begins.
  api::SyncRequest next_request(Time now, std::int64_t wait_milliseconds);
  Actions on_reply(const api::SyncReply& reply, Time now);

  Actions running(const std::string& id, const std::string& process_of = {});
  Actions exited(const std::string& id, const api::RankExit& exit, Time now);
  Actions logs_shipped(const std::string& id);
  /// Requires certainty: no process of it ever began, nor will.
  Actions not_started(const std::string& id, Time now);
  Actions on_time(Time now);

  std::optional<Time> next_deadline() const;
  const Memory& memory() const { return memory_; }
  std::uint64_t memory_revision() const { return memory_revision_; }
  std::uint64_t report_revision() const { return report_revision_; }
  Dropped last_dropped() const { return dropped_; }  ///< About the last `on_reply`.
  /// Absent before the first reply.
  std::optional<Time> lease_end() const { return lease_end_; }

 private:
  Remembered* find(const std::string& id);
  Actions reconcile(Time now);
  void start_wanted(Time now, Actions& actions);
  void stop_unwanted(Time now, Actions& actions);
  void stop(const std::string& id, const Remembered& entry, Time now, Actions& actions);
  void remember_ended(const api::DesiredAllocation& wanted, int code, int signal, const std::string& reason);
  bool slots_free(const api::DesiredAllocation& wanted) const;
  std::string missing_slot(const api::DesiredAllocation& wanted) const;

  ReconcilerOptions options_;
  Memory memory_;
  std::vector<api::DesiredAllocation> desired_;  ///< Of the newest reply used.
  bool heard_ = false;                           ///< A reply was used since the start.
  std::int64_t sequence_ = 0;
  std::int64_t sequence_used_ = 0;
  std::int64_t known_version_ = 0;
  std::map<std::int64_t, Time> sent_;    ///< Requests without an answer.
  std::map<std::string, Time> kill_at_;  ///< Of allocations that were asked to end.
  std::optional<Time> lease_end_;
  Dropped dropped_ = Dropped::None;
  std::uint64_t memory_revision_ = 0;
  std::uint64_t report_revision_ = 0;
};

}  // namespace det::agent
