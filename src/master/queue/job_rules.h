#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "det/access/permission.h"
#include "det/cluster/cluster.h"
#include "det/cluster/events.h"

/// Decisions about jobs in queues, without I/O: which changes are allowed, what they tell the cluster, and
/// why a job waits.
namespace det::master {

/// One change of a job; exactly one of the others besides the id.
struct QueueControl {
  std::string job_id;
  std::optional<std::string> ahead_of, behind_of, resource_pool;
  std::optional<std::int32_t> priority;
  std::optional<double> weight;
  static bool required(std::string_view name) { return name == "job_id"; }
};
BOOST_DESCRIBE_STRUCT(QueueControl, (), (job_id, ahead_of, behind_of, resource_pool, priority, weight))

/// Refuses an update that has not exactly one change.
Result<void> check_one_change(const QueueControl& update);

/// What the caller needs for the update, and for which job: to change this job and to see the other one.
std::vector<std::pair<std::string, access::Permission>> needed_permissions(const QueueControl& update);

/// Whether jobs of the pool wait in an order that can be shown.
bool policy_has_order(scheduler::Policy policy);

/// The priority that a job gets next to the anchor, if that is a change: where the queue goes by priority.
std::optional<int> priority_after_move(scheduler::Policy policy, int priority, int anchor_priority);

/// Requires: the update moves the job.
cluster::Event move_event(const cluster::Job& job, const cluster::Job& anchor, const QueueControl& update);

/// What the update changes of the job's configuration. Requires: it does not move the job.
experiment::Reconfiguration reconfiguration(const QueueControl& update);

/// Requires: the job is an experiment.
cluster::Event change_event(const cluster::Job& job, experiment::Reconfiguration change);
/// Requires: the job is a task of that type. Only its priority can be changed.
Result<cluster::Event> task_change_event(const cluster::Job& job, task::Type type,
                                         const QueueControl& update);

/// A name by which a job is looked up: the id of the job, the number of the experiment or the id of the task.
class JobName {
 public:
  explicit JobName(std::string name);
  bool names(const experiment::ExperimentRecord& experiment) const;
  bool names(const task::TaskRecord& task) const;

 private:
  std::string name_;
  std::optional<std::int64_t> number_;
};

/// Whether a task has slots or waits for some: what is paused does not.
bool is_in_queue(task::State state);
/// The same of an experiment with so many allocations: what is paused waits for nothing once its trials have
/// left.
bool is_in_queue(experiment::State state, std::size_t allocations);

/// The slots of a job, and whether it counts as scheduled.
struct JobSlots {
  std::int32_t requested = 0, allocated = 0;
  bool scheduled = false;
};
JobSlots job_slots(const std::vector<const cluster::Allocation*>& allocations, bool is_task);

/// "STATE_SCHEDULED" or "STATE_QUEUED"
const char* job_state(bool scheduled);

/// How many jobs have slots and how many wait.
struct Stats {
  std::int32_t queued_count = 0, scheduled_count = 0;
  friend bool operator==(const Stats&, const Stats&) = default;
};
BOOST_DESCRIBE_STRUCT(Stats, (), (queued_count, scheduled_count))
Stats count_jobs(const std::vector<std::string>& states);

/// The slot-seconds that a job has still to use if it goes on as until now; none: it has not made enough
/// progress to tell. `progress`: from 0 to 1.
std::optional<double> work_by_progress(double slot_seconds_used, double progress);

/// Why an experiment waits, as a sentence. `waiting`, `running`: how many of its trials do;
/// `waiting_reason`: of the first that waits.
std::string explain_experiment(ExperimentId id, experiment::State state, std::size_t waiting,
                               std::size_t running, const std::string& waiting_reason);
/// The same of a task; empty `waiting_reason`: it does not wait.
std::string explain_task(const task::TaskRecord& task, const std::string& waiting_reason);

}  // namespace det::master
