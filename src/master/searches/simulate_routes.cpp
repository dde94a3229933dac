// What experiments would do on a cluster: `det simulate`.

#include "det/config/experiment_config.h"
#include "det/forecast/forecast.h"
#include "det/master/objects.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

constexpr std::chrono::seconds kLongest{60};

struct SimulateRequest {
  std::vector<json::value> configs;  ///< objects, or YAML as text; submitted at once, in this order
  // The machines; absent: those of the pool, as they are now.
  std::optional<std::int32_t> agents, slots_per_agent;
  std::string resource_pool;                    ///< whose machines and policy; empty: the default one
  std::string policy;                           ///< empty: that of the pool
  std::optional<bool> preemption;               ///< of the policy priority; absent: as in the pool
  std::optional<ExperimentId> from_experiment;  ///< costs and results are learned from this one
  // Absent: learned, or else a guess.
  std::optional<double> seconds_per_batch, start_seconds, validation_seconds, checkpoint_seconds;
  std::int32_t seed = 0;
  static bool required(std::string_view name) { return name == "configs"; }
};
BOOST_DESCRIBE_STRUCT(SimulateRequest, (),
                      (configs, agents, slots_per_agent, resource_pool, policy, preemption, from_experiment,
                       seconds_per_batch, start_seconds, validation_seconds, checkpoint_seconds, seed))
struct SimulateReply {
  det::forecast::Forecast forecast;
  det::forecast::Costs costs;  ///< that were assumed
  std::int32_t curves = 0;     ///< trials whose results were taken
  std::int32_t agents = 0;
  std::string policy;
};
BOOST_DESCRIBE_STRUCT(SimulateReply, (), (forecast, costs, curves, agents, policy))

constexpr std::int64_t kAgentsMax = 10'000;
constexpr std::size_t kConfigsMax = 100;

Result<std::vector<forecast::Machine>> machines(Services& s, const SimulateRequest& r,
                                                const std::string& pool) {
  std::vector<forecast::Machine> all;
  if (r.agents) {
    const auto slots = r.slots_per_agent.value_or(1);
    if (*r.agents < 1 || *r.agents > kAgentsMax)
      return invalid_argument("agents is {}; it must be from 1 to {}", *r.agents, kAgentsMax);
    for (int i = 0; i < *r.agents; ++i) all.push_back({.id = fmt::format("agent{:05}", i), .slots = slots});
    return all;
  }
  if (r.slots_per_agent)
    return invalid_argument("slotsPerAgent is given without agents; give the number of agents as well");
  for (const auto& [id, agent] : s.ledger.cluster().agents())
    if (agent.resource_pool == pool && agent.connected && agent.enabled)
      all.push_back({.id = id,
                     .slots = static_cast<int>(agent.slots.size() - agent.disabled_slots.size()),
                     .label = agent.label,
                     .attributes = agent.attributes});
  if (all.empty())
    return failed_precondition(
        "resource pool {} has no agents now; give the number to simulate with agents and "
        "slotsPerAgent",
        pool);
  return all;
}

Result<cluster::PoolSettings> pool_settings(Services& s, const SimulateRequest& r, const std::string& pool) {
  auto settings = s.ledger.cluster().pool(pool);
  settings.name = pool;
  if (r.preemption) settings.preemption = *r.preemption;
  if (r.policy.empty()) return settings;
  using P = scheduler::Policy;
  for (const auto policy : {P::Fifo, P::RoundRobin, P::FairShare, P::Priority})
    if (r.policy == cluster::policy_name(policy)) {
      settings.policy = policy;
      return settings;
    }
  return invalid_argument("policy is '{}'; it must be fifo, round_robin, fair_share or priority", r.policy);
}

