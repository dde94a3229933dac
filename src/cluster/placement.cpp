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
  return pool_of(job_of(allocation));
}

std::vector<scheduler::Agent> Cluster::scheduler_agents(const std::string& pool) const {
  std::map<std::string, scheduler::Agent> agents;
  for (const auto& [id, agent] : agents_) {
    if (agent.resource_pool != pool || !agent.connected) continue;
    scheduler::Agent entry{.id = id, .label = agent.label, .attributes = agent.attributes};
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
      if (agent == agents.end() || !allocation.uses(share.agent)) continue;
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

scheduler::Request Cluster::request_of(const Allocation& allocation) const {
  const auto job = job_of(allocation);
  scheduler::Request request{.allocation_id = allocation.record.id,
                             .group = job_id_of(job),
                             .slots = allocation.slots,
                             .priority = priority_of(job),
                             .position = position_of(job),
                             .submitted = submitted(job),
                             .requested = allocation.record.requested,
                             .running = allocation.record.state != AllocationState::Pending,
                             .releasing = allocation.preempt || allocation.kill,
                             .asked = allocation.for_others && !allocation.kill};
  if (allocation.of_trial()) {
    const auto& owner = *experiment(allocation.record.experiment_id);
    const auto& resources = owner.config().resources;
    request.blocked_agents = owner.trial(allocation.record.trial_id)->blocked_agents;
    request.label = resources.agent_label;
    request.attributes = resources.agent_attributes;
    request.single_agent = resources.single_node;
    request.weight = resources.weight;
    if (resources.max_slots) request.slots_max = static_cast<int>(*resources.max_slots);
  } else {
    request.single_agent = true;
    request.preemptible = false;  // it has no checkpoint to go on from
  }
  for (const auto& share : allocation.record.shares) {
    if (allocation.agents_ended.contains(share.agent)) continue;
    request.held.push_back({.agent = share.agent, .slots = share.slots});
    if (const auto agent = agents_.find(share.agent); agent != agents_.end())
      request.label = agent->second.label;
  }
  return request;
}

void Cluster::place_pool(const std::string& pool, Step& step) {
  std::vector<scheduler::Request> requests;
  for (auto& [id, allocation] : allocations_) {
    if (pool_where(allocation) != pool || allocation.idle()) continue;
    requests.push_back(request_of(allocation));
    allocation.waiting.reset();
    allocation.behind.clear();
  }
  const auto agents = scheduler_agents(pool);
  const auto plan = scheduler::make_scheduler(scheduler_options(this->pool(pool)))->plan(agents, requests);
  carry_out(plan.start, pool, step);
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
    preempt(id, false, step);
  }
}

void Cluster::start(const scheduler::Placement& placement, Step& step) {
  auto& allocation = allocations_.at(placement.allocation_id);
  allocation.record.state = AllocationState::Assigned;
  allocation.record.start_time = step.now;
  for (const auto& share : placement.shares)
    allocation.record.shares.push_back({.agent = share.agent, .slots = share.slots, .ended = {}});
  step.effects.push_back(PutAllocation{allocation.record});
  const auto& agent = placement.shares.front().agent;
  if (allocation.of_trial()) {
    const auto& trial = *experiment(allocation.record.experiment_id)->trial(allocation.record.trial_id);
    RewindTrial rewind{trial.record.id, allocation.record.run_id, trial.checkpoint_batches};
    if (trial.record.latest_checkpoint.empty()) rewind.batches = std::nullopt;
    step.effects.push_back(std::move(rewind));
    step.effects.push_back(LogNote{allocation.record.task_id, placement.allocation_id,
                                   fmt::format("trial {} (run {}) starts on agent {}", trial.record.id,
                                               allocation.record.run_id, agent)});
  } else {
    auto& task = tasks_.at(allocation.record.task_id);
    task.placed();
    step.effects.push_back(
        LogNote{task.record().id, placement.allocation_id,
                fmt::format("{} {} starts on agent {}", task::type_word(task.record().type), task.record().id,
                            agent)});
    settle(task.record().id, task::Wish::Nothing, step);
  }
  wake_agents(allocation, step);
}

std::string Cluster::waiting_reason(const std::string& id) const {
  const auto* found = allocation(id);
  return found == nullptr || !found->waiting ? "" : scheduler::text(*found->waiting);
}

}  // namespace det::cluster
