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

int Cluster::priority_of(const task::Task& task) const {
  return task.record().priority.value_or(pool(task.record().resource_pool).default_priority);
}

// ---- jobs: experiments and other tasks alike --------------------------------

Job Cluster::job_of(const Allocation& allocation) {
  return allocation.of_trial() ? Job(allocation.record.experiment_id) : Job(allocation.record.task_id);
}

std::string Cluster::pool_of(const Job& job) const {
  return job.task.empty() ? pool_of(experiments_.at(job.experiment))
                          : tasks_.at(job.task).record().resource_pool;
}

int Cluster::priority_of(const Job& job) const {
  return job.task.empty() ? priority_of(experiments_.at(job.experiment)) : priority_of(tasks_.at(job.task));
}

UserId Cluster::owner_of(const Job& job) const {
  return job.task.empty() ? experiments_.at(job.experiment).record().owner
                          : tasks_.at(job.task).record().owner;
}

std::string Cluster::job_id_of(const Job& job) const {
  return job.task.empty() ? experiments_.at(job.experiment).record().job_id
                          : tasks_.at(job.task).record().job_id;
}

Time Cluster::submitted(const Job& job) const {
  return job.task.empty() ? experiments_.at(job.experiment).record().start_time
                          : tasks_.at(job.task).record().start_time;
}

std::int64_t Cluster::position_of(const Job& job) const {
  const auto usual = submitted(job).microseconds * scheduler::kPositionsPerMicrosecond;
  if (!job.task.empty()) return tasks_.at(job.task).position().value_or(usual);
  const auto moved = positions_.find(job.experiment);
  return moved == positions_.end() ? usual : moved->second;
}

void Cluster::set_position(const Job& job, std::int64_t position) {
  if (job.task.empty()) {
    positions_[job.experiment] = position;
    experiments_.change(job.experiment);
  } else {
    tasks_.change(job.task)->move_to(position);
  }
}

bool Cluster::in_queue(const Job& job) const {
  if (!job.task.empty()) return tasks_.contains(job.task);
  const auto* found = experiment(job.experiment);
  return found != nullptr && !found->finished();
}

std::vector<Job> Cluster::queue(const std::string& pool) const {
  const bool by_priority = this->pool(pool).policy == scheduler::Policy::Priority;
  std::vector<std::tuple<int, std::int64_t, Time, Job>> keys;
  const auto add = [&](const Job& job) {
    if (pool_of(job) == pool)
      keys.emplace_back(by_priority ? priority_of(job) : 0, position_of(job), submitted(job), job);
  };
  for (const auto& [id, experiment] : experiments_)
    if (!experiment.finished()) add(id);
  for (const auto& [id, task] : tasks_) add(Job(id));
  std::ranges::sort(keys);
  std::vector<Job> jobs;
  for (const auto& key : keys) jobs.push_back(std::get<Job>(key));
  return jobs;
}

namespace {
std::string words_of(const Job& job) {
  return job.task.empty() ? fmt::format("experiment {}", job.experiment) : fmt::format("task {}", job.task);
}
}  // namespace

Outcome Cluster::on(const JobMoved& event, Step& step) {
  const auto moved = event.task.empty() ? Job(event.id) : Job(event.task);
  const auto anchor = event.anchor_task.empty() ? Job(event.anchor) : Job(event.anchor_task);
  for (const auto& job : {moved, anchor})
    if (!in_queue(job))
      return refuse(
          Error(ErrorCode::NotFound, fmt::format("job of {} not found in any queue", words_of(job))));
  if (moved == anchor) return {};
  const auto pool = pool_of(moved);
  const auto& settings = this->pool(pool);
  if (settings.policy != scheduler::Policy::Fifo && settings.policy != scheduler::Policy::Priority)
    return refuse(
        Error(ErrorCode::FailedPrecondition,
              fmt::format("unable to perform operation on resource pool with {}: its queue cannot be "
                          "reordered",
                          policy_name(settings.policy))));
  if (pool_of(anchor) != pool)
    return refuse(Error(
        ErrorCode::InvalidArgument,
        fmt::format("{} is in resource pool '{}' and {} in '{}'; jobs can be reordered only within one pool",
                    words_of(moved), pool, words_of(anchor), pool_of(anchor))));
  const auto priority = priority_of(anchor);
  if (settings.policy == scheduler::Policy::Priority && priority_of(moved) != priority) {
    if (!moved.task.empty()) {
      tasks_.change(moved.task)->set_priority(priority);
      settle(moved.task, task::Wish::Nothing, step);
    } else {
      auto& experiment = *live(moved.experiment);
      if (const auto done = experiment.reconfigure({.priority = priority}, step.context()); !done)
        return refuse(done.error());
      written_.erase(moved.experiment);
      step.touched.insert(moved.experiment);
    }
  }
  auto order = queue(pool);
  std::erase_if(order, [&](const Job& job) {
    return job == moved || (settings.policy == scheduler::Policy::Priority && priority_of(job) != priority);
  });
  auto at = std::ranges::find(order, anchor);
  if (!event.ahead) ++at;
  // Between its neighbours, or one step beyond the last of them.
  const auto anchor_position = position_of(anchor);
  const auto before = at == order.begin() ? anchor_position - 2 : position_of(*(at - 1));
  const auto after = at == order.end() ? anchor_position + 2 : position_of(*at);
  auto position = before + (after - before) / 2;
  if (position <= before) position = before + 1;
  set_position(moved, position);
  for (; at != order.end() && position_of(*at) <= position; ++at) set_position(*at, ++position);
  step.place = true;
  return {};
}

// Trials that run elsewhere than their experiment says by now give way, and ask again where it says.
void Cluster::move_where_it_belongs(ExperimentId id, Step& step) {
  const auto& owner = *experiment(id);
  std::vector<std::string> astray;
  for (const auto& allocation_id : planner_.allocations_of(id)) {
    const auto& allocation = allocations_.at(allocation_id);
    if (allocation.record.shares.empty()) continue;
    const auto agent = agents_.find(allocation.record.shares.front().agent);
    if (agent != agents_.end() && (agent->second.resource_pool != pool_of(owner) ||
                                   agent->second.label != owner.config().resources.agent_label))
      astray.push_back(allocation_id);
  }
  for (const auto& allocation_id : astray) preempt(allocation_id, false, step);
}

}  // namespace det::cluster
