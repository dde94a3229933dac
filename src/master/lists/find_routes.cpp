// Lists of experiments and of runs with filters and orders of any kind, as browser pages ask for them.

#include <algorithm>
#include <set>

#include "det/master/lists/expression.h"
#include "det/master/lists/filter.h"
#include "det/master/lists/find.h"
#include "det/master/lists/narrow.h"
#include "det/master/objects.h"
#include "det/master/rights/rights.h"
#include "det/master/services.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

struct FindRequest {
  std::optional<std::int64_t> project_id;
  std::int32_t offset = 0, limit = 0;
  std::string sort, filter;
  std::string query;  ///< an expression; what matches it and `filter` is found
};
BOOST_DESCRIBE_STRUCT(FindRequest, (), (project_id, offset, limit, sort, filter, query))
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

/// The member at "a.b.c" of nested objects; a member whose own name has dots is found, too.
json::value at_path(const json::object& o, std::string_view path) {
  if (const auto* whole = o.if_contains(path)) return *whole;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.', dot + 1)) {
    const auto* inner = o.if_contains(path.substr(0, dot));
    if (inner == nullptr || !inner->is_object()) continue;
    if (auto found = at_path(inner->get_object(), path.substr(dot + 1)); !found.is_null()) return found;
  }
  return nullptr;
}

/// A hyperparameter of an experiment that has no best trial: of a constant its value; null for a range.
json::value constant(const json::object& hparams, std::string_view path) {
  auto found = at_path(hparams, path);
  if (!found.is_object()) return found;
  const auto* value = found.get_object().if_contains("val");
  return value == nullptr ? json::value() : *value;
}

/// "validation.loss.last" in summary metrics; null for a column of another kind.
json::value metric(const json::object& summary, const std::string& column) {
  const auto dot = column.find('.'), last = column.rfind('.');
  if (dot == std::string::npos || last == dot) return nullptr;
  auto group = column.substr(0, dot);
  if (group == "training") group = "avg_metrics";
  if (group == "validation") group = "validation_metrics";
  const auto* metrics = summary.if_contains(group);
  if (metrics == nullptr || !metrics->is_object()) return nullptr;
  const auto* found = metrics->get_object().if_contains(column.substr(dot + 1, last - dot - 1));
  if (found == nullptr || !found->is_object()) return nullptr;
  const auto* value = found->get_object().if_contains(column.substr(last + 1));
  return value == nullptr ? json::value() : *value;
}

/// The columns that an experiment and a run have in common, under either's names.
json::value plain_column(const api::Experiment& e, const std::string& name) {
  static const std::map<std::string, std::function<json::value(const api::Experiment&)>> kColumns = {
      {"id", [](const auto& x) { return json::value(x.id.value()); }},
      {"name", [](const auto& x) { return json::value(x.name); }},
      {"description", [](const auto& x) { return json::value(x.description); }},
      {"tags", [](const auto& x) { return json::to_json(x.labels); }},
      {"forkedFrom",
       [](const auto& x) { return x.forked_from ? json::value(x.forked_from->value()) : json::value(); }},
      {"startTime", [](const auto& x) { return json::value(to_rfc3339(x.start_time)); }},
      {"endTime",
       [](const auto& x) { return x.end_time ? json::value(to_rfc3339(*x.end_time)) : json::value(); }},
      {"duration", [](const auto& x) { return x.duration ? json::value(*x.duration) : json::value(); }},
      {"numTrials", [](const auto& x) { return json::value(x.num_trials); }},
      {"searcherType", [](const auto& x) { return json::value(x.searcher_type); }},
      {"searcherMetric", [](const auto& x) { return json::value(x.searcher_metric); }},
      {"searcherMetricsVal",
       [](const auto& x) {
         return x.best_trial_searcher_metric ? json::value(*x.best_trial_searcher_metric) : json::value();
       }},
      {"user", [](const auto& x) { return json::value(x.username); }},
      {"state", [](const auto& x) { return json::value(x.state.substr(std::string_view("STATE_").size())); }},
      {"resourcePool", [](const auto& x) { return json::value(x.resource_pool); }},
      {"checkpointSize", [](const auto& x) { return json::value(x.checkpoint_size); }},
      {"checkpointCount", [](const auto& x) { return json::value(x.checkpoint_count); }},
      {"progress", [](const auto& x) { return json::value(x.progress); }},
      {"projectId", [](const auto& x) { return json::value(x.project_id); }},
      {"archived", [](const auto& x) { return json::value(x.archived ? "true" : "false"); }},
      {"externalExperimentId",
       [](const auto& x) {
         return x.external_experiment_id ? json::value(*x.external_experiment_id) : json::value();
       }},
  };
  const auto found = kColumns.find(name);
  return found == kColumns.end() ? json::value() : found->second(e);
}

