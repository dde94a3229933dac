// The queues of resource pools: who waits, why, and the order.

#include <algorithm>

#include "det/master/experiments/experiment_actions.h"
#include "det/master/experiments/experiment_patch.h"
#include "det/master/objects.h"
#include "det/master/policies/policy_book.h"
#include "det/master/pools/pool_bindings.h"
#include "det/master/queue/job_rules.h"
#include "det/master/rights/rights.h"
#include "det/master/workspaces/workspaces.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct Job {
  JobSummary summary;
  std::string type = "TYPE_EXPERIMENT";
  Time submission_time;
  std::string username;
  UserId user_id;
  std::string resource_pool;
  bool is_preemptible = true;
  std::optional<std::int32_t> priority;  ///< null where the pool shares by weight
  double weight = 1;
  std::string entity_id, job_id, name;
  std::int32_t requested_slots = 0, allocated_slots = 0;
  double progress = 0;
  std::int32_t workspace_id = 1;
  std::string waiting_reason;  ///< ours: of the first of its trials that waits
};
BOOST_DESCRIBE_STRUCT(Job, (),
                      (summary, type, submission_time, username, user_id, resource_pool, is_preemptible,
                       priority, weight, entity_id, job_id, name, requested_slots, allocated_slots, progress,
                       workspace_id, waiting_reason))
