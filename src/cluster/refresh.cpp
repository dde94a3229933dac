// What the schedulers are asked about is kept; what has changed since is looked up here.

#include <algorithm>

#include "det/cluster/cluster.h"

namespace det::cluster {

using experiment::AllocationState;

/// What all requests of a job say.
scheduler::Request Cluster::terms_of(const Job& job) const {
  scheduler::Request terms{.group = job_id_of(job),
                           .priority = priority_of(job),
                           .position = position_of(job),
                           .submitted = submitted(job)};
  if (!job.task.empty()) {
    terms.single_agent = true;
    terms.preemptible = tasks_.at(job.task).can_yield();  // others have nothing to go on from
    return terms;
  }
  const auto& resources = experiment(job.experiment)->config().resources;
  terms.label = resources.agent_label;
  terms.attributes = resources.agent_attributes;
  terms.single_agent = resources.single_node;
  terms.weight = resources.weight;
  if (resources.max_slots) terms.slots_max = static_cast<int>(*resources.max_slots);
  return terms;
}

scheduler::Request Cluster::request_of(const Allocation& allocation) const {
  auto request = terms_of(job_of(allocation));
  request.allocation_id = allocation.record.id;
  request.slots = allocation.slots;
  request.slot_counts = allocation.slot_counts;
  request.requested = allocation.record.requested;
  request.running = allocation.record.state != AllocationState::Pending;
  request.releasing = allocation.preempt || allocation.kill;
  request.resizable = request.running && allocation.slot_counts.size() > 1 && !allocation.keeps_slots_until;
  request.asked = allocation.for_others && !allocation.kill;
  if (per_task(pool(pool_where(allocation)))) request.reservation = allocation.record.task_id;
  if (allocation.of_trial())
    request.blocked_agents =
        experiment(allocation.record.experiment_id)->trial(allocation.record.trial_id)->blocked_agents;
  for (const auto& share : allocation.record.shares) {
    if (allocation.agents_ended.contains(share.agent)) continue;
    request.held.push_back({.agent = share.agent, .slots = share.slots});
    if (const auto agent = agents_.find(share.agent); agent != agents_.end())
      request.label = agent->second.label;
  }
  return request;
}

// What runs belongs to the pool of the agents that it runs on, whatever its experiment says by now.
std::string Cluster::pool_where(const Allocation& allocation) const {
  if (!allocation.record.shares.empty())
    if (const auto agent = agents_.find(allocation.record.shares.front().agent); agent != agents_.end())
      return agent->second.resource_pool;
  return pool_of(job_of(allocation));
}

/// Puts what has changed into the views of the pools. What changes for all of a job or an agent is found in
/// them, and so costs no more than they have allocations.
void Cluster::refresh() {
  auto allocations = allocations_.take_changed();
  refresh_jobs(allocations);
  auto agents = agents_.take_changed();
  for (const auto& id : agents) {
    const auto found = agents_.find(id);
    planner_.put_allotment(id, found == agents_.end() ? "" : found->second.allotment);
    const bool news = found == agents_.end()
                          ? planner_.remove_standing(id)
                          : planner_.put_standing(id, found->second.resource_pool, found->second.label);
    if (!news) continue;
    const auto& held = planner_.allocations_on(id);
    allocations.insert(held.begin(), held.end());
  }
  for (const auto& id : allocations) {
    if (const auto* view = planner_.allocation(id)) agents.insert(view->agents.begin(), view->agents.end());
    refresh_allocation(id);
    if (const auto* view = planner_.allocation(id)) agents.insert(view->agents.begin(), view->agents.end());
  }
  for (const auto& id : agents) refresh_agent(id);
}

/// Adds the allocations of jobs that say something else now.
void Cluster::refresh_jobs(std::set<std::string>& allocations) {
  const auto look_at = [&](const Job& job, bool exists) {
    if (!exists) {
      planner_.remove_job(job);
    } else if (planner_.put_job(job, pool_of(job), terms_of(job))) {
      const auto& all = planner_.allocations_of(job);
      allocations.insert(all.begin(), all.end());
    }
  };
  for (const auto id : experiments_.take_changed()) look_at(id, experiments_.contains(id));
  for (const auto& id : tasks_.take_changed()) look_at(Job(id), tasks_.contains(id));
}

void Cluster::refresh_allocation(const std::string& id) {
  const auto* allocation = this->allocation(id);
  if (allocation == nullptr) return planner_.remove_allocation(id);
  AllocationView view{
      .job = job_of(*allocation), .pool = pool_where(*allocation), .idle = allocation->idle()};
  for (const auto& share : allocation->record.shares) view.agents.push_back(share.agent);
  planner_.put_allocation(id, std::move(view),
                          allocation->idle() ? scheduler::Request{} : request_of(*allocation));
}

void Cluster::refresh_agent(const std::string& id) {
  const auto found = agents_.find(id);
  if (found == agents_.end() || !found->second.connected) return planner_.remove_agent(id);
  const auto& agent = found->second;
  scheduler::Agent entry{.id = id, .label = agent.label, .attributes = agent.attributes};
  entry.enabled = agent.enabled;
  entry.draining = agent.draining || agent.silent || agent.leaving;
  if (const auto* allotment = this->allotment(agent.allotment)) {
    entry.reserved_for = allotment->task;
    if (const auto& limits = pool(agent.resource_pool).elastic)
      entry.until = elastic::closes_at(*limits, *allotment);
  }
  entry.zero_slot_max = pool(agent.resource_pool).zero_slot_max;
  for (const auto& slot : agent.slots)
    entry.slots.push_back({.id = slot.id, .enabled = !agent.disabled_slots.contains(slot.id)});
  for (const auto& held : planner_.allocations_on(id)) {
    const auto& allocation = allocations_.at(held);
    if (!allocation.uses(id)) continue;
    for (const auto& share : allocation.record.shares) {
      if (share.agent != id) continue;
      if (share.slots.empty()) ++entry.zero_slot_running;
      for (auto& slot : entry.slots)
        if (std::ranges::find(share.slots, slot.id) != share.slots.end()) slot.used = true;
    }
  }
  planner_.put_agent(agent.resource_pool, std::move(entry));
}

}  // namespace det::cluster