struct Wanted {
  Filter filter;
  std::vector<SortKey> sort;

  bool any_column(const std::function<bool(const std::string&)>& is) const {
    return filter.root.any_column(is) || std::ranges::any_of(sort, is, &SortKey::column);
  }
  bool needs_hyperparameters() const {
    return any_column([](const std::string& column) { return column.starts_with("hp."); });
  }
  bool needs_metrics() const {
    return any_column([](const std::string& column) {
      return !column.starts_with("hp.") && column.find('.') != std::string::npos;
    });
  }
};
Result<Wanted> parse(Services& s, const std::any& principal, const FindRequest& request) {
  Wanted wanted;
  DET_TRY(wanted.filter, parse_filter(request.filter));
  DET_TRY(wanted.sort, parse_sort(request.sort));
  if (request.limit < -1 || request.limit > 100'000)
    return invalid_argument("limit is {}; it must be from 0 to 100000", request.limit);
  if (request.query.empty()) return wanted;
  DET_TRY(const auto user, require_user(principal));
  DET_TRY(auto typed, parse_expression(request.query, {.me = user.username, .now = s.ledger.now()}));
  if (typed.any_column([](const std::string& column) { return column == "archived"; }))
    wanted.filter.show_archived = true;
  wanted.filter.root = {.join = Condition::Join::And,
                        .children = {std::move(wanted.filter.root), std::move(typed)}};
  return wanted;
}

/// Indices of the rows that match, in the order wanted; ties by index.
std::vector<std::size_t> select(const std::vector<Row>& rows, const Wanted& wanted) {
  std::vector<std::size_t> chosen;
  std::vector<std::vector<json::value>> keys(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!matches(wanted.filter.root, rows[i])) continue;
    for (const auto& key : wanted.sort) keys[i].push_back(rows[i](key.column));
    chosen.push_back(i);
  }
  std::stable_sort(chosen.begin(), chosen.end(), [&](auto a, auto b) {
    for (std::size_t k = 0; k < wanted.sort.size(); ++k) {
      if (before(keys[a][k], keys[b][k], wanted.sort[k].descending)) return true;
      if (before(keys[b][k], keys[a][k], wanted.sort[k].descending)) return false;
    }
    return false;
  });
  return chosen;
}

/// The experiments of the project that may match, the newest first, as the strand shows them.
asio::awaitable<std::vector<api::Experiment>> experiments_of(Services& s, const std::any& principal,
                                                             std::optional<std::int64_t> project,
                                                             const Filter& filter, bool runs) {
  auto query = narrowed(s, filter.root, runs);
  query.project_id = project;
  query.projects = Sight(s, principal, access::Permission::ViewExperimentMetadata).projects();
  if (!filter.show_archived) query.archived = false;
  query.page.descending = true;
  auto read = [&s, query] { return s.store.list_experiments(query); };
  const auto found = co_await offload(s, std::move(read));
  std::vector<api::Experiment> experiments;
  for (const auto& summary : found.experiments) experiments.push_back(to_api(s, summary));
  co_return experiments;
}

std::vector<ExperimentId> experiment_ids(std::span<const api::Experiment> experiments) {
  std::vector<ExperimentId> ids;
  for (const auto& e : experiments) ids.push_back(e.id);
  return ids;
}

std::vector<TrialId> best_trials(std::span<const api::Experiment> experiments) {
  std::vector<TrialId> trials;
  for (const auto& e : experiments)
    if (e.best_trial_id) trials.push_back(*e.best_trial_id);
  return trials;
}

/// What the columns of experiments need beside their summaries, read for all of them at once.
class Details {
 public:
  Details(store::Store& store, std::span<const api::Experiment> experiments, const Wanted& wanted) {
    const auto best = best_trials(experiments);
    if (wanted.needs_metrics()) metrics_ = store.summaries(best);
    if (!wanted.needs_hyperparameters()) return;
    for (auto& trial : store.trials(best)) drawn_.emplace(trial.id, std::move(trial.hparams));
    std::vector<ExperimentId> others;
    for (const auto& e : experiments)
      if (!e.best_trial_id) others.push_back(e.id);
    for (auto& [id, record] : store.experiments(others))
      if (auto* found = record.config.if_contains("hyperparameters"); found != nullptr && found->is_object())
        configured_.emplace(id, std::move(found->get_object()));
  }

