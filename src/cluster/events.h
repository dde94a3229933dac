#pragma once

#include <boost/mp11.hpp>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "det/api/agent.h"
#include "det/cluster/pools.h"
#include "det/experiment/experiment.h"
#include "det/task/task.h"

/// What can happen to the cluster, and what follows from it.
namespace det::cluster {

// Events. Each is remembered with its time before anything follows from it, and
// replaying them gives the same cluster again. The name of an event is for ever.

/// First after each start of a master, with the resource pools as its configuration has them then, and the
/// ids that come after all in the store: some may have been imported.
struct MasterStarted {
  static constexpr const char* kName = "MasterStarted";
  std::int64_t epoch = 0;
  Pools pools{};
  std::int64_t next_experiment = 1, next_trial = 1;
};
BOOST_DESCRIBE_STRUCT(MasterStarted, (), (epoch, pools, next_experiment, next_trial))

/// `record` without id and state; they are given here.
struct ExperimentSubmitted {
  static constexpr const char* kName = "ExperimentSubmitted";
  experiment::ExperimentRecord record;
  bool activate = true;
  /// The experiment whose trial runs the search method; becomes a fork of this one.
  std::optional<experiment::ExperimentRecord> search_runner{};
};
BOOST_DESCRIBE_STRUCT(ExperimentSubmitted, (), (record, activate, search_runner))

/// Processes outside the cluster train an experiment: it gets its number here, and nothing else is decided
/// about it. `record` without id.
struct ExperimentTracked {
  static constexpr const char* kName = "ExperimentTracked";
  experiment::ExperimentRecord record;
  std::string external_id;  ///< may be empty
};
BOOST_DESCRIBE_STRUCT(ExperimentTracked, (), (record, external_id))

/// The same for a trial of such an experiment. `record` without id and task.
struct TrialTracked {
  static constexpr const char* kName = "TrialTracked";
  experiment::TrialRecord record;
  std::string external_id;
};
BOOST_DESCRIBE_STRUCT(TrialTracked, (), (record, external_id))

enum class Verb { Activate, Pause, Cancel, Kill };
BOOST_DESCRIBE_ENUM(Verb, Activate, Pause, Cancel, Kill)

struct ExperimentCommanded {
  static constexpr const char* kName = "ExperimentCommanded";
  ExperimentId id;
  Verb verb = Verb::Activate;
};
BOOST_DESCRIBE_STRUCT(ExperimentCommanded, (), (id, verb))

/// Names, labels and notes, which decide nothing; and what of the configuration can change. Only for
/// experiments that the cluster has not forgotten. All of it happens, or nothing.
struct ExperimentPatched {
  static constexpr const char* kName = "ExperimentPatched";
  ExperimentId id;
  std::optional<std::string> name, description, notes;
  std::optional<std::vector<std::string>> labels;
  std::optional<experiment::Reconfiguration> config{};
  std::optional<std::int64_t> project_id{};
};
BOOST_DESCRIBE_STRUCT(ExperimentPatched, (), (id, name, description, notes, labels, config, project_id))

/// A completed experiment that the cluster has forgotten goes on with a larger search. `record` and `search`
/// as they were at its end.
struct ExperimentExtended {
  static constexpr const char* kName = "ExperimentExtended";
  experiment::ExperimentRecord record;
  json::value search;
  experiment::Reconfiguration change;
};
BOOST_DESCRIBE_STRUCT(ExperimentExtended, (), (record, search, change))

/// A finished experiment with searcher.name single, forgotten by the cluster, goes on with another
/// configuration, `record.config`. All as it was at its end but that: `done` are the operations that the
/// trial had completed.
struct ExperimentContinued {
  static constexpr const char* kName = "ExperimentContinued";
  experiment::ExperimentRecord record;
  experiment::TrialRecord trial;
  std::int64_t checkpoint_batches = 0;
  std::vector<experiment::TrialOperation> done;
};
BOOST_DESCRIBE_STRUCT(ExperimentContinued, (), (record, trial, checkpoint_batches, done))

/// A finished experiment of another searcher, forgotten by the cluster, goes on where its search was, with
/// `record.config`. `at_end`: what PutSearch said last; `checkpoints`: the newest of each trial.
struct SearchContinued {
  static constexpr const char* kName = "SearchContinued";
  experiment::ExperimentRecord record;
  json::value at_end;
  std::map<TrialId, experiment::NewestCheckpoint> checkpoints;
};
BOOST_DESCRIBE_STRUCT(SearchContinued, (), (record, at_end, checkpoints))

/// Puts a job right before another one in the queue of their pool, or right behind it. Where the
/// queue goes by priority, it gets the other's. Each is an experiment, or the task that is named instead.
struct JobMoved {
  static constexpr const char* kName = "JobMoved";
  ExperimentId id, anchor;
  bool ahead = true;
  std::string task{}, anchor_task{};
};
BOOST_DESCRIBE_STRUCT(JobMoved, (), (id, anchor, ahead, task, anchor_task))

/// `record` without state and run. Its id is new.
struct TaskSubmitted {
  static constexpr const char* kName = "TaskSubmitted";
  task::TaskRecord record;
};
BOOST_DESCRIBE_STRUCT(TaskSubmitted, (), (record))

/// Somebody, or its idleness, ends a task and its descendants. What is over stays as it is.
struct TaskKilled {
  static constexpr const char* kName = "TaskKilled";
  std::string task_id;
  std::string reason;  ///< its exit status: "killed by user ada"
};
BOOST_DESCRIBE_STRUCT(TaskKilled, (), (task_id, reason))

struct TaskPrioritySet {
  static constexpr const char* kName = "TaskPrioritySet";
  std::string task_id;
  int priority = 42;
};
BOOST_DESCRIBE_STRUCT(TaskPrioritySet, (), (task_id, priority))

/// The program of a task answers there.
struct TaskReady {
  static constexpr const char* kName = "TaskReady";
  std::string allocation_id;
  task::Address address;
};
BOOST_DESCRIBE_STRUCT(TaskReady, (), (allocation_id, address))

/// The program of a task says that nobody uses it since then, or that somebody does.
struct TaskIdled {
  static constexpr const char* kName = "TaskIdled";
  std::string allocation_id;
  std::optional<Time> since;
};
BOOST_DESCRIBE_STRUCT(TaskIdled, (), (allocation_id, since))

/// A generic task gives its slots back and waits until somebody resumes it, and its descendants do that can.
struct TaskPaused {
  static constexpr const char* kName = "TaskPaused";
  std::string task_id;
};
BOOST_DESCRIBE_STRUCT(TaskPaused, (), (task_id))

/// It goes on as a new allocation, and so do its descendants that are paused.
struct TaskUnpaused {
  static constexpr const char* kName = "TaskUnpaused";
  std::string task_id;
};
BOOST_DESCRIBE_STRUCT(TaskUnpaused, (), (task_id))

/// A process of a generic task asks whether it shall give way: it is told so, instead of sent a signal.
struct PreemptionHeeded {
  static constexpr const char* kName = "PreemptionHeeded";
  std::string allocation_id;
};
BOOST_DESCRIBE_STRUCT(PreemptionHeeded, (), (allocation_id))

/// Somebody outside answers an event of a search that they drive.
struct SearchAnswered {
  static constexpr const char* kName = "SearchAnswered";
  ExperimentId id;
  std::int64_t event_id = 0;
  std::vector<search::SearchWish> wishes;
};
BOOST_DESCRIBE_STRUCT(SearchAnswered, (), (id, event_id, wishes))

struct TrialKilled {
  static constexpr const char* kName = "TrialKilled";
  TrialId trial;
};
BOOST_DESCRIBE_STRUCT(TrialKilled, (), (trial))

/// The checkpoints of a finished experiment were collected: forget the experiment.
struct CheckpointsCollected {
  static constexpr const char* kName = "CheckpointsCollected";
  ExperimentId id;
};
BOOST_DESCRIBE_STRUCT(CheckpointsCollected, (), (id))

/// An agent came, came back, or shows other slots than before.
struct AgentJoined {
  static constexpr const char* kName = "AgentJoined";
  std::string agent, resource_pool, hostname, version;
  std::vector<api::SlotReport> slots;
  std::string label{};
  std::map<std::string, std::string> attributes{};
  std::string allotment{};  ///< of a pilot: the machines that it is one of
};
BOOST_DESCRIBE_STRUCT(AgentJoined, (),
                      (agent, resource_pool, hostname, version, slots, label, attributes, allotment))

/// A pilot, or the engine through it, says that its machine goes soon: what runs there saves and leaves.
struct AgentLeaving {
  static constexpr const char* kName = "AgentLeaving";
  std::string agent, why;
};
BOOST_DESCRIBE_STRUCT(AgentLeaving, (), (agent, why))

/// The pool's engine shall give machines. Their id is new.
struct AllotmentRequested {
  static constexpr const char* kName = "AllotmentRequested";
  std::string pool;
  int nodes = 1;
  std::string task{};   ///< for which alone they are
  std::string owner{};  ///< of the task: the number of the user
};
BOOST_DESCRIBE_STRUCT(AllotmentRequested, (), (pool, nodes, task, owner))

/// What the engine says of an allotment.
struct AllotmentReported {
  static constexpr const char* kName = "AllotmentReported";
  std::string id;
  bool running = false;
  std::string engine_id;
  std::string reason;        ///< why it is not running
  std::optional<Time> ends;  ///< when the engine takes it back
};
BOOST_DESCRIBE_STRUCT(AllotmentReported, (), (id, running, engine_id, reason, ends))

/// It goes back to the engine.
struct AllotmentReleased {
  static constexpr const char* kName = "AllotmentReleased";
  std::string id, why;
};
BOOST_DESCRIBE_STRUCT(AllotmentReleased, (), (id, why))

/// Its end is near: it takes nothing new, and what runs there saves and continues elsewhere.
struct AllotmentLeaving {
  static constexpr const char* kName = "AllotmentLeaving";
  std::string id;
};
BOOST_DESCRIBE_STRUCT(AllotmentLeaving, (), (id))

/// The engine has it no more, refused it, or never had it.
struct AllotmentEnded {
  static constexpr const char* kName = "AllotmentEnded";
  std::string id;
  std::string why;  ///< in the engine's words
};
BOOST_DESCRIBE_STRUCT(AllotmentEnded, (), (id, why))

/// A pilot has used the token of the allotment for one of its nodes. `secret` is of its own choice: with it,
/// and with no other, the call may be repeated.
struct AllotmentClaimed {
  static constexpr const char* kName = "AllotmentClaimed";
  std::string id;
  int node = 0;
  std::string secret;
};
BOOST_DESCRIBE_STRUCT(AllotmentClaimed, (), (id, node, secret))

/// It has stopped calling: nothing new starts there until it joins again. What it runs may well go on.
struct AgentSilent {
  static constexpr const char* kName = "AgentSilent";
  std::string agent;
};
BOOST_DESCRIBE_STRUCT(AgentSilent, (), (agent))

/// No word of it for longer than its lease, and the time to kill, last.
struct AgentLost {
  static constexpr const char* kName = "AgentLost";
  std::string agent;
};
BOOST_DESCRIBE_STRUCT(AgentLost, (), (agent))

/// Enables or disables an agent, or one slot of it.
struct AgentSet {
  static constexpr const char* kName = "AgentSet";
  std::string agent;
  std::optional<int> slot;
  bool enabled = true;
  bool drain = false;  ///< when disabling: what runs there may finish
};
BOOST_DESCRIBE_STRUCT(AgentSet, (), (agent, slot, enabled, drain))

/// All processes of the allocation's share on this agent run.
struct AllocationStarted {
  static constexpr const char* kName = "AllocationStarted";
  std::string allocation_id, agent;
};
BOOST_DESCRIBE_STRUCT(AllocationStarted, (), (allocation_id, agent))

/// One rank ended with a failure while others of its allocation still run.
struct RankFailed {
  static constexpr const char* kName = "RankFailed";
  std::string allocation_id, agent;
  api::RankExit exit;
};
BOOST_DESCRIBE_STRUCT(RankFailed, (), (allocation_id, agent, exit))

/// All processes of the allocation's share on this agent ended, and their logs are stored.
struct AllocationExited {
  static constexpr const char* kName = "AllocationExited";
  std::string allocation_id, agent;
  std::vector<api::RankExit> exits;
};
BOOST_DESCRIBE_STRUCT(AllocationExited, (), (allocation_id, agent, exits))

/// The allocation did not give its slots back in the time that it has for that.
struct PreemptionExpired {
  static constexpr const char* kName = "PreemptionExpired";
  std::string allocation_id;
};
BOOST_DESCRIBE_STRUCT(PreemptionExpired, (), (allocation_id))

/// The allocation has kept its slots for as long as it must: it may be asked to start again on more or fewer.
struct SlotsKept {
  static constexpr const char* kName = "SlotsKept";
  std::string allocation_id;
};
BOOST_DESCRIBE_STRUCT(SlotsKept, (), (allocation_id))

/// The allocation's processes have waited for something to do for as long as their pool lets them.
struct IdleExpired {
  static constexpr const char* kName = "IdleExpired";
  std::string allocation_id;
};
BOOST_DESCRIBE_STRUCT(IdleExpired, (), (allocation_id))

// What a trial's process reports. Each names its allocation: one that is over is
// answered Gone and changes nothing (I-10).
struct OperationCompleted {
  static constexpr const char* kName = "OperationCompleted";
  std::string allocation_id;
  std::int64_t batches = 0;
  double metric = 0;
};
BOOST_DESCRIBE_STRUCT(OperationCompleted, (), (allocation_id, batches, metric))

struct TrialProgressed {
  static constexpr const char* kName = "TrialProgressed";
  std::string allocation_id;
  std::int64_t batches = 0;  ///< 0: not said
  std::string runner_state;  ///< empty: not said
};
BOOST_DESCRIBE_STRUCT(TrialProgressed, (), (allocation_id, batches, runner_state))

struct ValidationReported {
  static constexpr const char* kName = "ValidationReported";
  std::string allocation_id;
  std::int64_t batches = 0;
  double metric = 0;
  std::optional<double> time{};  ///< where the search hears every validation: what its time metric says
};
BOOST_DESCRIBE_STRUCT(ValidationReported, (), (allocation_id, batches, metric, time))

struct CheckpointReported {
  static constexpr const char* kName = "CheckpointReported";
  experiment::CheckpointRecord record;
};
BOOST_DESCRIBE_STRUCT(CheckpointReported, (), (record))

struct EarlyExitReported {
  static constexpr const char* kName = "EarlyExitReported";
  std::string allocation_id;
  search::ExitedReason reason = search::ExitedReason::InvalidHp;
  std::string message;  ///< with Errored: what is wrong, for the user
};
BOOST_DESCRIBE_STRUCT(EarlyExitReported, (), (allocation_id, reason, message))

/// A line of the trial's log is one that its experiment's configuration looks for.
struct LogPolicyMatched {
  static constexpr const char* kName = "LogPolicyMatched";
  std::string allocation_id, agent;
  std::string policy, action;  ///< its name; cancel_retries, exclude_node or nothing
  std::string line;
};
BOOST_DESCRIBE_STRUCT(LogPolicyMatched, (), (allocation_id, agent, policy, action, line))

struct PreemptionAcknowledged {
  static constexpr const char* kName = "PreemptionAcknowledged";
  std::string allocation_id;
  bool can_wait{};              ///< everything is saved, and its processes could go on from where they are
  std::int64_t preemption = 0;  ///< with `can_wait`: which one it answers, of Allocation::preemptions
};
BOOST_DESCRIBE_STRUCT(PreemptionAcknowledged, (), (allocation_id, can_wait, preemption))

/// The allocation's own processes ask to be preempted, since their machine is about to go.
struct PreemptionRequested {
  static constexpr const char* kName = "PreemptionRequested";
  std::string allocation_id;
};
BOOST_DESCRIBE_STRUCT(PreemptionRequested, (), (allocation_id))

/// Any of the events above. What copies, moves, destroys, reads and writes so many kinds is compiled once
/// (event.cpp): most files of the master pass events on.
class Event {
 public:
  using Any =
      std::variant<MasterStarted, ExperimentSubmitted, ExperimentCommanded, ExperimentPatched,
                   ExperimentExtended, ExperimentContinued, SearchContinued, ExperimentTracked, TrialTracked,
                   SearchAnswered, JobMoved, TrialKilled, CheckpointsCollected, AgentJoined, AgentSilent,
                   AgentLost, AgentSet, AllocationStarted, RankFailed, AllocationExited, PreemptionExpired,
                   IdleExpired, SlotsKept, OperationCompleted, TrialProgressed, ValidationReported,
                   CheckpointReported, EarlyExitReported, LogPolicyMatched, PreemptionAcknowledged,
                   PreemptionRequested, TaskSubmitted, TaskKilled, TaskPrioritySet, TaskReady, TaskIdled,
                   TaskPaused, TaskUnpaused, PreemptionHeeded, AgentLeaving, AllotmentRequested,
                   AllotmentReported, AllotmentReleased, AllotmentLeaving, AllotmentEnded, AllotmentClaimed>;
  template <class Kind>
  static constexpr std::size_t kPlace = boost::mp11::mp_find<Any, Kind>::value;

  Event();  ///< MasterStarted of no epoch
  template <class Kind>
    requires(kPlace<Kind> < boost::mp11::mp_size<Any>::value)
  Event(Kind event) : Event(kPlace<Kind>, &event) {}
  Event(const Event& other);
  Event& operator=(const Event& other);
  Event(Event&& other) noexcept;  ///< `other` may then only be assigned to or destroyed.
  Event& operator=(Event&& other) noexcept;
  ~Event();

  const Any& any() const { return *any_; }
  Any& any() { return *any_; }
  /// The event where it is one of this kind, otherwise null.
  template <class Kind>
  const Kind* as() const {
    return static_cast<const Kind*>(at(kPlace<Kind>));
  }

  json::value to_json() const;
  std::optional<Error> read_json(const json::value& value, const std::string& path);

 private:
  Event(std::size_t place, void* event);  ///< moved from
  const void* at(std::size_t place) const;

  std::unique_ptr<Any> any_;
};

}  // namespace det::cluster
