// Who starts where: the scheduler is asked, and what it says is done.

#include <algorithm>

#include "det/cluster/cluster.h"
#include "det/cluster/step.h"

namespace det::cluster {

using experiment::AllocationState;

// What runs belongs to the pool of the agents that it runs on, whatever its experiment says by now.
std::string Cluster::pool_where(const Allocation& allocation) const {
  if (!allocation.record.shares.empty())
    if (const auto agent = agents_.find(allocation.record.shares.front().agent); agent != agents_.end())
      return agent->second.resource_pool;
  return pool_of(*experiment(allocation.record.experiment_id));
}

std::vector<scheduler::Agent> Cluster::scheduler_agents(const std::string& pool) const {
  std::map<std::string, scheduler::Agent> agents;
  for (const auto& [id, agent] : agents_) {
    if (agent.resource_pool != pool || !agent.connected) continue;
    scheduler::Agent entry{.id = id, .label = agent.label};
    entry.enabled = agent.enabled;
    entry.draining = agent.draining;
    entry.zero_slot_max = this->pool(pool).zero_slot_max;
    for (const auto& slot : agent.slots)
      entry.slots.push_back({.id = slot.id, .enabled = !agent.disabled_slots.contains(slot.id)});
    agents.emplace(id, std::move(entry));
  }
  for (const auto& [id, allocation] : allocations_)
    for (const auto& share : allocation.record.shares) {
      const auto agent = agents.find(share.agent);
      if (agent == agents.end() || allocation.agents_ended.contains(share.agent)) continue;
      if (share.slots.empty()) ++agent->second.zero_slot_running;
      for (auto& slot : agent->second.slots)
        if (std::ranges::find(share.slots, slot.id) != share.slots.end()) slot.used = true;
    }
  std::vector<scheduler::Agent> list;
  for (auto& [id, agent] : agents) list.push_back(std::move(agent));
  return list;
}

void Cluster::place(Step& step) {
  step.place = false;
  std::set<std::string> pools;
  for (const auto& [id, allocation] : allocations_) pools.insert(pool_where(allocation));
  for (const auto& pool : pools) place_pool(pool, step);
}

void Cluster::place_pool(const std::string& pool, Step& step) {
  std::vector<scheduler::Request> requests;
  for (auto& [id, allocation] : allocations_) {
    if (pool_where(allocation) != pool) continue;
    const auto& owner = *experiment(allocation.record.experiment_id);
    const auto& resources = owner.config().resources;
    scheduler::Request request{.allocation_id = id,
                               .group = owner.record().job_id,
                               .label = resources.agent_label,
                               .slots = allocation.slots,
                               .single_agent = resources.single_node,
                               .priority = priority_of(owner),
                               .weight = resources.weight,
                               .position = position_of(owner.record().id),
                               .submitted = owner.record().start_time,
                               .requested = allocation.record.requested,
                               .running = allocation.record.state != AllocationState::Pending,
                               .releasing = allocation.preempt || allocation.kill,
                               .asked = allocation.for_others && !allocation.kill};
    if (resources.max_slots) request.slots_max = static_cast<int>(*resources.max_slots);
    for (const auto& share : allocation.record.shares) {
      if (allocation.agents_ended.contains(share.agent)) continue;
      request.held.push_back({.agent = share.agent, .slots = share.slots});
      if (const auto agent = agents_.find(share.agent); agent != agents_.end())
        request.label = agent->second.label;
    }
    requests.push_back(std::move(request));
    allocation.waiting.reset();
    allocation.behind.clear();
  }
  const auto agents = scheduler_agents(pool);
  const auto plan = scheduler::make_scheduler(scheduler_options(this->pool(pool)))->plan(agents, requests);
  for (const auto& placement : plan.start) start(placement, step);
  std::map<std::string, std::string> first;  // in the line, by label
  for (const auto& [request, why] : plan.waiting) {
    const auto& [id, label, slots] =
        std::tie(requests[request].allocation_id, requests[request].label, requests[request].slots);
    auto& allocation = allocations_.at(id);
    allocation.waiting = why;
    if (slots == 0 || !why.in_line()) continue;
    const auto [head, is_first] = first.try_emplace(label, id);
    if (!is_first) allocation.behind = head->second;
  }
  for (const auto& id : plan.preempt) {
    auto& allocation = allocations_.at(id);
    allocation.for_others = true;
    step.effects.push_back(LogNote{allocation.record.task_id, id,
                                   "the scheduler asks the trial to give its slots to others; it will go on "
                                   "from a checkpoint when there are slots for it again"});
    preempt(id, step);
  }
}

void Cluster::start(const scheduler::Placement& placement, Step& step) {
  auto& allocation = allocations_.at(placement.allocation_id);
  allocation.record.state = AllocationState::Assigned;
  allocation.record.start_time = step.now;
  for (const auto& share : placement.shares)
    allocation.record.shares.push_back({.agent = share.agent, .slots = share.slots, .ended = {}});
  const auto& trial = *experiment(allocation.record.experiment_id)->trial(allocation.record.trial_id);
  step.effects.push_back(PutAllocation{allocation.record});
  step.effects.push_back(RewindTrial{trial.record.id, allocation.record.run_id, trial.checkpoint_batches});
  step.effects.push_back(LogNote{allocation.record.task_id, placement.allocation_id,
                                 fmt::format("trial {} (run {}) starts on agent {}", trial.record.id,
                                             allocation.record.run_id, placement.shares.front().agent)});
  wake_agents(allocation, step);
}

std::string Cluster::waiting_reason(const std::string& id) const {
  const auto* found = allocation(id);
  return found == nullptr || !found->waiting ? "" : scheduler::text(*found->waiting);
}

}  // namespace det::cluster
