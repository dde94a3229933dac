// Resource pools, and the order of their queues.

#include <algorithm>

#include "det/cluster/cluster.h"
#include "det/cluster/step.h"

namespace det::cluster {

const char* policy_name(scheduler::Policy policy) {
  switch (policy) {
    case scheduler::Policy::Fifo: return "fifo";
    case scheduler::Policy::RoundRobin: return "round_robin";
    case scheduler::Policy::FairShare: return "fair_share";
    case scheduler::Policy::Priority: return "priority";
  }
  return "fifo";
}

scheduler::Options scheduler_options(const PoolSettings& settings) {
  return {.policy = settings.policy,
          .fitting = {.fitting = settings.fitting, .heterogeneous = settings.heterogeneous_fits},
          .preemption = settings.preemption};
}

const PoolSettings& Cluster::pool(const std::string& name) const {
  static const PoolSettings kDefault;
  const auto found = std::ranges::find(pools_.pools, name, &PoolSettings::name);
  return found == pools_.pools.end() ? kDefault : *found;
}

std::set<std::string> Cluster::resource_pools() const {
  std::set<std::string> pools = {pools_.default_compute, pools_.default_aux};
  for (const auto& pool : pools_.pools) pools.insert(pool.name);
  for (const auto& [id, agent] : agents_) pools.insert(agent.resource_pool);
  return pools;
}

std::string Cluster::pool_for(const config::ExperimentConfig& config) const {
  if (!config.resources.resource_pool.empty()) return config.resources.resource_pool;
  return config.resources.slots_per_trial > 0 ? pools_.default_compute : pools_.default_aux;
}

std::string Cluster::pool_of(const experiment::Experiment& experiment) const {
  const auto& named = experiment.record().resource_pool;
  return named.empty() ? pool_for(experiment.config()) : named;
}

int Cluster::priority_of(const experiment::Experiment& experiment) const {
  return experiment.config().resources.priority.value_or(pool(pool_of(experiment)).default_priority);
}

std::int64_t Cluster::position_of(ExperimentId id) const {
  if (const auto moved = positions_.find(id); moved != positions_.end()) return moved->second;
  return experiments_.at(id).record().start_time.microseconds * scheduler::kPositionsPerMicrosecond;
}

std::vector<ExperimentId> Cluster::queue(const std::string& pool) const {
  const bool by_priority = this->pool(pool).policy == scheduler::Policy::Priority;
  std::vector<std::tuple<int, std::int64_t, Time, ExperimentId>> keys;
  for (const auto& [id, experiment] : experiments_)
    if (!experiment.finished() && pool_of(experiment) == pool)
      keys.emplace_back(by_priority ? priority_of(experiment) : 0, position_of(id),
                        experiment.record().start_time, id);
  std::ranges::sort(keys);
  std::vector<ExperimentId> ids;
  for (const auto& key : keys) ids.push_back(std::get<ExperimentId>(key));
  return ids;
}

Outcome Cluster::on(const JobMoved& event, Step& step) {
  for (const auto id : {event.id, event.anchor})
    if (const auto* found = live(id); found == nullptr || found->finished())
      return refuse(
          Error(ErrorCode::NotFound, fmt::format("job of experiment {} not found in any queue", id)));
  if (event.id == event.anchor) return {};
  auto& moved = *live(event.id);
  const auto& anchor = *live(event.anchor);
  const auto pool = pool_of(moved);
  const auto& settings = this->pool(pool);
  if (settings.policy != scheduler::Policy::Fifo && settings.policy != scheduler::Policy::Priority)
    return refuse(Error(ErrorCode::FailedPrecondition,
                        fmt::format("unable to perform operation on resource pool with {}: its queue has no "
                                    "order that could be changed",
                                    policy_name(settings.policy))));
  if (pool_of(anchor) != pool)
    return refuse(Error(
        ErrorCode::InvalidArgument,
        fmt::format("experiment {} is in resource pool '{}' and experiment {} in '{}'; they have no common "
                    "queue",
                    event.id, pool, event.anchor, pool_of(anchor))));
  if (settings.policy == scheduler::Policy::Priority && priority_of(moved) != priority_of(anchor)) {
    if (const auto done = moved.reconfigure({.priority = priority_of(anchor)}, step.context()); !done)
      return refuse(done.error());
    written_.erase(event.id);
    step.touched.insert(event.id);
  }
  auto order = queue(pool);
  std::erase_if(order, [&](ExperimentId id) {
    return id == event.id || (settings.policy == scheduler::Policy::Priority &&
                              priority_of(experiments_.at(id)) != priority_of(anchor));
  });
  auto at = std::ranges::find(order, event.anchor);
  if (!event.ahead) ++at;
  // Between its neighbours, or one step beyond the last of them.
  const auto anchor_position = position_of(event.anchor);
  const auto before = at == order.begin() ? anchor_position - 2 : position_of(*(at - 1));
  const auto after = at == order.end() ? anchor_position + 2 : position_of(*at);
  auto position = before + (after - before) / 2;
  if (position <= before) position = before + 1;
  positions_[event.id] = position;
  for (; at != order.end() && position_of(*at) <= position; ++at) positions_[*at] = ++position;
  step.place = true;
  return {};
}

// Trials that run elsewhere than their experiment says by now give way, and ask again where it says.
void Cluster::move_where_it_belongs(ExperimentId id, Step& step) {
  const auto& owner = *live(id);
  std::vector<std::string> astray;
  for (const auto& [allocation_id, allocation] : allocations_) {
    if (allocation.record.experiment_id != id || allocation.record.shares.empty()) continue;
    const auto agent = agents_.find(allocation.record.shares.front().agent);
    if (agent != agents_.end() && (agent->second.resource_pool != pool_of(owner) ||
                                   agent->second.label != owner.config().resources.agent_label))
      astray.push_back(allocation_id);
  }
  for (const auto& allocation_id : astray) preempt(allocation_id, step);
}

}  // namespace det::cluster
