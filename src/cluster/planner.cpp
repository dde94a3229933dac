#include "det/cluster/planner.h"

#include <algorithm>
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
  if (const auto freed = view.being_freed.find(allocation); freed != view.being_freed.end())
    return &freed->second;
  const auto place = view.whys[found->second.place];
  return place == 0 ? nullptr : &view.waiting[place - 1].why;
}

std::string Planner::behind(const std::string& allocation) const {
  const auto* why = this->why(allocation);
  if (why == nullptr || why->slots == 0 || !why->in_line()) return "";
  const auto& own = allocations_.at(allocation);
  const auto& view = pools_.at(own.pool);
  if (view.being_freed.contains(allocation)) return "";
  const auto first = view.first_in_line.find(view.requests[own.place].label);
  return first == view.first_in_line.end() || first->second == allocation ? "" : first->second;
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
  if (!fresh && old.pool == view.pool && !old.idle && !view.idle) {
    auto& pool = pools_.at(view.pool);
    auto& kept = pool.requests[old.place];
    if (!(kept == request)) {
      pool.stale = true;
      pool.labelled += (request.label.empty() ? 0 : 1);
      pool.labelled -= (kept.label.empty() ? 0 : 1);
      kept = std::move(request);
    }
    view.place = old.place;
  } else {
    if (!fresh) remove_request(id, old);
    auto& pool = pools_[view.pool];
    pool.stale = true;  // also by what is idle: the last plan's placements may wait for it
    if (view.idle) {
      idle_.insert(id);
    } else {
      view.place = pool.requests.size();
      pool.labelled += (request.label.empty() ? 0 : 1);
      pool.requests.push_back(std::move(request));
      pool.whys.push_back(0);
    }
  }
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

/// The last request takes its place.
void Planner::remove_request(const std::string& id, const AllocationView& view) {
  auto& pool = pools_.at(view.pool);
  pool.stale = true;
  if (view.idle) {
    idle_.erase(id);
    return;
  }
  auto& removed = pool.requests[view.place];
  pool.labelled -= (removed.label.empty() ? 0 : 1);
  if (view.place + 1 < pool.requests.size()) {
    removed = std::move(pool.requests.back());
    pool.whys[view.place] = pool.whys.back();
    allocations_.at(removed.allocation_id).place = view.place;
  }
  pool.requests.pop_back();
  pool.whys.pop_back();
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
  if (const auto known = agent_pools_.find(agent.id); known != agent_pools_.end() && known->second != pool)
    remove_agent(agent.id);
  auto& view = pools_[pool];
  const auto at = std::ranges::lower_bound(view.agents, agent.id, {}, &scheduler::Agent::id);
  if (at != view.agents.end() && at->id == agent.id) {
    if (*at == agent) return;
    *at = std::move(agent);
  } else {
    agent_pools_[agent.id] = pool;
    view.agents.insert(at, std::move(agent));
  }
  view.stale = true;
}

void Planner::remove_agent(const std::string& id) {
  const auto known = agent_pools_.find(id);
  if (known == agent_pools_.end()) return;
  auto& view = pools_.at(known->second);
  view.agents.erase(std::ranges::lower_bound(view.agents, id, {}, &scheduler::Agent::id));
  view.stale = true;
  agent_pools_.erase(known);
}

void Planner::all_stale() {
  for (auto& [name, pool] : pools_) pool.stale = true;
}

void Planner::planned(const std::string& name, std::vector<scheduler::Plan::Waiting> waiting) {
  auto& pool = pools_.at(name);
  pool.stale = false;
  ++pool.plans;
  pool.waiting = std::move(waiting);
  pool.being_freed.clear();
  pool.first_in_line.clear();
  std::ranges::fill(pool.whys, 0);
  for (std::size_t at = 0; at < pool.waiting.size(); ++at) {
    const auto& [request, why] = pool.waiting[at];
    pool.whys[request] = static_cast<std::uint32_t>(at + 1);
    // Without labels there is one line: its first is known soon, and nothing more is looked up.
    if ((pool.labelled == 0 && !pool.first_in_line.empty()) || why.slots == 0 || !why.in_line()) continue;
    pool.first_in_line.try_emplace(pool.requests[request].label, pool.requests[request].allocation_id);
  }
}

void Planner::being_freed(const std::string& allocation, const scheduler::Why& why) {
  pools_.at(allocations_.at(allocation).pool).being_freed.insert_or_assign(allocation, why);
}

}  // namespace det::cluster