struct JobEntry {
  Job full;
};
BOOST_DESCRIBE_STRUCT(JobEntry, (), (full))
struct JobsQuery {
  std::string resource_pool, order_by;
  std::vector<std::string> states;
  std::int32_t offset = 0, limit = 0;
};
BOOST_DESCRIBE_STRUCT(JobsQuery, (), (resource_pool, order_by, states, offset, limit))
struct JobsReply {
  std::vector<JobEntry> jobs;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(JobsReply, (), (jobs, pagination))
struct OldJobsReply {
  std::vector<Job> jobs;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(OldJobsReply, (), (jobs, pagination))

struct StatsQuery {
  std::vector<std::string> resource_pools;
};
BOOST_DESCRIBE_STRUCT(StatsQuery, (), (resource_pools))
struct PoolStats {
  std::string resource_pool;
  Stats stats;
};
BOOST_DESCRIBE_STRUCT(PoolStats, (), (resource_pool, stats))
struct StatsReply {
  std::vector<PoolStats> results;
};
BOOST_DESCRIBE_STRUCT(StatsReply, (), (results))

struct UpdateQueue {
  std::vector<QueueControl> updates;
};
BOOST_DESCRIBE_STRUCT(UpdateQueue, (), (updates))

struct WhyQuery {
  std::string job_id;
};
BOOST_DESCRIBE_STRUCT(WhyQuery, (), (job_id))
struct TrialWhy {
  TrialId trial_id;
  std::string allocation_id, state;
  std::int32_t slots = 0;
  std::vector<std::string> agents;  ///< that it runs on
  std::string reason;               ///< why it waits
  bool can_never_run = false;       ///< on the pool as it is
  std::string behind_job_id;        ///< of the job that is first in the line before it
};
BOOST_DESCRIBE_STRUCT(TrialWhy, (),
                      (trial_id, allocation_id, state, slots, agents, reason, can_never_run, behind_job_id))
struct WhyReply {
  Job job;
  std::string scheduler, explanation;
  std::vector<TrialWhy> trials;  ///< that hold slots, or wait for some; of another task: itself, as trial 0
};
BOOST_DESCRIBE_STRUCT(WhyReply, (), (job, scheduler, explanation, trials))

bool has_order(Services& s, const std::string& pool) {
  return policy_has_order(s.ledger.cluster().pool(pool).policy);
}

/// Allocations of the job that are not over.
std::vector<const cluster::Allocation*> allocations_of(Services& s, const cluster::Job& job) {
  const auto& cluster = s.ledger.cluster();
  std::vector<const cluster::Allocation*> all;
  const auto add = [&](const std::string& id) {
    if (const auto* allocation = cluster.allocation(id)) all.push_back(allocation);
  };
  if (!job.task.empty())
    add(cluster.task(job.task)->allocation());
  else
    for (const auto& [id, trial] : cluster.experiment(job.experiment)->trials()) add(trial.allocation);
  return all;
}

Job job_of(Services& s, const cluster::Job& of) {
  const auto& cluster = s.ledger.cluster();
  Job job{.user_id = cluster.owner_of(of),
          .resource_pool = cluster.pool_of(of),
          .priority = cluster.priority_of(of),
          .job_id = cluster.job_id_of(of)};
  if (!of.task.empty()) {
    static constexpr const char* kTypes[] = {"TYPE_COMMAND", "TYPE_SHELL", "TYPE_NOTEBOOK",
                                             "TYPE_TENSORBOARD", "TYPE_GENERIC"};
    const auto& record = cluster.task(of.task)->record();
    job.type = kTypes[static_cast<int>(record.type)];
    job.submission_time = record.start_time;
    job.is_preemptible = cluster.task(of.task)->can_yield();
    job.entity_id = record.id;
    job.name = record.description;
    job.workspace_id = static_cast<std::int32_t>(record.workspace_id);
  } else {
    const auto& experiment = *cluster.experiment(of.experiment);
    const auto& record = experiment.record();
    job.submission_time = record.start_time;
    job.weight = experiment.config().resources.weight;
    job.entity_id = std::to_string(record.id.value());
    job.name = record.name;
    job.progress = record.progress;
    if (const auto* project = s.workspaces.project(ProjectId(record.project_id)))
      job.workspace_id = static_cast<std::int32_t>(project->workspace.value());
  }
  if (const auto user = s.auth.users().find(job.user_id); user != s.auth.users().end())
    job.username = user->second.username;
  const auto allocations = allocations_of(s, of);
  const auto slots = job_slots(allocations, !of.task.empty());
  job.requested_slots = slots.requested;
  job.allocated_slots = slots.allocated;
  job.summary.state = job_state(slots.scheduled);
  for (const auto* allocation : allocations)
    if (job.waiting_reason.empty()) job.waiting_reason = cluster.waiting_reason(allocation->record.id);
  if (cluster.pool(job.resource_pool).policy == scheduler::Policy::FairShare) job.priority.reset();
  return job;
}

bool takes_part(Services& s, const cluster::Job& job) {
  const auto& cluster = s.ledger.cluster();
  if (!job.task.empty()) return is_in_queue(cluster.task(job.task)->record().state);
  return is_in_queue(cluster.experiment(job.experiment)->record().state, allocations_of(s, job).size());
}

/// Jobs that run or wait, in the order in which their queues serve them, a pool after the other.
std::vector<Job> jobs(Services& s, const std::string& only) {
  std::vector<Job> all;
  for (const auto& pool : s.ledger.cluster().resource_pools()) {
    if (!only.empty() && pool != only) continue;
    std::int32_t ahead = 0;
    for (const auto& job : s.ledger.cluster().queue(pool)) {
      if (!takes_part(s, job)) continue;
      all.push_back(job_of(s, job));
      all.back().summary.jobs_ahead = has_order(s, pool) ? ahead++ : -1;
    }
  }
  return all;
}

}  // namespace

std::optional<JobSummary> job_summary(Services& s, ExperimentId id) {
  const auto& cluster = s.ledger.cluster();
  if (cluster.experiment(id) == nullptr) return std::nullopt;
  const auto pool = cluster.pool_of(cluster::Job(id));
  std::int32_t ahead = 0;
  for (const auto& job : cluster.queue(pool)) {
    if (!takes_part(s, job)) continue;
    if (job == cluster::Job(id))
      return JobSummary{job_of(s, job).summary.state, has_order(s, pool) ? ahead : -1};
    ++ahead;
  }
  return std::nullopt;
}

namespace {

/// Whether the caller may see it in lists.
class Seen {
 public:
  Seen(Services& s, const std::any& principal)
      : experiments_(s, principal, access::Permission::ViewExperimentMetadata),
        tasks_(s, principal, access::Permission::ViewNsc) {}
  bool operator()(const Job& job) const {
    return job.type == "TYPE_EXPERIMENT" ? experiments_.workspace(job.workspace_id)
                                         : tasks_.workspace(job.workspace_id);
  }

