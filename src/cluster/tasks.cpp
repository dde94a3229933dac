// Tasks that are no trials: commands, shells, notebooks, TensorBoards.

#include <algorithm>

#include "det/cluster/cluster.h"
#include "det/cluster/step.h"

namespace det::cluster {

using experiment::AllocationState;
using experiment::Exit;

const task::Task* Cluster::task(const std::string& id) const {
  const auto found = tasks_.find(id);
  return found == tasks_.end() ? nullptr : &found->second;
}

namespace {
Error no_task(const std::string& id) {
  return Error(ErrorCode::NotFound, fmt::format("task '{}' not found, or it has ended", id));
}
}  // namespace

void Cluster::settle(const std::string& task_id, task::Wish wish, Step& step) {
  auto& task = *tasks_.change(task_id);
  step.effects.push_back(PutTask{task.record()});
  if (wish == task::Wish::Start) {
    Allocation allocation;
    allocation.record = {
        .id = task.allocation(), .task_id = task_id, .run_id = task.record().run_id, .requested = step.now};
    allocation.slots = task.record().slots;
    step.effects.push_back(PutAllocation{allocation.record});
    const auto id = allocation.record.id;
    allocations_.put(id, std::move(allocation));
    step.place = true;
  } else if (wish == task::Wish::Stop) {
    const auto id = task.allocation();
    auto& allocation = *live_allocation(id);
    if (allocation.record.state == AllocationState::Pending)
      end(allocation, {.kind = Exit::Kind::Stopped, .preempted = false, .reason = "withdrawn"}, step);
    else
      kill(id, step);
  } else if (wish == task::Wish::GiveWay) {
    give_way(task.allocation(), step);
  } else if (task.over()) {
    step.effects.push_back(LogNote{task_id, fmt::format("{}.{}", task_id, task.record().run_id),
                                   fmt::format("{} {} has ended: {}", task::type_word(task.record().type),
                                               task_id, task.record().exit_status)});
    tasks_.take(task_id);
  }
}

void Cluster::stop_task(const std::string& task_id, std::string why, Step& step) {
  const auto wish = tasks_.change(task_id)->stop(std::move(why), step.now);
  if (wish != task::Wish::Nothing) settle(task_id, wish, step);
}

void Cluster::move_task(const std::string& task_id, std::string why, Step& step) {
  if (!tasks_.at(task_id).can_yield()) return stop_task(task_id, std::move(why), step);
  const auto wish = tasks_.change(task_id)->yield();
  if (wish == task::Wish::Nothing) return;
  step.effects.push_back(
      LogNote{task_id, tasks_.at(task_id).allocation(), why + "; the task will run again"});
  settle(task_id, wish, step);
}

// Its process is told, where it has asked for that, and has time to leave; else it is sent a signal.
void Cluster::give_way(const std::string& id, Step& step) {
  auto& allocation = *live_allocation(id);
  if (allocation.record.state == AllocationState::Pending)
    return end(allocation, {.kind = Exit::Kind::Stopped, .preempted = true, .reason = "withdrawn"}, step);
  if (!allocation.heeds_preemption) return kill(id, step);
  if (allocation.preempt) return;
  allocation.preempt = true;
  ++allocation.preemptions;
  const auto& task = tasks_.at(allocation.record.task_id).record();
  allocation.preempt_deadline =
      step.now + task.preemption_timeout_seconds.value_or(kPreemptionTimeoutSeconds) * kSecond;
  allocation.record.state = AllocationState::Terminating;
  step.effects.push_back(PutAllocation{allocation.record});
  step.effects.push_back(WakeAllocation{id});
}

std::vector<std::string> Cluster::family_of(const std::string& task_id) const {
  std::vector<std::string> ids;
  for (const auto& [id, task] : tasks_)
    if (id == task_id || std::ranges::find(task.record().ancestors, task_id) != task.record().ancestors.end())
      ids.push_back(id);
  return ids;
}

Outcome Cluster::on(const TaskSubmitted& event, Step& step) {
  const auto& id = event.record.id;
  if (tasks_.contains(id))
    return refuse(Error(ErrorCode::AlreadyExists, fmt::format("task '{}' already exists", id)));
  if (!event.record.ancestors.empty()) {
    const auto* parent = task(event.record.ancestors.back());
    if (parent == nullptr || parent->record().state == task::State::Terminating)
      return refuse(Error(ErrorCode::FailedPrecondition,
                          fmt::format("task '{}' has ended, or is ending; it can have no more children",
                                      event.record.ancestors.back())));
  }
  auto& task = tasks_.put(id, task::Task(event.record));
  settle(id, task.submitted(), step);
  return {};
}

Outcome Cluster::on(const TaskKilled& event, Step& step) {
  const auto family = family_of(event.task_id);
  if (family.empty()) return refuse(no_task(event.task_id));
  for (const auto& id : family) {
    const auto wish = tasks_.change(id)->kill(event.reason, step.now);
    if (wish != task::Wish::Nothing || tasks_.at(id).over()) settle(id, wish, step);
  }
  return {};
}

Outcome Cluster::on(const TaskPaused& event, Step& step) {
  if (!tasks_.contains(event.task_id)) return refuse(no_task(event.task_id));
  const auto wish = tasks_.change(event.task_id)->pause();
  if (!wish) return refuse(wish.error());
  settle(event.task_id, *wish, step);
  for (const auto& id : family_of(event.task_id)) {
    if (id == event.task_id) continue;
    if (const auto also = tasks_.change(id)->pause()) settle(id, *also, step);
  }
  return {};
}

Outcome Cluster::on(const TaskUnpaused& event, Step& step) {
  if (!tasks_.contains(event.task_id)) return refuse(no_task(event.task_id));
  const auto wish = tasks_.change(event.task_id)->unpause();
  if (!wish) return refuse(wish.error());
  settle(event.task_id, *wish, step);
  for (const auto& id : family_of(event.task_id)) {
    if (id == event.task_id) continue;
    if (const auto also = tasks_.change(id)->unpause()) settle(id, *also, step);
  }
  return {};
}

Outcome Cluster::on(const TaskPrioritySet& event, Step& step) {
  if (!tasks_.contains(event.task_id)) return refuse(no_task(event.task_id));
  if (event.priority < 1 || event.priority > 99)
    return refuse(
        Error(ErrorCode::InvalidArgument,
              fmt::format("priority of task {} is {}; it must be 1 to 99", event.task_id, event.priority)));
  tasks_.change(event.task_id)->set_priority(event.priority);
  settle(event.task_id, task::Wish::Nothing, step);
  step.place = true;
  return {};
}

// ---- what their programs report ----------------------------------------------

Result<std::string> Cluster::task_that_reports(const std::string& allocation_id) const {
  const auto* allocation = this->allocation(allocation_id);
  if (allocation == nullptr) return fail(ErrorCode::Gone, "allocation {} has ended", allocation_id);
  if (allocation->of_trial())
    return fail(ErrorCode::PermissionDenied, "allocation {} belongs to a trial", allocation_id);
  return allocation->record.task_id;
}

Outcome Cluster::on(const TaskReady& event, Step& step) {
  const auto id = task_that_reports(event.allocation_id);
  if (!id) return refuse(id.error());
  if (const auto done = tasks_.change(*id)->ready(event.address); !done) return refuse(done.error());
  settle(*id, task::Wish::Nothing, step);
  return {};
}

Outcome Cluster::on(const PreemptionHeeded& event, Step&) {
  const auto id = task_that_reports(event.allocation_id);
  if (!id) return refuse(id.error());
  live_allocation(event.allocation_id)->heeds_preemption = true;
  return {};
}

Outcome Cluster::on(const TaskIdled& event, Step& step) {
  const auto id = task_that_reports(event.allocation_id);
  if (!id) return refuse(id.error());
  tasks_.change(*id)->report_idle(event.since, step.now);
  return {};
}

}  // namespace det::cluster
