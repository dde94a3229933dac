#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"
#include "det/base/id.h"
#include "det/base/time.h"
#include "det/config/agent_user_group.h"

/// What an agent and the master say to each other: docs/reference/protocols.md,
/// section 3. State, not commands: the agent says all that it has, the master
/// answers with all that it wants, and either side may repeat itself.
///
/// On the wire the members are spelled in lowerCamelCase (http/wire/wire.h).
namespace det::api {

/// One slot of a machine: a GPU, or the CPUs of a machine without one.
struct SlotReport {
  int id = 0;
  std::string type = "cpu";  ///< "cpu" or "cuda".
  std::string brand;         ///< For people: "NVIDIA H100 80GB HBM3".
  std::string uuid;          ///< Stays the same over restarts of the machine.
  friend bool operator==(const SlotReport&, const SlotReport&) = default;
};
BOOST_DESCRIBE_STRUCT(SlotReport, (), (id, type, brand, uuid))

/// How the process of one rank ended.
struct RankExit {
  int rank = 0;
  int code = 0;        ///< Its exit status; 128 + signal if a signal ended it.
  int signal = 0;      ///< The signal that ended it, or 0.
  std::string reason;  ///< A sentence for the user where neither number says enough; mostly empty.
  friend bool operator==(const RankExit&, const RankExit&) = default;
};
BOOST_DESCRIBE_STRUCT(RankExit, (), (rank, code, signal, reason))

/// The enumerators are spelled as on the wire.
enum class AllocationState {
  starting,  ///< Wanted and remembered; its processes do not all run yet.
  running,
  exited,  ///< All its ranks on this agent have ended, and their logs are with the master.
};
BOOST_DESCRIBE_ENUM(AllocationState, starting, running, exited)

/// What the agent has of one allocation.
struct AllocationReport {
  std::string allocation_id;
  AllocationState state = AllocationState::starting;
  std::vector<RankExit> exits;         ///< One for each rank that has ended, by rank.
  std::vector<std::string> addresses;  ///< Where the ranks of other agents reach this one.
  std::string process_of{};            ///< For which its process was started, if for another one.
  friend bool operator==(const AllocationReport&, const AllocationReport&) = default;
};
BOOST_DESCRIBE_STRUCT(AllocationReport, (), (allocation_id, state, exits, addresses, process_of))

/// POST /api/v1/agents/{agentId}/sync
struct SyncRequest {
  std::string session;                 ///< Random for each agent process.
  std::int64_t sequence = 0;           ///< Counts the requests of the session from 1.
  std::int64_t known_epoch = 0;        ///< Of the newest answer seen; 0 before the first.
  std::int64_t known_version = 0;      ///< Likewise: answer when the desired set is newer.
  std::int64_t wait_milliseconds = 0;  ///< Answer after this time at the latest.
  std::string version;                 ///< The program's, "0.39.0".
  std::string hostname;
  std::string resource_pool;
  std::vector<SlotReport> slots;
  std::vector<AllocationReport> allocations;        ///< All that the agent has, by allocation id.
  std::string label{};                              ///< Runs only what asks for it.
  std::map<std::string, std::string> attributes{};  ///< What it has: {"gpu": "a100"}.
  std::string leaving{};                            ///< Why its machine goes soon; empty: it stays.
  std::string user{};                               ///< The account that it runs as; empty: not known.
  friend bool operator==(const SyncRequest&, const SyncRequest&) = default;
};
BOOST_DESCRIBE_STRUCT(SyncRequest, (),
                      (session, sequence, known_epoch, known_version, wait_milliseconds, version, hostname,
                       resource_pool, slots, allocations, label, attributes, leaving, user))

/// The framework of a task whose command is a program and its arguments.
inline constexpr const char* kCommandFramework = "command";
/// … and of one whose command is for the agent's own Python.
inline constexpr const char* kPythonFramework = "python";

/// One allocation that the master wants on this agent.
struct DesiredAllocation {
  std::string allocation_id;
  std::string task_id;
  std::string token;  ///< DET_SESSION_TOKEN of its processes.
  ExperimentId experiment_id;
  TrialId trial_id;
  int run_id = 0;
  std::vector<int> slot_ids;  ///< One process each, ranks ascending from `rank_start`.
  int rank_start = 0;
  int size = 1;                                    ///< Ranks on all agents together.
  int container_rank = 0;                          ///< Which of the allocation's agents this one is.
  std::map<std::string, std::string> environment;  ///< Goes before what the agent sets.
  std::string model_definition;                    ///< Digest; empty: no files.
  std::string
      framework;  ///< "pytorch", "pytorch-cxx" for a trial in C++, kCommandFramework, kPythonFramework.
  std::vector<std::string> command{};  ///< Of a task that is no trial: what to run, in one process.
  bool kill = false;                   ///< End it: SIGTERM, `grace_seconds`, SIGKILL of everything.
  double grace_seconds = 15;
  std::optional<config::AgentUserGroup> run_as{};  ///< none: as the agent
  std::string work_dir{};  ///< where its processes begin; empty: where the files of the definition are
  bool reuse = false;      ///< Its process may run other trials of the experiment, before and after it.

