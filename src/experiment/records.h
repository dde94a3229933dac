#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "det/base/id.h"
#include "det/base/json.h"
#include "det/base/time.h"

/// What the platform remembers of experiments and trials: the rows of the store,
/// and what the API shows.
namespace det::experiment {

enum class State {
  Active,
  Paused,
  StoppingCompleted,
  StoppingCanceled,
  StoppingKilled,
  StoppingError,
  Completed,
  Canceled,
  Error,
  Deleting,
  DeleteFailed,
  Deleted
};
BOOST_DESCRIBE_ENUM(State, Active, Paused, StoppingCompleted, StoppingCanceled, StoppingKilled, StoppingError,
                    Completed, Canceled, Error, Deleting, DeleteFailed, Deleted)

constexpr bool is_terminal(State s) {
  return s == State::Completed || s == State::Canceled || s == State::Error || s == State::Deleting ||
         s == State::DeleteFailed || s == State::Deleted;
}
constexpr bool is_stopping(State s) {
  return s == State::StoppingCompleted || s == State::StoppingCanceled || s == State::StoppingKilled ||
         s == State::StoppingError;
}

/// Whether `candidate` is a better searcher metric than `best`, if there is one. NaN never is, and every
/// number is better than NaN.
bool better(double candidate, std::optional<double> best, bool smaller_is_better);

struct ExperimentRecord {
  ExperimentId id;
  State state = State::Paused;
  std::string name, description, notes;
  std::vector<std::string> labels;
  json::object config;           ///< resolved document
  std::string original_config;   ///< the text as submitted
  std::string model_definition;  ///< digest of the archive
  std::int64_t model_definition_bytes = 0;
  UserId owner;
  std::string job_id;  ///< UUID
  std::string resource_pool;
  Time start_time;
  std::optional<Time> end_time;
  double progress = 0;
  bool archived = false;
  std::optional<ExperimentId> forked_from;
  std::string error;  ///< why it is in state Error, in words
  std::int64_t project_id = 1;
  json::object git;  ///< commit, remote, … of the submitted directory; empty: nobody knows
};
BOOST_DESCRIBE_STRUCT(ExperimentRecord, (),
                      (id, state, name, description, notes, labels, config, original_config, model_definition,
                       model_definition_bytes, owner, job_id, resource_pool, start_time, end_time, progress,
                       archived, forked_from, error, project_id, git))

struct TrialRecord {
  TrialId id;
  ExperimentId experiment_id;
  std::string request_id;
  std::string task_id;
  State state = State::Active;
  json::object hparams;
  std::int64_t seed = 0;
  std::int64_t restarts = 0;
  std::int64_t run_id = 0;        ///< of its latest allocation; 0 before the first
  std::int64_t batches = 0;       ///< trained in total, as last reported
  std::string latest_checkpoint;  ///< uuid or empty
  std::string warm_start_checkpoint;
  std::string runner_state;           ///< training, validating, …
  std::optional<double> best_metric;  ///< searcher metric, as reported
  std::string log_policy_matched;     ///< names of log_policies that its log has matched, in their order
  std::string error;
  Time start_time;
  std::optional<Time> end_time;
};
BOOST_DESCRIBE_STRUCT(TrialRecord, (),
                      (id, experiment_id, request_id, task_id, state, hparams, seed, restarts, run_id,
                       batches, latest_checkpoint, warm_start_checkpoint, runner_state, best_metric,
                       log_policy_matched, error, start_time, end_time))

enum class AllocationState { Pending, Assigned, Starting, Running, Terminating, Terminated };
BOOST_DESCRIBE_ENUM(AllocationState, Pending, Assigned, Starting, Running, Terminating, Terminated)

/// A time in which an allocation's processes only waited, and its slots were for whoever needed them.
struct IdleTime {
  Time begin;
  std::optional<Time> end{};  ///< nothing: it lasts
};
BOOST_DESCRIBE_STRUCT(IdleTime, (), (begin, end))

struct AllocationShare {
  std::string agent;
  std::vector<int> slots;
  std::optional<Time> ended{};  ///< when the slots were free again, maybe before the allocation was over
  std::vector<IdleTime> idle{};
};
BOOST_DESCRIBE_STRUCT(AllocationShare, (), (agent, slots, ended, idle))

/// From when until when the share's slots were in use, in order and without overlaps; until `now` where they
/// still are.
std::vector<std::pair<Time, Time>> used_times(const AllocationShare& share, Time begin, Time now);

struct AllocationRecord {
  std::string id;
  std::string task_id;
  ExperimentId experiment_id;
  TrialId trial_id;
  std::int64_t run_id = 0;
  AllocationState state = AllocationState::Pending;
  std::vector<AllocationShare> shares;
  Time requested;
  std::optional<Time> start_time, end_time;
  std::string exit_reason;  ///< in words
};
BOOST_DESCRIBE_STRUCT(AllocationRecord, (),
                      (id, task_id, experiment_id, trial_id, run_id, state, shares, requested, start_time,
                       end_time, exit_reason))

/// For how long the allocation held slots, in slot-microseconds; until `now` where it still does. Over all
/// allocations it is the time that each slot was in use, none of it counted twice (I-18).
std::int64_t slot_microseconds(const AllocationRecord& allocation, Time now);

enum class CheckpointState { Active, Completed, Error, Deleted, PartiallyDeleted };
BOOST_DESCRIBE_ENUM(CheckpointState, Active, Completed, Error, Deleted, PartiallyDeleted)

struct CheckpointRecord {
  std::string uuid;
  ExperimentId experiment_id;
  TrialId trial_id;
  std::string task_id, allocation_id;
  CheckpointState state = CheckpointState::Completed;
  std::int64_t batches = 0;
  std::map<std::string, std::int64_t> resources;
  json::object metadata;
  std::optional<double> searcher_metric;  ///< of the validation at the same batch count, as reported
  Time report_time;
};
BOOST_DESCRIBE_STRUCT(CheckpointRecord, (),
                      (uuid, experiment_id, trial_id, task_id, allocation_id, state, batches, resources,
                       metadata, searcher_metric, report_time))

/// One report of a group: (trial, group, batches) names it.
struct MetricRecord {
  TrialId trial_id;
  std::int64_t run_id = 0;
  std::string group;  ///< training, validation, or another name
  std::int64_t batches = 0;
  json::object avg_metrics;
  json::array batch_metrics;
  std::int64_t records = 0;  ///< that the report is about, over all slots; 0: nobody counted
  Time report_time;
};
BOOST_DESCRIBE_STRUCT(MetricRecord, (),
                      (trial_id, run_id, group, batches, avg_metrics, batch_metrics, records, report_time))

struct LogRecord {
  std::int64_t id = 0;  ///< assigned by the store, ascending
  std::string task_id, allocation_id, agent_id, container_id;
  std::optional<int> rank;
  std::string source;    ///< task, master, agent
  std::string stdtype;   ///< stdout, stderr
  std::string level;     ///< INFO, …; may be empty
  std::string log;       ///< bytes as written, without the newline
  bool partial = false;  ///< a piece of a longer line; more follows
  Time timestamp;
};
BOOST_DESCRIBE_STRUCT(LogRecord, (),
                      (id, task_id, allocation_id, agent_id, container_id, rank, source, stdtype, level, log,
                       partial, timestamp))

}  // namespace det::experiment
