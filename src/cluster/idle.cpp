// Processes that wait where they are, with everything saved, on slots that nobody else needs. When there is
// something to do for them again they go on, without a new process and a checkpoint to read.

#include <algorithm>

#include "det/cluster/cluster.h"
#include "det/cluster/step.h"

namespace det::cluster {

using experiment::AllocationState;

Wish wish_of(const Allocation& allocation, std::int64_t preemption) {
  if (allocation.kill) return Wish::Leave;
  if (!allocation.preempt || allocation.preemptions != preemption) return Wish::GoOn;
  return allocation.may_stay ? Wish::Wait : Wish::Leave;
}

bool Cluster::may_wait(const Allocation& allocation) const {
  const auto& settings = pool(pool_where(allocation));
  // Where its machines are its own nobody else could use them meanwhile.
  return allocation.slots > 0 && !allocation.kill && settings.idle_seconds > 0 && !per_task(settings);
}

Time Cluster::idle_ends(const Allocation& allocation) const {
  return *allocation.idle_since + pool(pool_where(allocation)).idle_seconds * kSecond;
}

/// Its trial has nothing to do: what waits in its processes is saved already.
void Cluster::idle(const std::string& id, Step& step) {
  auto* allocation = live_allocation(id);
  if (allocation == nullptr || allocation->kill) return;
  allocation->resume = false;
  if (allocation->preempt) return;
  if (allocation->record.state == AllocationState::Pending || !may_wait(*allocation))
    return preempt(id, false, step);
  begin_idle(*allocation, step);
}

void Cluster::begin_idle(Allocation& allocation, Step& step) {
  if (allocation.idle()) return;
  allocation.idle_since = step.now;
  for (auto& share : allocation.record.shares)
    if (!share.ended) share.idle.push_back({.begin = step.now});
  for (const auto& share : allocation.record.shares)
    if (auto* agent = agents_.change(share.agent)) agent->last_used = step.now;
  step.effects.push_back(PutAllocation{allocation.record});
  step.place = true;
}

void Cluster::end_idle(Allocation& allocation, Step& step) {
  if (!allocation.idle()) return;
  allocation.idle_since.reset();
  for (auto& share : allocation.record.shares)
    if (!share.idle.empty() && !share.idle.back().end) share.idle.back().end = step.now;
  step.effects.push_back(PutAllocation{allocation.record});
  step.place = true;
}

/// There is something to do again. Of one that is leaving its experiment asks for another at its end.
void Cluster::resume(const std::string& id, Step& step) {
  auto* allocation = live_allocation(id);
  if (allocation == nullptr || allocation->kill) return;
  if (!allocation->preempt) return end_idle(*allocation, step);
  if (!allocation->may_stay) return;
  if (!allocation->acknowledged) {
    allocation->resume = true;  // It is saving: it goes on when it has done that.
    return;
  }
  end_idle(*allocation, step);
  allocation->preempt = allocation->may_stay = allocation->resume = allocation->acknowledged = false;
  allocation->record.exit_reason.clear();
  allocation->preempt_deadline.reset();
  allocation->record.state = AllocationState::Running;
  step.effects.push_back(PutAllocation{allocation->record});
  step.effects.push_back(WakeAllocation{id});
}

Outcome Cluster::on(const PreemptionAcknowledged& event, Step& step) {
  if (auto* of_task = live_allocation(event.allocation_id); of_task != nullptr && of_task->heeds_preemption) {
    of_task->acknowledged = of_task->preempt;
    return {};
  }
  const auto reporter = trial_that_reports(event.allocation_id);
  if (!reporter) return refuse(reporter.error());
  auto& allocation = *live_allocation(event.allocation_id);
  if (event.can_wait && (!allocation.preempt || event.preemption != allocation.preemptions))
    return {};  // late
  if (event.can_wait && allocation.acknowledged) return {};
  allocation.acknowledged = true;
  if (!event.can_wait || !allocation.may_stay || allocation.kill) {
    allocation.may_stay = false;
    return {};
  }
  if (allocation.resume) {
    resume(event.allocation_id, step);
    return {};
  }
  allocation.preempt_deadline.reset();
  begin_idle(allocation, step);
  return {};
}

Outcome Cluster::on(const PreemptionRequested& event, Step& step) {
  const auto reporter = trial_that_reports(event.allocation_id);
  if (!reporter) return refuse(reporter.error());
  preempt(event.allocation_id, false, step);
  return {};
}

Outcome Cluster::on(const IdleExpired& event, Step& step) {
  const auto* allocation = this->allocation(event.allocation_id);
  if (allocation != nullptr && allocation->idle()) preempt(event.allocation_id, false, step);
  return {};
}

/// By agent, the slots that others only wait on.
std::map<std::string, std::map<int, std::string>> Cluster::waited_on() const {
  std::map<std::string, std::map<int, std::string>> slots;
  for (const auto& id : planner_.idle()) {
    const auto& allocation = allocations_.at(id);
    for (const auto& share : allocation.record.shares)
      if (!allocation.agents_ended.contains(share.agent))
        for (const int slot : share.slots) slots[share.agent].emplace(slot, id);
  }
  return slots;
}

/// The scheduler has taken slots that are waited on for free ones. Where an agent has others that are free,
/// those are taken; else who waits is asked to leave, and the placement starts when that is done.
void Cluster::carry_out(std::vector<scheduler::Placement> placements, const std::string& pool, Step& step) {
  if (placements.empty()) return;
  const auto held = waited_on();
  std::map<std::string, std::vector<int>> spare;
  if (!held.empty()) {
    for (const auto& agent : scheduler_agents(pool)) {
      const auto found = held.find(agent.id);
      if (found == held.end()) continue;
      for (const auto& slot : agent.slots)
        if (slot.enabled && !slot.used && !found->second.contains(slot.id))
          spare[agent.id].push_back(slot.id);
    }
    for (const auto& placement : placements)
      for (const auto& share : placement.shares)
        for (const int slot : share.slots) std::erase(spare[share.agent], slot);
  }
  for (auto& placement : placements) {
    std::set<std::string> leave;
    for (auto& share : placement.shares) {
      const auto found = held.find(share.agent);
      if (found == held.end()) continue;
      for (int& slot : share.slots) {
        const auto who = found->second.find(slot);
        if (who == found->second.end()) continue;
        if (auto& others = spare[share.agent]; !others.empty()) {
          slot = others.front();
          others.erase(others.begin());
        } else {
          leave.insert(who->second);
        }
      }
      std::ranges::sort(share.slots);
    }
    if (leave.empty()) {
      start(placement, step);
      continue;
    }
    for (const auto& id : leave) preempt(id, false, step);
    planner_.being_freed(placement.allocation_id, {.reason = scheduler::Why::Reason::BeingFreed,
                                                   .slots = allocations_.at(placement.allocation_id).slots,
                                                   .giving_way = static_cast<int>(leave.size())});
  }
}

}  // namespace det::cluster
