// When what waits in the queues will start, as far as anybody can tell.

#include "det/forecast/queue_forecast.h"
#include "det/master/queue/job_rules.h"
#include "det/master/rights/rights.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

constexpr std::chrono::seconds kLongest{5};
/// Of how many jobs of one pool the past is looked up; the others have no end in sight.
constexpr std::size_t kJobsMax = 500;
/// Among so many experiments with a similar name one with the same is looked for.
constexpr std::int32_t kSimilarMax = 20;

struct ForecastQuery {
  std::string resource_pool;
};
BOOST_DESCRIBE_STRUCT(ForecastQuery, (), (resource_pool))
struct JobForecast {
  std::string job_id, resource_pool;
  std::optional<double> start_seconds, end_seconds;  ///< from now; none: not in sight
  bool by_progress = false;                          ///< its own progress says how much it has still to do
  std::optional<ExperimentId> earlier_experiment;  ///< … or this one, with the same name, that has completed
};
BOOST_DESCRIBE_STRUCT(JobForecast, (),
                      (job_id, resource_pool, start_seconds, end_seconds, by_progress, earlier_experiment))
struct ForecastReply {
  std::vector<JobForecast> jobs;
};
BOOST_DESCRIBE_STRUCT(ForecastReply, (), (jobs))

/// A pool as it is now, and what of its jobs tells how much they have still to do.
struct Situation {
  std::string pool;
  forecast::QueueQuestion question;
  struct Job {
    std::string id;
    ExperimentId experiment;  ///< 0: a task, which ends when somebody ends it
    std::string name;
    std::int64_t project = 0, workspace = 0;
    double progress = 0;
    bool seen = false;  ///< by who asks
  };
  std::vector<Job> jobs;
};

Situation situation(Services& s, const std::any& principal, const std::string& pool) {
  const auto& cluster = s.ledger.cluster();
  const auto& state = cluster.planner().pool(pool).state;
  Situation now{.pool = pool, .question = {.agents = state.agents(), .requests = state.requests()}};
  now.question.options = scheduler_options(cluster.pool(pool));
  now.question.options.fitting.now = s.ledger.now();
  const Sight experiments(s, principal, access::Permission::ViewExperimentMetadata);
  const Sight tasks(s, principal, access::Permission::ViewNsc);
  for (const auto& of : cluster.queue(pool)) {
    Situation::Job job{.id = cluster.job_id_of(of), .experiment = of.experiment};
    if (!of.task.empty()) {
      job.seen = tasks.workspace(cluster.task(of.task)->record().workspace_id);
    } else {
      const auto& record = cluster.experiment(of.experiment)->record();
      job.name = record.name;
      job.project = record.project_id;
      job.progress = record.progress;
      if (const auto* project = s.workspaces.project(ProjectId(record.project_id)))
        job.seen = experiments.workspace(project->workspace.value());
    }
    now.jobs.push_back(std::move(job));
  }
  return now;
}

/// Slot-seconds that the trials of an experiment have used. Reads the store: on the pool.
double used(store::Store& store, ExperimentId id, Time now) {
  std::int64_t sum = 0;
  for (const auto& trial : store.trials(id))
    for (const auto& allocation : store.allocations(trial.task_id)) sum += slot_microseconds(allocation, now);
  return static_cast<double>(sum) / kSecond;
}

/// The last experiment of the project with the same name that has completed.
std::optional<ExperimentId> earlier(store::Store& store, const Situation::Job& job) {
  store::ExperimentQuery query{.states = {experiment::State::Completed}, .name = job.name};
  query.project_id = job.project;
  query.page = {.limit = kSimilarMax, .descending = true};
  for (const auto& summary : store.list_experiments(query).experiments)
    if (summary.name == job.name) return summary.id;
  return std::nullopt;
}

std::vector<JobForecast> foresee(store::Store& store, Situation now, Time at) {
  const auto until = std::chrono::steady_clock::now() + kLongest;
  const auto give_up = [until] { return std::chrono::steady_clock::now() > until; };
  std::map<std::string, JobForecast> known;
  std::map<ExperimentId, double> whole;  // that earlier ones have used
  for (std::size_t i = 0; i < std::min(now.jobs.size(), kJobsMax) && !give_up(); ++i) {
    const auto& job = now.jobs[i];
    if (job.experiment == ExperimentId(0)) continue;
    auto& found = known[job.id];
    if (const auto rest = work_by_progress(used(store, job.experiment, at), job.progress)) {
      found.by_progress = true;
      now.question.work[job.id] = *rest;
    } else if (const auto before = earlier(store, job)) {
      found.earlier_experiment = before;
      const auto [work, is_new] = whole.emplace(*before, 0);
      if (is_new) work->second = used(store, *before, at);
      now.question.work[job.id] = work->second * (1 - job.progress);
    }
  }
  const auto outlooks = forecast::queue_forecast(now.question, give_up);
  std::vector<JobForecast> all;
  for (const auto& job : now.jobs) {
    const auto outlook = outlooks.find(job.id);
    if (!job.seen || outlook == outlooks.end()) continue;
    auto& one = all.emplace_back(std::move(known[job.id]));
    one.job_id = job.id;
    one.resource_pool = now.pool;
    one.start_seconds = outlook->second.start;
    one.end_seconds = outlook->second.end;
  }
  return all;
}

asio::awaitable<Result<ForecastReply>> forecast_queues(Services& s, std::any principal, ForecastQuery q) {
  const auto pools = s.ledger.cluster().resource_pools();
  if (!q.resource_pool.empty() && !pools.contains(q.resource_pool))
    co_return not_found("resource pool '{}' not found", q.resource_pool);
  std::vector<Situation> situations;
  for (const auto& pool : pools)
    if (q.resource_pool.empty() || q.resource_pool == pool)
      situations.push_back(situation(s, principal, pool));
  auto read = [&s, &situations, at = s.ledger.now()] {
    ForecastReply reply;
    for (auto& now : situations)
      for (auto& job : foresee(s.store, std::move(now), at)) reply.jobs.push_back(std::move(job));
    return reply;
  };
  auto reply = co_await offload(s, std::move(read));
  co_await s.ledger.durable();
  co_return reply;
}

}  // namespace

void add_forecast_routes(http::Router& router, Services& s) {
  router.add<ForecastQuery, ForecastReply>(
      Verb::Get, "/api/v1/job-queues/forecast",
      [&s](Context c, ForecastQuery q) { return forecast_queues(s, std::move(c).principal, std::move(q)); },
      Doc{.summary = "Estimate when the jobs in the queue of one resource pool or of all start and end: the "
                     "scheduler decides in virtual time, and each job goes on as until now, or as the last "
                     "completed one with the same name in its project",
          .tag = "Jobs",
          .errors = {ErrorCode::NotFound}});
}

}  // namespace det::master