 private:
  Sight experiments_, tasks_;
};

struct Page {
  std::vector<Job> jobs;
  api::Pagination pagination;
};
Result<Page> page(Services& s, const std::any& principal, const JobsQuery& q) {
  if (!q.resource_pool.empty() && !s.ledger.cluster().resource_pools().contains(q.resource_pool))
    return not_found("resource pool '{}' not found", q.resource_pool);
  auto all = jobs(s, q.resource_pool);
  const Seen seen(s, principal);
  std::erase_if(all, [&](const Job& job) { return !seen(job); });
  if (!q.states.empty())
    std::erase_if(all, [&](const Job& job) { return std::ranges::count(q.states, job.summary.state) == 0; });
  if (q.order_by == "ORDER_BY_DESC") std::reverse(all.begin(), all.end());
  const auto span = page_of(all.size(), q.offset, q.limit);
  return Page{{all.begin() + static_cast<std::ptrdiff_t>(span.begin),
               all.begin() + static_cast<std::ptrdiff_t>(span.end)},
              span.pagination};
}

/// By the job's id, the experiment's number, or the id of the task.
Result<cluster::Job> find_job(Services& s, const std::string& name) {
  const JobName named(name);
  for (const auto& [id, experiment] : s.ledger.cluster().experiments())
    if (!experiment.finished() && named.names(experiment.record())) return cluster::Job(id);
  for (const auto& [id, task] : s.ledger.cluster().tasks())
    if (named.names(task.record())) return cluster::Job(id);
  return not_found("job '{}' not found in any queue", name);
}

/// Whether policies let the job change like that; of a task that is no trial only the priority can.
Result<void> check_policies(Services& s, const cluster::Job& job, const experiment::Reconfiguration& change) {
  if (job.task.empty())
    return check_policies(s, ProjectId(s.ledger.cluster().experiment(job.experiment)->record().project_id),
                          change);
  if (!change.priority) return {};
  return check_policies(s, WorkspaceId(s.ledger.cluster().task(job.task)->record().workspace_id),
                        *change.priority);
}

/// What a move in the queue brings along: the priority of the job that it goes next to.
Result<void> check_move(Services& s, const cluster::Job& job, const cluster::Job& anchor) {
  const auto& cluster = s.ledger.cluster();
  const auto priority = priority_after_move(cluster.pool(cluster.pool_of(job)).policy,
                                            cluster.priority_of(job), cluster.priority_of(anchor));
  if (!priority) return {};
  return check_policies(s, job, {.priority = *priority});
}

Result<cluster::Event> to_event(Services& s, const QueueControl& update) {
  DET_TRY(const auto job, find_job(s, update.job_id));
  if (auto fine = check_one_change(update); !fine) return tl::unexpected(std::move(fine).error());
  if (update.ahead_of || update.behind_of) {
    DET_TRY(const auto anchor, find_job(s, update.ahead_of ? *update.ahead_of : *update.behind_of));
    if (auto fine = check_move(s, job, anchor); !fine) return tl::unexpected(std::move(fine).error());
    return move_event(job, anchor, update);
  }
  auto change = reconfiguration(update);
  if (auto fine = check_policies(s, job, change); !fine) return tl::unexpected(std::move(fine).error());
  if (change.resource_pool && job.task.empty())
    if (auto open =
            check_pool(s, ProjectId(s.ledger.cluster().experiment(job.experiment)->record().project_id),
                       *change.resource_pool);
        !open)
      return tl::unexpected(std::move(open).error());
  if (job.task.empty()) return change_event(job, std::move(change));
  return task_change_event(job, s.ledger.cluster().task(job.task)->record().type, update);
}

asio::awaitable<Result<Empty>> update(Services& s, Context context, UpdateQueue request) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  for (const auto& one : request.updates)  // what is plainly wrong, before anything is done
    if (const auto fine = to_event(s, one); !fine) co_return tl::unexpected(fine.error());
  for (const auto& one : request.updates) {
    const auto needed = needed_permissions(one);
    for (const auto& [id, permission] : needed) {
      const auto allowed = co_await may(s, context.principal, permission, Kind::Job, json::value(id));
      if (!allowed) co_return tl::unexpected(allowed.error());
    }
  }
  for (const auto& one : request.updates) {
    auto event = to_event(s, one);
    if (!event) co_return tl::unexpected(event.error());
    auto by = principal_name(context.principal);
    const auto done = co_await s.ledger.handle(*std::move(event), std::move(by));
    if (!done) co_return tl::unexpected(done.error());
  }
  co_return Empty{};
}

Result<WhyReply> why(Services& s, const std::string& name) {
  DET_TRY(const auto of, find_job(s, name));
  const auto& cluster = s.ledger.cluster();
  WhyReply reply;
  reply.job = job_of(s, of);  // what is paused is in no list
  reply.job.summary.jobs_ahead = -1;
  for (auto& job : jobs(s, cluster.pool_of(of)))
    if (job.job_id == cluster.job_id_of(of)) reply.job = std::move(job);
  reply.scheduler = cluster::policy_name(cluster.pool(reply.job.resource_pool).policy);
  std::size_t waiting = 0, running = 0;
  for (const auto* allocation : allocations_of(s, of)) {
    TrialWhy entry{.trial_id = allocation->record.trial_id,
                   .allocation_id = allocation->record.id,
                   .state = json::bd::enum_to_string(allocation->record.state, "?"),
                   .slots = allocation->slots,
                   .agents = {},
                   .reason = cluster.waiting_reason(allocation->record.id),
                   .can_never_run = cluster.can_never_run(allocation->record.id),
                   .behind_job_id = {}};
    for (const auto& share : allocation->record.shares) entry.agents.push_back(share.agent);
    if (const auto* before = cluster.allocation(cluster.behind(allocation->record.id)))
      entry.behind_job_id = cluster.job_id_of(cluster::Cluster::job_of(*before));
    ++(entry.agents.empty() ? waiting : running);
    reply.trials.push_back(std::move(entry));
  }
  const auto& reason = reply.job.waiting_reason;
  if (of.task.empty()) {
    const auto& record = cluster.experiment(of.experiment)->record();
    reply.explanation = explain_experiment(record.id, record.state, waiting, running, reason);
  } else {
    reply.explanation = explain_task(cluster.task(of.task)->record(), reason);
  }
  return reply;
}

}  // namespace