  json::value column(const api::Experiment& e, const std::string& name) const {
    if (name.find('.') == std::string::npos) return plain_column(e, name);
    const auto path = std::string_view(name).substr(std::string_view("hp.").size());
    if (!e.best_trial_id) {
      const auto found = configured_.find(e.id);
      return found == configured_.end() || !name.starts_with("hp.") ? json::value()
                                                                    : constant(found->second, path);
    }
    const auto& of_trials = name.starts_with("hp.") ? drawn_ : metrics_;
    const auto found = of_trials.find(*e.best_trial_id);
    if (found == of_trials.end()) return nullptr;
    return name.starts_with("hp.") ? at_path(found->second, path) : metric(found->second, name);
  }

 private:
  std::map<TrialId, json::object> drawn_, metrics_;  ///< of best trials
  std::map<ExperimentId, json::object> configured_;
};

asio::awaitable<Result<ExperimentsReply>> find_experiments(Services& s, std::any principal,
                                                           FindRequest request) {
  const auto wanted = parse(s, principal, request);
  if (!wanted) co_return tl::unexpected(wanted.error());
  auto experiments = co_await experiments_of(s, principal, request.project_id, wanted->filter, false);
  auto read = [&s, &experiments, &wanted] {
    const Details details(s.store, experiments, *wanted);
    std::vector<Row> rows;
    for (const auto& e : experiments)
      rows.emplace_back([&](const std::string& column) { return details.column(e, column); });
    return select(rows, *wanted);
  };
  const auto chosen = co_await offload(s, std::move(read));
  const auto span = page_of(chosen.size(), request.offset, request.limit);
  ExperimentsReply reply{.experiments = {}, .pagination = span.pagination};
  std::vector<api::Experiment> page;
  for (auto i = span.begin; i < span.end; ++i) page.push_back(std::move(experiments[chosen[i]]));
  auto read_best = [&s, &page] {
    auto records = s.store.experiments(experiment_ids(page));
    for (auto& e : page)
      if (const auto record = records.find(e.id); record != records.end())
        if (const auto* hparams = record->second.config.if_contains("hyperparameters"))
          e.hyperparameters = *hparams;
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

/// A run's own columns, then those of its experiment.
json::value run_column(const Candidate& c, const std::string& name) {
  if (name == "id") return c.trial.id.value();
  if (name == "experimentId") return c.experiment->id.value();
  if (name == "experimentName") return boost::json::string(c.experiment->name);
  if (name == "experimentDescription") return boost::json::string(c.experiment->description);
  if (name == "experimentProgress") return c.experiment->progress;
  if (name == "state") {
    const bool active = c.trial.state == experiment::State::Active;
    const auto state = active ? run_state(c.experiment->state) : name_of(c.trial.state);
    return boost::json::string(state.substr(std::string_view("STATE_").size()));
  }
  if (name == "startTime") return boost::json::string(to_rfc3339(c.trial.start_time));
  if (name == "endTime") return c.trial.end_time ? json::value(to_rfc3339(*c.trial.end_time)) : json::value();
  if (name == "duration")
    return c.trial.end_time ? json::value((*c.trial.end_time - c.trial.start_time) / kSecond) : json::value();
  if (name == "searcherMetricsVal")
    return c.trial.best_metric ? json::value(*c.trial.best_metric) : json::value();
  if (name == "isExpMultitrial") return boost::json::string(c.experiment->num_trials > 1 ? "true" : "false");
  return plain_column(*c.experiment, name);
}

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
  const auto wanted = parse(s, principal, request);
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
        return column.find('.') == std::string::npos ? run_column(c, column) : metric(summary, column);
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
  router.add<FindRequest, ExperimentsReply>(
      Verb::Post, "/api/v1/experiments-search",
      [&s](Context c, FindRequest r) -> asio::awaitable<Result<ExperimentsReply>> {
        if (const auto user = require_user(c.principal); !user) co_return tl::unexpected(user.error());
        co_return co_await find_experiments(s, c.principal, std::move(r));
      },
      Doc{.summary = "Search experiments, filtered and sorted by any columns; `filter` is JSON, `query` an "
                     "expression like "
                     "\"lr < 1e-3 and state = RUNNING\", `sort` is like startTime=desc,name=asc",
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