  /// Its processes on this agent.
  int ranks() const { return command.empty() && !slot_ids.empty() ? static_cast<int>(slot_ids.size()) : 1; }
  friend bool operator==(const DesiredAllocation&, const DesiredAllocation&) = default;
};
BOOST_DESCRIBE_STRUCT(DesiredAllocation, (),
                      (allocation_id, task_id, token, experiment_id, trial_id, run_id, slot_ids, rank_start,
                       size, container_rank, environment, model_definition, framework, command, kill,
                       grace_seconds, run_as, work_dir, reuse))

struct SyncReply {
  std::int64_t epoch = 0;     ///< Grows with each start of a master; answers of lower epochs are dropped.
  std::int64_t sequence = 0;  ///< Of the request that this answers.
  std::int64_t version = 0;   ///< Of `desired`; comparable within an epoch.
  std::int64_t lease_milliseconds =
      0;  ///< For so long after sending the request the agent owns what it runs.
  std::string cluster_id;
  std::vector<DesiredAllocation> desired;  ///< Complete: what is not in it shall not run.
  std::vector<std::string>
      acknowledged;  ///< Exits that are durable with the master: the agent may forget them.
  friend bool operator==(const SyncReply&, const SyncReply&) = default;
};
BOOST_DESCRIBE_STRUCT(SyncReply, (),
                      (epoch, sequence, version, lease_milliseconds, cluster_id, desired, acknowledged))

/// One line that a process wrote, or a piece of at most 64 KiB of one.
struct LogEntry {
  int rank = 0;
  std::string stdtype;        ///< "stdout" or "stderr".
  std::int64_t sequence = 0;  ///< Counts the entries of (allocation, rank, stdtype) from 0, no gaps.
  Time timestamp;             ///< When it was written.
  std::string level = "INFO";
  std::string log;       ///< Without the newline.
  std::string encoding;  ///< "base64" where the bytes are not UTF-8, else empty.
  bool partial = false;  ///< The next entry goes on with the same line.
  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};
BOOST_DESCRIBE_STRUCT(LogEntry, (), (rank, stdtype, sequence, timestamp, level, log, encoding, partial))

/// POST /api/v1/agents/{agentId}/logs; answered `{}` once durable. Entries
/// that the master already has are dropped there.
struct LogBatch {
  std::string allocation_id;
  std::vector<LogEntry> entries;
  friend bool operator==(const LogBatch&, const LogBatch&) = default;
};
BOOST_DESCRIBE_STRUCT(LogBatch, (), (allocation_id, entries))

/// Whether `text` may name a task, an allocation or a digest: 1 to 200 of
/// A-Z a-z 0-9 . _ - and no dot first. Such a name is safe as a file name.
bool is_name(std::string_view text);

/// What is wrong with a message of a peer, beyond its JSON; nothing if it may
/// be used. The receiver checks before it believes: an allocation id becomes a
/// directory, an encoding is trusted by readers.
std::optional<Error> problem(const DesiredAllocation& allocation);
std::optional<Error> problem(const SyncRequest& request);
std::optional<Error> problem(const LogBatch& batch);

/// The status of a rank that ended through no fault of its own: the master sent it away (410), its
/// machine was lost, or its agent had no master to run it for. Never counted as a failure.
constexpr int kLostStatus = 80;

/// The status of a rank that ended because another rank of its allocation did: a failure, but not its own.
constexpr int kFollowedStatus = 81;

/// The longest `LogEntry::log`, before base64; longer lines come in pieces.
constexpr std::size_t kLogPieceBytesMax = 64 * 1024;
/// The most entries that one LogBatch may have.
constexpr std::size_t kLogBatchEntriesMax = 1000;

}  // namespace det::api
