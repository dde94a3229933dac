#include "det/cluster/planner.h"

#include <utility>

namespace det::cluster {

namespace {

const std::set<std::string> kNone;

template <class Map, class Key>
const std::set<std::string>& set_in(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? kNone : found->second;
}

}  // namespace

const PoolView& Planner::pool(const std::string& name) const {
  static const PoolView kEmpty;
  const auto found = pools_.find(name);
  return found == pools_.end() ? kEmpty : found->second;
}

const std::set<std::string>& Planner::allocations_on(const std::string& agent) const {
  return set_in(on_agents_, agent);
}

const std::set<std::string>& Planner::allocations_of(const Job& job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? kNone : found->second.allocations;
}

const AllocationView* Planner::allocation(const std::string& id) const {
  const auto found = allocations_.find(id);
  return found == allocations_.end() ? nullptr : &found->second;
}

const scheduler::Why* Planner::why(const std::string& allocation) const {
  const auto found = allocations_.find(allocation);
  if (found == allocations_.end() || found->second.idle) return nullptr;
  const auto& view = pools_.at(found->second.pool);
  const auto freed = view.being_freed.find(allocation);
  return freed != view.being_freed.end() ? &freed->second : view.state.why(allocation);
}

std::string Planner::behind(const std::string& allocation) const {
  const auto* why = this->why(allocation);
  if (why == nullptr || why->slots == 0 || !why->in_line()) return "";
  const auto& view = pools_.at(allocations_.at(allocation).pool);
  if (view.being_freed.contains(allocation)) return "";
  auto first = view.state.first_in_line(view.state.request(allocation)->label);
  return first == allocation ? "" : first;
}

bool Planner::put_job(const Job& job, const std::string& pool, const scheduler::Request& terms) {
  auto& view = jobs_[job];
  if (view.pool == pool && view.terms == terms) return false;
  view.pool = pool;
  view.terms = terms;
  return true;
}

void Planner::remove_job(const Job& job) {
  jobs_.erase(job);
}

void Planner::put_allocation(const std::string& id, AllocationView view, scheduler::Request request) {
  const auto [found, fresh] = allocations_.try_emplace(id, view);
  auto& old = found->second;
  const bool stays = !fresh && old.pool == view.pool && !old.idle && !view.idle;
  if (!fresh && !stays) remove_request(id, old);
  auto& pool = pools_[view.pool];
  if (view.idle) idle_.insert(id);
  const bool news = !view.idle && pool.state.put_request(std::move(request));
  if (news || !stays) pool.stale = true;  // also by what is idle: the last plan's placements may wait for it
  if (fresh) jobs_[view.job].allocations.insert(id);
  if (fresh || old.agents != view.agents) {
    for (const auto& agent : old.agents)
      if (const auto on = on_agents_.find(agent); on != on_agents_.end()) on->second.erase(id);
    for (const auto& agent : view.agents) on_agents_[agent].insert(id);
  }
  old = std::move(view);
}

void Planner::remove_allocation(const std::string& id) {
  const auto found = allocations_.find(id);
  if (found == allocations_.end()) return;
  remove_request(id, found->second);
  if (const auto job = jobs_.find(found->second.job); job != jobs_.end()) job->second.allocations.erase(id);
  for (const auto& agent : found->second.agents)
    if (const auto on = on_agents_.find(agent); on != on_agents_.end()) {
      on->second.erase(id);
      if (on->second.empty()) on_agents_.erase(on);
    }
  allocations_.erase(found);
}

void Planner::remove_request(const std::string& id, const AllocationView& view) {
  auto& pool = pools_.at(view.pool);
  pool.stale = true;
  if (view.idle)
    idle_.erase(id);
  else
    pool.state.remove_request(id);
}

bool Planner::put_standing(const std::string& agent, const std::string& pool, const std::string& label) {
  Standing standing{.pool = pool, .label = label};
  auto& known = standings_[agent];
  return std::exchange(known, standing) != standing;
}

bool Planner::remove_standing(const std::string& agent) {
  return standings_.erase(agent) > 0;
}

void Planner::put_allotment(const std::string& agent, const std::string& allotment) {
  const auto known = allotments_.find(agent);
  if (known == allotments_.end() ? allotment.empty() : known->second == allotment) return;
  if (known != allotments_.end()) {
    const auto old = of_allotments_.find(known->second);
    old->second.erase(agent);
    if (old->second.empty()) of_allotments_.erase(old);
    allotments_.erase(known);
  }
  if (allotment.empty()) return;
  allotments_.emplace(agent, allotment);
  of_allotments_[allotment].insert(agent);
}

const std::set<std::string>& Planner::agents_of(const std::string& allotment) const {
  return set_in(of_allotments_, allotment);
}

void Planner::put_agent(const std::string& pool, scheduler::Agent agent) {
  const auto [known, is_new] = agent_pools_.try_emplace(agent.id, pool);
  if (!is_new && known->second != pool) {
    remove_agent(agent.id);
    agent_pools_.emplace(agent.id, pool);
  }
  auto& view = pools_[pool];
  if (view.state.put_agent(std::move(agent))) view.stale = true;
}

void Planner::remove_agent(const std::string& id) {
  const auto known = agent_pools_.find(id);
  if (known == agent_pools_.end()) return;
  auto& view = pools_.at(known->second);
  view.state.remove_agent(id);
  view.stale = true;
  agent_pools_.erase(known);
}

void Planner::all_stale() {
  for (auto& [name, pool] : pools_) pool.stale = true;
}

scheduler::Plan Planner::plan(const std::string& name, const scheduler::Options& options) {
  auto& pool = pools_.at(name);
  pool.stale = false;
  ++pool.plans;
  pool.being_freed.clear();
  return pool.state.plan(options);
}

void Planner::being_freed(const std::string& allocation, const scheduler::Why& why) {
  pools_.at(allocations_.at(allocation).pool).being_freed.insert_or_assign(allocation, why);
}

}  // namespace det::cluster
