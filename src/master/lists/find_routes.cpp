// Lists of experiments and of runs with filters and orders of any kind, as browser pages ask for them.

#include <algorithm>
#include <set>

#include "det/master/lists/columns.h"
#include "det/master/lists/find.h"
#include "det/master/lists/wanted.h"
#include "det/master/objects.h"
#include "det/master/rights/rights.h"
#include "det/master/services.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

struct FindExperimentsRequest : FindRequest {
  bool include_config = false;  ///< each experiment with its configuration
};
BOOST_DESCRIBE_STRUCT(FindExperimentsRequest, (FindRequest), (include_config))
struct FoundExperiment {
  std::optional<api::Trial> best_trial;
  api::Experiment experiment;
};
BOOST_DESCRIBE_STRUCT(FoundExperiment, (), (best_trial, experiment))
struct ExperimentsReply {
  std::vector<FoundExperiment> experiments;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(ExperimentsReply, (), (experiments, pagination))

struct RunExperiment {
  ExperimentId id;
  std::string searcher_type, searcher_metric, description, name, resource_pool;
  std::optional<ExperimentId> forked_from;
  std::optional<std::string> external_experiment_id;
  bool unmanaged = false, is_multitrial = false;
  double progress = 0;
};
BOOST_DESCRIBE_STRUCT(RunExperiment, (),
                      (id, searcher_type, searcher_metric, description, name, resource_pool, forked_from,
                       external_experiment_id, unmanaged, is_multitrial, progress))
struct Run {
  TrialId id;
  Time start_time;
  std::optional<Time> end_time;
  std::string state;
  std::vector<std::string> labels;
  std::int64_t checkpoint_size = 0;
  std::int32_t checkpoint_count = 0;
  std::optional<double> searcher_metric_value;
  json::object hyperparameters;
  json::value summary_metrics, metadata;
  UserId user_id;
  std::optional<std::int32_t> duration;
  std::int32_t project_id = 0, workspace_id = 0;
  std::string project_name, workspace_name, local_id;
  bool parent_archived = false, archived = false;
  RunExperiment experiment;
};
BOOST_DESCRIBE_STRUCT(Run, (),
                      (id, start_time, end_time, state, labels, checkpoint_size, checkpoint_count,
                       searcher_metric_value, hyperparameters, summary_metrics, metadata, user_id, duration,
                       project_id, workspace_id, project_name, workspace_name, local_id, parent_archived,
                       archived, experiment))
struct FoundRunsReply {
  std::vector<Run> runs;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(FoundRunsReply, (), (runs, pagination))

std::vector<ExperimentId> experiment_ids(std::span<const api::Experiment> experiments) {
  std::vector<ExperimentId> ids;
  for (const auto& e : experiments) ids.push_back(e.id);
  return ids;
}

asio::awaitable<Result<ExperimentsReply>> find_experiments(Services& s, std::any principal,
                                                           FindExperimentsRequest request) {
  const auto wanted = parse_wanted(s, principal, request);
  if (!wanted) co_return tl::unexpected(wanted.error());
  auto experiments = co_await experiments_of(s, principal, request.project_id, wanted->filter, false);
  auto read = [&s, &experiments, &wanted] {
    const Details details(s.store, experiments, *wanted);
    return select(details.rows(experiments), *wanted);
  };
  const auto chosen = co_await offload(s, std::move(read));
  const auto span = page_of(chosen.size(), request.offset, request.limit);
  ExperimentsReply reply{.experiments = {}, .pagination = span.pagination};
  std::vector<api::Experiment> page;
  for (auto i = span.begin; i < span.end; ++i) page.push_back(std::move(experiments[chosen[i]]));
  auto read_best = [&s, &page, with_config = request.include_config] {
    auto records = s.store.experiments(experiment_ids(page));
    for (auto& e : page) {
      const auto record = records.find(e.id);
      if (record == records.end()) continue;
      const auto& config = record->second.config;
      if (const auto* hparams = config.if_contains("hyperparameters")) e.hyperparameters = *hparams;
      if (with_config) e.config = config::masked(config);
    }
    return s.store.trials(best_trials(page));
  };
  std::map<TrialId, api::Trial> best;
  for (auto& trial : co_await find_trials(s, co_await offload(s, std::move(read_best))))
    best.emplace(trial.id, std::move(trial));
  for (auto& experiment : page) {
    const auto trial = best.find(experiment.best_trial_id.value_or(TrialId(0)));
    reply.experiments.push_back(
        {.best_trial = trial == best.end() ? std::nullopt : std::optional(std::move(trial->second)),
         .experiment = std::move(experiment)});
  }
  co_await s.ledger.durable();
  co_return reply;
}

struct Candidate {
  const api::Experiment* experiment = nullptr;
  experiment::TrialRecord trial;
};

Run to_run(const api::Experiment& e, const api::Trial& t) {
  Run run{.id = t.id,
          .start_time = t.start_time,
          .end_time = t.end_time,
          .state = run_state(t.state),
          .labels = e.labels,
          .checkpoint_size = t.total_checkpoint_size,
          .checkpoint_count = t.checkpoint_count,
          .searcher_metric_value = t.searcher_metric_value,
          .hyperparameters = t.hparams,
          .summary_metrics = t.summary_metrics,
          .metadata = nullptr,
          .user_id = e.user_id};
  if (t.end_time) run.duration = static_cast<std::int32_t>((*t.end_time - t.start_time) / kSecond);
  run.project_id = e.project_id;
  run.workspace_id = e.workspace_id;
  run.project_name = e.project_name;
  run.workspace_name = e.workspace_name;
  run.local_id = fmt::format("{}", t.id);
  run.parent_archived = e.parent_archived;
  run.archived = e.archived;
  run.experiment = {.id = e.id,
                    .searcher_type = e.searcher_type,
                    .searcher_metric = e.searcher_metric,
                    .description = e.description,
                    .name = e.name,
                    .resource_pool = e.resource_pool,
                    .forked_from = e.forked_from,
                    .external_experiment_id = e.external_experiment_id,
                    .unmanaged = e.unmanaged,
                    .is_multitrial = e.num_trials > 1,
                    .progress = e.progress};
  return run;
}

asio::awaitable<Result<FoundRunsReply>> find_runs(Services& s, std::any principal, FindRequest request) {
  const auto wanted = parse_wanted(s, principal, request);
  if (!wanted) co_return tl::unexpected(wanted.error());
  const auto experiments = co_await experiments_of(s, principal, request.project_id, wanted->filter, true);
  std::vector<Candidate> candidates;
  auto read = [&s, &experiments, &candidates, &wanted, details = wanted->needs_metrics()] {
    for (const auto& e : experiments)
      for (auto& trial : s.store.trials(e.id)) candidates.push_back({&e, std::move(trial)});
    std::vector<Row> rows;
    std::vector<TrialId> ids;
    for (const auto& c : candidates) ids.push_back(c.trial.id);
    std::map<TrialId, json::object> summaries;
    if (details) summaries = s.store.summaries(ids);
    for (const auto& c : candidates) {
      const auto summary = std::move(summaries[c.trial.id]);
      rows.emplace_back([&c, summary](const std::string& column) {
        if (column.starts_with("hp.")) return at_path(c.trial.hparams, std::string_view(column).substr(3));
        return column.find('.') == std::string::npos ? run_column(*c.experiment, c.trial, column)
                                                     : metric_column(summary, column);
      });
    }
    return select(rows, *wanted);
  };
  const auto chosen = co_await offload(s, std::move(read));
  const auto span = page_of(chosen.size(), request.offset, request.limit);
  FoundRunsReply reply{.runs = {}, .pagination = span.pagination};
  std::vector<experiment::TrialRecord> records;
  for (auto i = span.begin; i < span.end; ++i) records.push_back(candidates[chosen[i]].trial);
  const auto trials = co_await find_trials(s, std::move(records));
  auto read_runs = [&] {
    std::vector<Run> runs;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      auto& run = runs.emplace_back(to_run(*candidates[chosen[span.begin + i]].experiment, trials[i]));
      if (auto metadata = s.store.trial_metadata(run.id)) run.metadata = *std::move(metadata);
    }
    return runs;
  };
  reply.runs = co_await offload(s, std::move(read_runs));
  co_return reply;
}

}  // namespace

