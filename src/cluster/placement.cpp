// Who starts where: the scheduler is asked, and what it says is done.

#include "det/cluster/cluster.h"
#include "det/cluster/step.h"
#include "det/cluster/usage.h"

namespace det::cluster {

using experiment::AllocationState;

namespace {

std::string slots_text(int slots) {
  return fmt::format("{} slot{}", slots, slots == 1 ? "" : "s");
}

}  // namespace

const std::vector<scheduler::Agent>& Cluster::scheduler_agents(const std::string& pool) const {
  return planner_.pool(pool).state.agents();
}

/// Plans each pool of which a plan would be made of something else than the last time.
void Cluster::place(Step& step) {
  step.place = false;
  refresh();
  std::vector<std::string> pools;
  for (const auto& [name, _] : planner_.pools()) pools.push_back(name);
  for (const auto& pool : pools) {
    refresh();  // what was planned for another may have changed it
    if (planner_.pool(pool).stale) place_pool(pool, step);
  }
}

void Cluster::place_pool(const std::string& pool, Step& step) {
  auto options = scheduler_options(this->pool(pool));
  options.fitting.now = step.now;
  auto plan = planner_.plan(pool, options);
  const bool lacks_machines = this->pool(pool).elastic && !planner_.pool(pool).state.waiting().empty();
  carry_out(std::move(plan.start), pool, step);
  if (lacks_machines) step.effects.push_back(WakeProvider{});
  for (const auto& [id, slots] : plan.resize) {
    const auto& allocation = *this->allocation(id);
    step.effects.push_back(
        LogNote{allocation.record.task_id, id,
                fmt::format("the trial gives its {} back, to resume from a checkpoint on {}",
                            slots_text(allocation.slots), slots)});
    preempt(id, false, step);
  }
  for (const auto& id : plan.preempt) {
    auto& allocation = *live_allocation(id);
    allocation.for_others = true;
    if (!allocation.of_trial()) {
      const auto task_id = allocation.record.task_id;
      move_task(task_id, "the scheduler preempts the task", step);
      continue;
    }
    step.effects.push_back(
        LogNote{allocation.record.task_id, id,
                "the scheduler preempts the trial; it resumes from a checkpoint when it gets "
                "slots again"});
    preempt(id, false, step);
  }
}

void Cluster::start(const scheduler::Placement& placement, Step& step) {
  auto& allocation = *live_allocation(placement.allocation_id);
  allocation.record.state = AllocationState::Assigned;
  allocation.record.start_time = step.now;
  for (const auto& share : placement.shares)
    allocation.record.shares.push_back({.agent = share.agent, .slots = share.slots, .ended = {}});
  step.effects.push_back(PutAllocation{allocation.record});
  const auto& agent = placement.shares.front().agent;
  if (allocation.of_trial()) {
    const auto& owner = *experiment(allocation.record.experiment_id);
    const auto& trial = *owner.trial(allocation.record.trial_id);
    std::string on = fmt::format("agent {}", agent);
    if (const auto& range = owner.config().resources.slots_range) {
      allocation.slots = static_cast<int>(slots_of(allocation.record));
      allocation.keeps_slots_until = step.now + range->resize_after_seconds * kSecond;
      on += fmt::format(" with {}, of {} to {}", slots_text(allocation.slots), range->min, range->max);
    }
    RewindTrial rewind{trial.record.id, allocation.record.run_id, trial.checkpoint_batches};
    if (trial.record.latest_checkpoint.empty()) rewind.batches = std::nullopt;
    step.effects.push_back(std::move(rewind));
    step.effects.push_back(LogNote{
        allocation.record.task_id, placement.allocation_id,
        fmt::format("trial {} (run {}) starts on {}", trial.record.id, allocation.record.run_id, on)});
  } else {
    auto& task = *tasks_.change(allocation.record.task_id);
    task.placed();
    step.effects.push_back(
        LogNote{task.record().id, placement.allocation_id,
                fmt::format("{} {} starts on agent {}", task::type_word(task.record().type), task.record().id,
                            agent)});
    settle(task.record().id, task::Wish::Nothing, step);
  }
  wake_agents(allocation, step);
}

Outcome Cluster::on(const SlotsKept& event, Step& step) {
  auto* allocation = live_allocation(event.allocation_id);
  if (allocation == nullptr) return {};
  allocation->keeps_slots_until.reset();
  step.place = true;
  return {};
}

}  // namespace det::cluster