/// What the trials of an experiment reported. Reads the store: on the pool.
Result<std::vector<forecast::MeasuredRun>> measured(store::Store& store, ExperimentId id) {
  const auto record = store.experiment(id);
  if (!record || record->state == experiment::State::Deleted)
    return not_found("experiment '{}' not found", id);
  const auto metric = searcher_metric(record->config).name;
  std::vector<forecast::MeasuredRun> runs;
  for (const auto& trial : store.trials(id)) {
    std::map<std::int64_t, forecast::MeasuredRun> by_run;
    for (const auto& allocation : store.allocations(trial.task_id)) {
      by_run[allocation.run_id].start = allocation.start_time;
      by_run[allocation.run_id].end = allocation.end_time;
    }
    for (const auto& report : store.metrics({.trial = trial.id, .group = "training"}))
      by_run[report.run_id].reports.emplace_back(report.batches, report.report_time);
    std::map<std::int64_t, forecast::MeasuredRun> validated;
    for (const auto& report : store.metrics({.trial = trial.id, .group = "validation"})) {
      validated[report.run_id].reports.emplace_back(report.batches, report.report_time);
      by_run[report.run_id].validated.push_back(report.report_time);
      if (const auto value = value_of(report, metric))
        by_run[report.run_id].validations.push_back({report.batches, *value});
    }
    for (auto& [number, run] : validated)  // of scripts that report nothing else
      if (auto& reports = by_run[number].reports; reports.empty()) reports = std::move(run.reports);
    for (auto& [number, run] : by_run) {
      run.trial = trial.id.value();
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

forecast::Costs costs_of(const SimulateRequest& r, forecast::Costs costs) {
  if (r.seconds_per_batch) costs.seconds_per_batch = *r.seconds_per_batch;
  if (r.start_seconds) costs.start_seconds = *r.start_seconds;
  if (r.validation_seconds) costs.validation_seconds = *r.validation_seconds;
  if (r.checkpoint_seconds) costs.checkpoint_seconds = *r.checkpoint_seconds;
  return costs;
}

asio::awaitable<Result<SimulateReply>> simulate(Services& s, Context context, SimulateRequest request) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  if (request.configs.empty() || request.configs.size() > kConfigsMax)
    co_return invalid_argument("configs has {} entries; it must have from 1 to {}", request.configs.size(),
                               kConfigsMax);
  forecast::Question question{.seed = static_cast<std::uint32_t>(request.seed)};
  for (const auto& config : request.configs) {
    const auto text = config.is_string() ? std::string(config.get_string()) : json::serialize(config);
    auto resolved = resolve_search(s, text);
    if (!resolved) co_return tl::unexpected(resolved.error());
    question.experiments.push_back(std::move(resolved->config));
  }
  const auto pool = request.resource_pool.empty() ? s.ledger.cluster().pool_for(question.experiments.front())
                                                  : request.resource_pool;
  if (!s.ledger.cluster().resource_pools().contains(pool))
    co_return not_found("cannot find resource pool {}", pool);
  auto all = machines(s, request, pool);
  if (!all) co_return tl::unexpected(all.error());
  question.machines = *std::move(all);
  auto settings = pool_settings(s, request, pool);
  if (!settings) co_return tl::unexpected(settings.error());
  question.pool = *std::move(settings);
  SimulateReply reply{.agents = static_cast<std::int32_t>(question.machines.size()),
                      .policy = cluster::policy_name(question.pool.policy)};
  using Played = std::pair<forecast::Forecast, forecast::Costs>;
  auto play = [&s, question = std::move(question), request]() -> Result<Played> {
    auto asked = question;
    if (request.from_experiment) {
      DET_TRY(const auto runs, measured(s.store, *request.from_experiment));
      auto learned = forecast::learn(runs);
      if (!learned)
        return tl::unexpected(
            std::move(learned).error().within(fmt::format("experiment {}", *request.from_experiment)));
      asked.costs = *std::move(learned);
    }
    asked.costs = costs_of(request, std::move(asked.costs));
    // Who asked may be gone, and a master that ends waits for it.
    const auto until = std::chrono::steady_clock::now() + kLongest;
    DET_TRY(auto answer,
            forecast::forecast(asked, [until] { return std::chrono::steady_clock::now() > until; }));
    return Played(std::move(answer), std::move(asked.costs));
  };
  auto played = co_await offload(s, std::move(play));
  if (!played) co_return tl::unexpected(played.error());
  reply.forecast = std::move(played->first);
  reply.curves = static_cast<std::int32_t>(played->second.curves.size());
  reply.costs = std::move(played->second);
  co_return reply;
}

}  // namespace

void add_simulate_routes(http::Router& router, Services& s) {
  router.add<SimulateRequest, SimulateReply>(
      Verb::Post, "/api/v1/simulate",
      [&s](Context c, SimulateRequest r) { return simulate(s, std::move(c), std::move(r)); },
      Doc{.summary = "Simulate experiments on a cluster without running them",
          .tag = "Experiments",
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition}});
}

}  // namespace det::master