asio::awaitable<Result<std::vector<TrialId>>> find_run_ids(Services& s, std::any principal,
                                                           std::optional<std::int64_t> project,
                                                           std::string filter, std::int32_t limit) {
  FindRequest request;
  request.project_id = project;
  request.filter = std::move(filter);
  request.limit = limit;
  const auto found = co_await find_runs(s, std::move(principal), std::move(request));
  if (!found) co_return tl::unexpected(found.error());
  std::vector<TrialId> ids;
  for (const auto& run : found->runs) ids.push_back(run.id);
  co_return ids;
}

void add_find_routes(http::Router& router, Services& s) {
  router.add<FindExperimentsRequest, ExperimentsReply>(
      Verb::Post, "/api/v1/experiments-search",
      [&s](Context c, FindExperimentsRequest r) -> asio::awaitable<Result<ExperimentsReply>> {
        if (const auto user = require_user(c.principal); !user) co_return tl::unexpected(user.error());
        co_return co_await find_experiments(s, c.principal, std::move(r));
      },
      Doc{.summary = "Search experiments, filtered and sorted by any columns; `filter` is JSON, `query` an "
                     "expression like "
                     "\"lr < 1e-3 and state = RUNNING\", `sort` is like startTime=desc,name=asc; with "
                     "`includeConfig`, each with its configuration",
          .tag = "Experiments"});
  router.add<FindRequest, FoundRunsReply>(
      Verb::Post, "/api/v1/runs",
      [&s](Context c, FindRequest r) -> asio::awaitable<Result<FoundRunsReply>> {
        if (const auto user = require_user(c.principal); !user) co_return tl::unexpected(user.error());
        co_return co_await find_runs(s, c.principal, std::move(r));
      },
      Doc{.summary =
              "Search the trials of all experiments, filtered and sorted by any columns, as experiments are",
          .tag = "Trials"});
}

}  // namespace det::master
