#include "det/master/queue/job_rules.h"

#include <charconv>

namespace det::master {

Result<void> check_one_change(const QueueControl& update) {
  const int given = update.ahead_of.has_value() + update.behind_of.has_value() +
                    update.resource_pool.has_value() + update.priority.has_value() +
                    update.weight.has_value();
  if (given == 1) return {};
  return invalid_argument(
      "the update of job '{}' has {} changes; give exactly one of aheadOf, behindOf, priority, weight and "
      "resourcePool",
      update.job_id, given);
}

std::vector<std::pair<std::string, access::Permission>> needed_permissions(const QueueControl& update) {
  std::vector<std::pair<std::string, access::Permission>> needed = {
      {update.job_id, access::Permission::UpdateNsc}};
  for (const auto& anchor : {update.ahead_of, update.behind_of})
    if (anchor)
      needed.emplace_back(
          *anchor, *anchor == update.job_id ? access::Permission::UpdateNsc : access::Permission::ViewNsc);
  return needed;
}

bool policy_has_order(scheduler::Policy policy) {
  return policy == scheduler::Policy::Fifo || policy == scheduler::Policy::Priority;
}

std::optional<int> priority_after_move(scheduler::Policy policy, int priority, int anchor_priority) {
  if (policy != scheduler::Policy::Priority || priority == anchor_priority) return std::nullopt;
  return anchor_priority;
}

cluster::Event move_event(const cluster::Job& job, const cluster::Job& anchor, const QueueControl& update) {
  return cluster::JobMoved{.id = job.experiment,
                           .anchor = anchor.experiment,
                           .ahead = update.ahead_of.has_value(),
                           .task = job.task,
                           .anchor_task = anchor.task};
}

experiment::Reconfiguration reconfiguration(const QueueControl& update) {
  experiment::Reconfiguration change;
  if (update.priority) change.priority = *update.priority;
  change.weight = update.weight;
  change.resource_pool = update.resource_pool;
  return change;
}

cluster::Event change_event(const cluster::Job& job, experiment::Reconfiguration change) {
  cluster::ExperimentPatched patched{
      .id = job.experiment, .name = {}, .description = {}, .notes = {}, .labels = {}, .config = {}};
  patched.config = std::move(change);
  return patched;
}

Result<cluster::Event> task_change_event(const cluster::Job& job, task::Type type,
                                         const QueueControl& update) {
  if (update.priority) return cluster::TaskPrioritySet{job.task, *update.priority};
  return failed_precondition(
      "the {2} of job '{0}' cannot be changed, because it is a {1}; only its priority and its place in the "
      "queue can",
      update.job_id, task::type_word(type), update.weight ? "weight" : "resource pool");
}

JobName::JobName(std::string name) : name_(std::move(name)) {
  std::int64_t number = 0;
  const auto* end = name_.data() + name_.size();
  const auto [rest, failure] = std::from_chars(name_.data(), end, number);
  if (failure == std::errc{} && rest == end) number_ = number;
}

bool JobName::names(const experiment::ExperimentRecord& experiment) const {
  return number_ ? experiment.id.value() == *number_ : experiment.job_id == name_;
}

bool JobName::names(const task::TaskRecord& task) const {
  return task.id == name_ || task.job_id == name_;
}

bool is_in_queue(task::State state) {
  return state != task::State::Paused;
}

bool is_in_queue(experiment::State state, std::size_t allocations) {
  return allocations > 0 || state != experiment::State::Paused;
}

JobSlots job_slots(const std::vector<const cluster::Allocation*>& allocations, bool is_task) {
  JobSlots slots;
  for (const auto* allocation : allocations) {
    slots.requested += allocation->slots;
    if (allocation->record.shares.empty()) continue;
    slots.allocated += allocation->slots;
    slots.scheduled = slots.scheduled || allocation->slots > 0 || is_task;
  }
  return slots;
}

const char* job_state(bool scheduled) {
  return scheduled ? "STATE_SCHEDULED" : "STATE_QUEUED";
}

Stats count_jobs(const std::vector<std::string>& states) {
  Stats stats;
  for (const auto& state : states) ++(state == job_state(true) ? stats.scheduled_count : stats.queued_count);
  return stats;
}

std::optional<double> work_by_progress(double slot_seconds_used, double progress) {
  constexpr double kEnough = 0.01;  // before that, the start of its processes weighs too much
  if (slot_seconds_used <= 0 || progress < kEnough) return std::nullopt;
  return slot_seconds_used * std::max(0.0, 1 - progress) / progress;
}

std::string explain_experiment(ExperimentId id, experiment::State state, std::size_t waiting,
                               std::size_t running, const std::string& waiting_reason) {
  if (state == experiment::State::Paused)
    return fmt::format("experiment {} is paused; it requests no slots until it is activated", id);
  if (experiment::is_stopping(state))
    return fmt::format("experiment {} is ending; it requests no more slots", id);
  if (waiting > 0 && running > 0)
    return fmt::format("{} of its trials are running and {} are waiting: {}", running, waiting,
                       waiting_reason);
  if (waiting > 0) return fmt::format("{} of its trials are waiting: {}", waiting, waiting_reason);
  if (running > 0) return "it is not waiting: all trials that its search has started have their slots";
  return "it is not waiting for slots: its search has no trial to train now";
}

std::string explain_task(const task::TaskRecord& task, const std::string& waiting_reason) {
  if (task.state == task::State::Terminating)
    return fmt::format("{} {} is ending", task::type_word(task.type), task.id);
  if (task.state == task::State::Paused)
    return fmt::format("{} {} is paused; it requests no slots until it is resumed",
                       task::type_word(task.type), task.id);
  if (!waiting_reason.empty()) return fmt::format("it is waiting: {}", waiting_reason);
  return "it is not waiting: it is running";
}

}  // namespace det::master