void add_job_routes(http::Router& router, Services& s) {
  const std::string tag = "Jobs";
  router.add<JobsQuery, JobsReply>(
      Verb::Get, "/api/v1/job-queues-v2",
      [&s](Context c, JobsQuery q) -> asio::awaitable<Result<JobsReply>> {
        auto found = page(s, c.principal, q);
        if (!found) co_return tl::unexpected(found.error());
        JobsReply reply{.jobs = {}, .pagination = found->pagination};
        for (auto& job : found->jobs) reply.jobs.push_back({std::move(job)});
        co_await s.ledger.durable();
        co_return reply;
      },
      Doc{.summary = "List the jobs in the queue of one resource pool or of all",
          .tag = tag,
          .errors = {ErrorCode::NotFound}});
  router.add<JobsQuery, OldJobsReply>(
      Verb::Get, "/api/v1/job-queues",
      [&s](Context c, JobsQuery q) -> asio::awaitable<Result<OldJobsReply>> {
        auto found = page(s, c.principal, q);
        if (!found) co_return tl::unexpected(found.error());
        OldJobsReply reply{.jobs = std::move(found->jobs), .pagination = found->pagination};
        co_await s.ledger.durable();
        co_return reply;
      },
      Doc{.summary = "List the jobs in the queue (for older clients)",
          .tag = tag,
          .errors = {ErrorCode::NotFound}});
  router.add<UpdateQueue, Empty>(
      Verb::Post, "/api/v1/job-queues",
      [&s](Context c, UpdateQueue r) { return update(s, std::move(c), std::move(r)); },
      Doc{.summary = "Change the order, priority, weight or resource pool of jobs, one after the other until "
                     "the first error",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition}});
  router.add<StatsQuery, StatsReply>(
      Verb::Get, "/api/v1/job-queues/stats",
      [&s](Context, StatsQuery q) -> asio::awaitable<Result<StatsReply>> {
        StatsReply reply;
        for (const auto& pool : s.ledger.cluster().resource_pools()) {
          if (!q.resource_pools.empty() && std::ranges::count(q.resource_pools, pool) == 0) continue;
          std::vector<std::string> states;
          for (const auto& job : jobs(s, pool)) states.push_back(job.summary.state);
          reply.results.push_back({.resource_pool = pool, .stats = count_jobs(states)});
        }
        co_await s.ledger.durable();
        co_return reply;
      },
      Doc{.summary = "Count the running and waiting jobs in each resource pool", .tag = tag});
  router.add<WhyQuery, WhyReply>(
      Verb::Get, "/api/v1/job-queues/{jobId}/why",
      [&s](Context, WhyQuery q) -> asio::awaitable<Result<WhyReply>> {
        auto reply = why(s, q.job_id);
        co_await s.ledger.durable();
        co_return reply;
      },
      Doc{.summary = "Explain why a job is waiting; give the id of the job, the experiment or the task",
          .tag = tag,
          .errors = {ErrorCode::NotFound}});
}

}  // namespace det::master
