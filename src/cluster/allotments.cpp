// Machines that engines give: what the pools ask for, what the engines answer, and what follows for agents.

#include <algorithm>
#include <utility>

#include "det/cluster/cluster.h"
#include "det/cluster/step.h"

namespace det::cluster {

using elastic::Allotment;
using State = elastic::State;

namespace {

/// Whether another machine could help a request that waits for this reason.
bool wants_machines(const scheduler::Why& why) {
  using Reason = scheduler::Why::Reason;
  switch (why.reason) {
    case Reason::NegativeSlots:
    case Reason::NoAgentsLabelled:  // pilots have neither labels nor attributes
    case Reason::NoAgentsLike:
    case Reason::AboveGroupMax:
    case Reason::GroupMaxInUse:
    case Reason::BeingFreed: return false;
    default: return true;
  }
}

/// Why an allotment was of no use to trials from its beginning; empty: it was of some.
std::string why_useless(const PoolSettings& settings, const Allotment& allotment) {
  if (!settings.elastic || !allotment.granted) return "";
  const auto leaves = elastic::leaves_at(*settings.elastic, allotment);
  if (!leaves || *leaves > *allotment.granted) return "";
  return fmt::format(
      "it would have ended {} s after its start, and trials leave {} s before the end (grace_period)",
      (*allotment.ends - *allotment.granted + kSecond / 2) / kSecond, settings.elastic->grace_period);
}

const char* nodes(int count) {
  return count == 1 ? "node" : "nodes";
}

}  // namespace

const Allotment* Cluster::allotment(const std::string& id) const {
  const auto found = allotments_.find(id);
  return found == allotments_.end() ? nullptr : &found->second;
}

std::string Cluster::failure_key(const std::string& pool, const std::string& owner) {
  return owner.empty() ? pool : pool + "\n" + owner;
}

elastic::Failures Cluster::failures(const std::string& pool) const {
  elastic::Failures most;
  if (const auto found = failures_.find(pool); found != failures_.end()) most = found->second;
  const auto prefix = pool + "\n";
  for (auto at = failures_.lower_bound(prefix); at != failures_.end() && at->first.starts_with(prefix); ++at)
    if (at->second.count > most.count) most = at->second;
  return most;
}

std::vector<std::string> Cluster::agents_of(const std::string& allotment) {
  refresh();
  const auto& ids = planner_.agents_of(allotment);
  return {ids.begin(), ids.end()};
}

elastic::Demand Cluster::demand_of(const scheduler::Request& request, const PoolSettings& settings) const {
  elastic::Demand demand{
      .slots = request.slots, .single_node = request.single_agent, .blocked_agents = request.blocked_agents};
  if (request.slots_max) demand.group = request.group, demand.group_room = request.slots_max;
  if (!per_task(settings)) return demand;
  demand.task = request.reservation;
  if (const auto* allocation = this->allocation(request.allocation_id))
    demand.owner = std::to_string(owner_of(job_of(*allocation)).value());
  return demand;
}

/// Those that run, where the decision depends on them.
void Cluster::add_running(const PoolSettings& settings, elastic::Pool& pool) const {
  std::map<std::string, int> used;  // slots, by group
  for (const auto& request : planner_.pool(settings.name).state.requests()) {
    if (per_task(settings)) pool.tasks.insert(request.reservation);
    if (!request.running) continue;
    if (request.slots_max) used[request.group] += request.slots;
    std::set<std::string> on;
    for (const auto& share : request.held)
      if (const auto agent = agents_.find(share.agent); agent != agents_.end())
        if (const auto* allotment = this->allotment(agent->second.allotment);
            allotment != nullptr && (allotment->ends || per_task(settings)))
          on.insert(allotment->id);
    if (on.empty() && !per_task(settings)) continue;
    auto demand = demand_of(request, settings);
    const auto& allocation = allocations_.at(request.allocation_id);
    demand.on = std::move(on);
    demand.goes_on =
        !allocation.kill &&
        (allocation.of_trial()
             ? experiments_.at(allocation.record.experiment_id).record().state == experiment::State::Active
             : tasks_.at(allocation.record.task_id).can_yield());
    pool.running.push_back(std::move(demand));
  }
  for (auto& demand : pool.demands)
    if (demand.group_room) *demand.group_room = std::max(0, *demand.group_room - used[demand.group]);
}

elastic::Pool Cluster::elastic_pool(const PoolSettings& settings) const {
  elastic::Pool pool{.limits = *settings.elastic,
                     .in_order = settings.policy == scheduler::Policy::Fifo,
                     .failures = failures(settings.name)};
  const auto prefix = settings.name + "\n";
  for (auto at = failures_.lower_bound(prefix); at != failures_.end() && at->first.starts_with(prefix); ++at)
    pool.owner_failures.emplace(at->first.substr(prefix.size()), at->second);
  if (const auto waits = waits_.find(settings.name); waits != waits_.end()) pool.waits = waits->second;
  for (const auto& [id, allotment] : allotments_)
    if (allotment.pool == settings.name) pool.allotments.push_back(allotment);
  const auto& state = planner_.pool(settings.name).state;
  const auto& requests = state.requests();
  for (const auto& waiting : state.waiting()) {
    if (waiting.request >= requests.size() || !wants_machines(waiting.why)) continue;
    const auto& request = requests[waiting.request];  // the plan may be of an earlier moment
    if (!request.running && request.label.empty() && request.attributes.empty())
      pool.demands.push_back(demand_of(request, settings));
  }
  add_running(settings, pool);
  for (const auto& [id, agent] : agents_) {
    if (agent.allotment.empty() || agent.resource_pool != settings.name) continue;
    if (!agent.connected) {
      ++pool.lost[agent.allotment];
      continue;
    }
    elastic::Node node{
        .agent = id, .allotment = agent.allotment, .slots = static_cast<int>(agent.slots.size())};
    const auto& held = planner_.allocations_on(id);
    const bool used = std::ranges::any_of(
        held, [&](const std::string& allocation) { return allocations_.at(allocation).uses(id); });
    if (!used && !agent.silent) node.idle_since = agent.last_used;
    if (const auto* entry = state.agent(id); entry != nullptr && entry->enabled && !entry->draining)
      node.free = static_cast<int>(
          std::ranges::count_if(entry->slots, [](const auto& slot) { return slot.enabled && !slot.used; }));
    pool.nodes.push_back(std::move(node));
  }
  return pool;
}

void Cluster::due_of_pools(Time now, std::vector<Event>& events) const {
  std::set<std::string> elastic;
  for (const auto& settings : pools_.pools) {
    if (!settings.elastic) continue;
    elastic.insert(settings.name);
    const auto decision = elastic::decide(elastic_pool(settings), now);
    for (const auto& release : decision.releases)
      events.push_back(AllotmentReleased{release.allotment, release.why});
    for (const auto& id : decision.leaving) events.push_back(AllotmentLeaving{id});
    for (const auto& request : decision.requests)
      events.push_back(AllotmentRequested{settings.name, request.nodes, request.task, request.owner});
  }
  for (const auto& [id, allotment] : allotments_)
    if (allotment.state != State::Releasing && !elastic.contains(allotment.pool))
      events.push_back(AllotmentReleased{id, "the pool has no provider any more"});
}

// ---- what is decided -------------------------------------------------------

Outcome Cluster::on(const AllotmentRequested& event, Step& step) {
  const auto id = std::to_string(next_allotment_++);
  Allotment allotment{.id = id, .pool = event.pool, .nodes = event.nodes, .requested = step.now};
  allotment.task = event.task;
  allotment.owner = event.owner;
  allotments_.emplace(id, std::move(allotment));
  step.effects.push_back(WakeProvider{event.pool});
  return {};
}

Outcome Cluster::on(const AllotmentReleased& event, Step& step) {
  const auto found = allotments_.find(event.id);
  if (found == allotments_.end() || found->second.state == State::Releasing) return {};
  found->second.state = State::Releasing;
  found->second.why_released = event.why;
  for (const auto& agent : agents_of(event.id)) agent_leaves(agent, event.why, step);
  step.effects.push_back(WakeProvider{found->second.pool});
  return {};
}

Outcome Cluster::on(const AllotmentLeaving& event, Step& step) {
  const auto found = allotments_.find(event.id);
  if (found == allotments_.end() || found->second.leaving) return {};
  found->second.leaving = true;
  for (const auto& agent : agents_of(event.id)) agent_leaves(agent, "its time limit is near", step);
  return {};
}

Outcome Cluster::on(const AgentLeaving& event, Step& step) {
  const auto found = agents_.find(event.agent);
  if (found == agents_.end() || !found->second.connected) return {};
  if (const auto allotment = allotments_.find(found->second.allotment); allotment != allotments_.end())
    allotment->second.leaving = true;
  agent_leaves(event.agent, event.why, step);
  return {};
}

void Cluster::agent_leaves(const std::string& id, const std::string& why, Step& step) {
  refresh();
  auto& agent = *agents_.change(id);
  if (agent.leaving) return;
  agent.leaving = true;
  step.place = true;
  for (const auto& held : planner_.allocations_on(id)) {
    const auto& allocation = allocations_.at(held);
    if (allocation.uses(id) && allocation.of_trial())
      step.effects.push_back(LogNote{
          allocation.record.task_id, held,
          fmt::format("agent {} leaves: {}; the trial saves a checkpoint and continues elsewhere", id, why)});
  }
  clear_agent(id, std::nullopt, false, fmt::format("agent {} leaves: {}", id, why), step);
}

// ---- what engines say ------------------------------------------------------

/// The machines are gone, and their agents with them: nobody comes back under these names.
void Cluster::lose_agents_of(const std::string& allotment, const std::string& why, Step& step) {
  for (const auto& agent : agents_of(allotment)) {
    lose_agent(agent, fmt::format("agent {} was lost: {}", agent, why), step);
    agents_.take(agent);
  }
}

Outcome Cluster::on(const AllotmentReported& event, Step& step) {
  const auto found = allotments_.find(event.id);
  if (found == allotments_.end()) return {};
  auto& allotment = found->second;
  allotment.engine_id = event.engine_id;
  allotment.reason = event.reason;
  const auto end_before = std::exchange(allotment.ends, event.ends);
  if (event.running) {
    if (!allotment.granted) allotment.granted = step.now;
    if (allotment.state < State::Running) allotment.state = State::Running;
  } else if (allotment.state != State::Releasing) {
    if (allotment.state == State::Running) {  // back in the queue, and what it ran is gone
      lose_agents_of(event.id, event.reason, step);
      allotment.claims.clear();
      allotment.joined = allotment.leaving = false;
      allotment.granted.reset();
      allotment.requested = step.now;  // it waits anew
    }
    allotment.state = State::Pending;
  }
  if (end_before != allotment.ends)
    for (const auto& agent : agents_of(event.id)) agents_.change(agent);  // they may take work until then
  return {};
}

Outcome Cluster::on(const AllotmentEnded& event, Step& step) {
  const auto found = allotments_.find(event.id);
  if (found == allotments_.end()) return {};
  auto allotment = found->second;
  lose_agents_of(event.id, event.why, step);
  allotments_.erase(event.id);
  // What ends within a minute, unasked, is no machine to count on.
  const bool short_lived = !allotment.granted || step.now - *allotment.granted < 60 * kSecond;
  const bool gives_up = allotment.state == State::Releasing && !allotment.joined && allotment.granted;
  const auto useless = why_useless(pool(allotment.pool), allotment);
  if ((allotment.state != State::Releasing && !allotment.leaving && short_lived) || gives_up ||
      !useless.empty()) {
    auto& failures = failures_[failure_key(allotment.pool, allotment.owner)];
    ++failures.count;
    failures.last = step.now;
    failures.why = !useless.empty() ? useless : gives_up ? allotment.why_released : event.why;
  }
  step.place = true;
  return {};
}

Outcome Cluster::on(const AllotmentClaimed& event, Step&) {
  const auto found = allotments_.find(event.id);
  if (found == allotments_.end() || found->second.state == State::Releasing)
    return refuse(Error(ErrorCode::Gone, fmt::format("allotment {} is over", event.id)));
  auto& allotment = found->second;
  if (event.node < 0 || event.node >= allotment.nodes)
    return refuse(
        Error(ErrorCode::InvalidArgument, fmt::format("allotment {} has {} nodes; there is no node {}",
                                                      event.id, allotment.nodes, event.node)));
  const auto [claim, fresh] = allotment.claims.emplace(event.node, event.secret);
  if (!fresh && claim->second != event.secret)
    return refuse(Error(
        ErrorCode::PermissionDenied,
        fmt::format("the token of allotment {} has already been used for node {}", event.id, event.node)));
  return {};
}

// ---- in words --------------------------------------------------------------

std::string Cluster::machines_awaited(const std::string& pool, const std::string& task) const {
  const auto& settings = this->pool(pool);
  std::map<std::string, int> joined;  // also those that were lost since
  for (const auto& [id, agent] : agents_)
    if (!agent.allotment.empty()) ++joined[agent.allotment];
  int count = 0, others = 0;
  std::string reason;
  for (const auto& [id, allotment] : allotments_) {
    if (allotment.pool != pool || allotment.state == State::Releasing) continue;
    if (!task.empty() && allotment.task != task) continue;
    const int missing = allotment.nodes - joined[id];
    if (missing <= 0) continue;
    count += missing;
    if (reason.empty())
      reason = allotment.reason;
    else
      ++others;
  }
  if (count == 0) return "";
  if (others > 0 && !reason.empty()) reason += fmt::format("; and {} more", others);
  return fmt::format("{} {} of {}{}", count, nodes(count), settings.provider,
                     reason.empty() ? "" : " (" + reason + ")");
}

bool Cluster::could_fit_elastically(const std::string& id) const {
  const auto* allocation = this->allocation(id);
  if (allocation == nullptr) return false;
  const auto& settings = pool(pool_where(*allocation));
  const auto request = request_of(*allocation);
  return settings.elastic && request.label.empty() && request.attributes.empty() &&
         elastic::can_fit(*settings.elastic, demand_of(request, settings));
}

std::string Cluster::waiting_reason(const std::string& id) const {
  const auto* why = planner_.why(id);
  if (why == nullptr) return "";
  const auto name = pool_where(*allocation(id));
  const auto& settings = pool(name);
  if (!settings.elastic || !wants_machines(*why)) return scheduler::text(*why);
  const auto& limits = *settings.elastic;
  if (!could_fit_elastically(id))
    return fmt::format(
        "needs {} slots; the pool has at most {} {} of {} slots each, which larger requests use whole",
        why->slots, limits.max_nodes, nodes(limits.max_nodes), limits.slots_per_node);
  const auto own = per_task(settings);
  const auto& record = allocation(id)->record;
  const auto failed =
      failures_.find(failure_key(name, own ? std::to_string(owner_of(job_of(*allocation(id))).value()) : ""));
  const auto trouble =
      failed == failures_.end() ? "" : fmt::format("; the last request failed: {}", failed->second.why);
  if (const auto awaited = machines_awaited(name, own ? record.task_id : ""); !awaited.empty())
    return fmt::format("waits for {}{}", awaited, trouble);
  int count = 0;
  for (const auto& [_, allotment] : allotments_) count += allotment.pool == name ? allotment.nodes : 0;
  if (count >= limits.max_nodes)
    return fmt::format("{}; the pool has {} of at most {} {}", scheduler::text(*why), count, limits.max_nodes,
                       nodes(limits.max_nodes));
  return fmt::format("waits for nodes of {}{}", settings.provider, trouble);
}

bool Cluster::can_never_run(const std::string& id) const {
  const auto* why = planner_.why(id);
  if (why == nullptr || !why->never()) return false;
  return !wants_machines(*why) || !could_fit_elastically(id);
}

}  // namespace det::cluster
