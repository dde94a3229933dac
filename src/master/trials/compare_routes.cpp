// Trials side by side: their curves, their metrics at a moment, and how the best became better.

#include <cmath>
#include <set>

#include "det/master/objects.h"
#include "det/master/services.h"
#include "det/master/trials/curves.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::ItemWriter;
using http::Verb;

constexpr std::size_t kTrialsMax = 1'000;

struct SeriesQuery {
  std::vector<TrialId> trial_ids;
  std::int32_t max_datapoints = 0, start_batches = 0, end_batches = 0;
  std::vector<std::string> metric_names, metric_ids;  ///< ids are "group.name"
  std::string metric_type, group;
};
BOOST_DESCRIBE_STRUCT(SeriesQuery, (),
                      (trial_ids, max_datapoints, start_batches, end_batches, metric_names, metric_ids,
                       metric_type, group))
struct Point {
  std::int32_t batches = 0;
  json::object values;
  Time time;
};
BOOST_DESCRIBE_STRUCT(Point, (), (batches, values, time))
struct Series {
  std::vector<Point> data;
  std::string group, type;
};
BOOST_DESCRIBE_STRUCT(Series, (), (data, group, type))
struct ComparedTrial {
  api::Trial trial;
  std::vector<Series> metrics;
};
BOOST_DESCRIBE_STRUCT(ComparedTrial, (), (trial, metrics))
struct CompareSeriesReply {
  std::vector<ComparedTrial> trials;
};
BOOST_DESCRIBE_STRUCT(CompareSeriesReply, (), (trials))

struct NamesQuery {
  std::vector<ExperimentId> ids;
  std::int32_t period_seconds = 0;
};
BOOST_DESCRIBE_STRUCT(NamesQuery, (), (ids, period_seconds))
struct MetricName {
  std::string group, name;
  friend auto operator<=>(const MetricName&, const MetricName&) = default;
};
BOOST_DESCRIBE_STRUCT(MetricName, (), (group, name))
struct NamesReply {
  std::vector<std::string> searcher_metrics, training_metrics, validation_metrics;
  std::vector<MetricName> metric_names;
};
BOOST_DESCRIBE_STRUCT(NamesReply, (), (searcher_metrics, training_metrics, validation_metrics, metric_names))

struct MetricQuery {
  ExperimentId experiment_id;
  std::string metric_name, metric_type, group;
  std::int32_t batches_processed = 0, batches_margin = 0, max_trials = 0, max_datapoints = 0,
               start_batches = 0, end_batches = 0, period_seconds = 0;
};
BOOST_DESCRIBE_STRUCT(MetricQuery, (),
                      (experiment_id, metric_name, metric_type, group, batches_processed, batches_margin,
                       max_trials, max_datapoints, start_batches, end_batches, period_seconds))
struct BatchesReply {
  std::vector<std::int32_t> batches;
};
BOOST_DESCRIBE_STRUCT(BatchesReply, (), (batches))
struct SnapshotTrial {
  TrialId trial_id;
  json::object hparams;
  double metric = 0;
  std::int32_t batches_processed = 0;
};
BOOST_DESCRIBE_STRUCT(SnapshotTrial, (), (trial_id, hparams, metric, batches_processed))
struct SnapshotReply {
  std::vector<SnapshotTrial> trials;
};
BOOST_DESCRIBE_STRUCT(SnapshotReply, (), (trials))
struct SampleTrial {
  TrialId trial_id;
  json::object hparams;
  std::vector<Point> data;
};
BOOST_DESCRIBE_STRUCT(SampleTrial, (), (trial_id, hparams, data))
struct SampleReply {
  std::vector<SampleTrial> trials;
  std::vector<TrialId> promoted_trials, demoted_trials;
};
BOOST_DESCRIBE_STRUCT(SampleReply, (), (trials, promoted_trials, demoted_trials))

struct OfExperiment {
  ExperimentId experiment_id;
};
BOOST_DESCRIBE_STRUCT(OfExperiment, (), (experiment_id))
struct HistoryEntry {
  TrialId trial_id;
  Time end_time;
  double searcher_metric = 0;
};
BOOST_DESCRIBE_STRUCT(HistoryEntry, (), (trial_id, end_time, searcher_metric))
struct HistoryReply {
  std::vector<HistoryEntry> validation_history;
};
BOOST_DESCRIBE_STRUCT(HistoryReply, (), (validation_history))

std::string type_of(const std::string& group) {
  if (group == "training") return "METRIC_TYPE_TRAINING";
  return group == "validation" ? "METRIC_TYPE_VALIDATION" : "METRIC_TYPE_UNSPECIFIED";
}
std::string group_of(const std::string& group, const std::string& type) {
  if (!group.empty()) return group;
  if (type == "METRIC_TYPE_TRAINING") return "training";
  return type == "METRIC_TYPE_VALIDATION" ? "validation" : "";
}

/// The last batch count of a range; 0 in a query: without an end.
std::int64_t last_of(std::int32_t end_batches) {
  return end_batches > 0 ? end_batches : std::numeric_limits<std::int64_t>::max();
}

/// By group, of the metrics that are wanted (all, if none is named); reads the store: on the pool.
std::vector<Series> series_of(store::Store& store, TrialId trial, const SeriesQuery& q) {
  store::CurveQuery query{.trial = trial,
                          .group = std::nullopt,
                          .names = {q.metric_names.begin(), q.metric_names.end()},
                          .ids = {q.metric_ids.begin(), q.metric_ids.end()},
                          .after_batches = std::int64_t{q.start_batches} - 1,
                          .up_to_batches = last_of(q.end_batches),
                          .points = curve_points(q.max_datapoints)};
  if (auto group = group_of(q.group, q.metric_type); !group.empty()) query.group = std::move(group);
  std::map<std::string, std::vector<Point>> points;
  for (auto& report : store.curve(query))
    if (!report.avg_metrics.empty())
      points[report.group].push_back({.batches = static_cast<std::int32_t>(report.batches),
                                      .values = std::move(report.avg_metrics),
                                      .time = report.report_time});
  std::vector<Series> all;
  for (auto& [of, data] : points) all.push_back({std::move(data), of, type_of(of)});
  return all;
}

asio::awaitable<Result<CompareSeriesReply>> series(Services& s, SeriesQuery q) {
  if (q.trial_ids.size() > kTrialsMax)
    co_return invalid_argument("trialIds has {} entries; at most {} trials can be compared",
                               q.trial_ids.size(), kTrialsMax);
  CompareSeriesReply reply;
  for (const auto id : q.trial_ids) {
    auto trial = co_await find_trial(s, id);
    if (!trial) co_return tl::unexpected(trial.error());
    auto read = [&s, id, &q] { return series_of(s.store, id, q); };
    auto metrics = co_await offload(s, std::move(read));
    reply.trials.push_back({*std::move(trial), std::move(metrics)});
  }
  co_return reply;
}

/// Of these experiments; reads the store: on the pool.
NamesReply names_of(store::Store& store, const std::vector<ExperimentId>& ids) {
  std::set<std::string> searcher;
  std::set<MetricName> names;
  for (const auto id : ids) {
    const auto experiment = store.experiment(id);
    if (!experiment) continue;
    searcher.insert(searcher_metric(experiment->config).name);
    for (const auto& [trial, summary] : store.summaries(trial_ids(store.trials(id))))
      for (const auto& [key, metrics] : summary) {
        const std::string group = key == "avg_metrics"          ? "training"
                                  : key == "validation_metrics" ? "validation"
                                                                : std::string(key);
        if (metrics.is_object())
          for (const auto& [name, _] : metrics.get_object()) names.insert({group, std::string(name)});
      }
  }
  NamesReply reply;
  reply.searcher_metrics.assign(searcher.begin(), searcher.end());
  for (const auto& name : names) {
    if (name.group == "training") reply.training_metrics.push_back(name.name);
    if (name.group == "validation") reply.validation_metrics.push_back(name.name);
    reply.metric_names.push_back(name);
  }
  return reply;
}

/// Says what `make` (on the pool) gives, and again every some seconds until all the experiments are over.
template <class Item, class F>
asio::awaitable<Result<void>> repeat(Services& s, std::vector<ExperimentId> ids, std::int32_t period, F make,
                                     ItemWriter<Item>& out) {
  const auto pause = std::chrono::seconds(std::clamp(period, 1, 60));
  while (true) {
    auto over = [&s, ids] {
      for (const auto id : ids)
        if (const auto record = s.store.experiment(id); record && !experiment::is_terminal(record->state))
          return false;
      return true;
    };
    const bool last = co_await offload(s, std::move(over));
    auto again = make;
    const auto item = co_await offload(s, std::move(again));
    const bool taken = co_await out.write(item);
    if (!taken || last || period <= 0) co_return Result<void>{};
    co_await s.ledger.wait("a moment", pause);
  }
}

/// One trial's values of a metric, ascending by batches.
std::vector<Point> points_of(store::Store& store, TrialId trial, const MetricQuery& q) {
  std::vector<Point> points;
  for (const auto& report : store.metrics({.trial = trial, .group = group_of(q.group, q.metric_type)}))
    if (const auto value = value_of(report, q.metric_name))
      points.push_back(
          {static_cast<std::int32_t>(report.batches), {{q.metric_name, *value}}, report.report_time});
  return points;
}

BatchesReply batches_of(store::Store& store, const MetricQuery& q) {
  std::set<std::int32_t> batches;
  for (const auto& trial : store.trials(q.experiment_id))
    for (const auto& point : points_of(store, trial.id, q)) batches.insert(point.batches);
  return {{batches.begin(), batches.end()}};
}

SnapshotReply snapshot_of(store::Store& store, const MetricQuery& q) {
  SnapshotReply reply;
  for (const auto& trial : store.trials(q.experiment_id))
    for (const auto& point : points_of(store, trial.id, q)) {
      if (std::abs(point.batches - q.batches_processed) > std::max(q.batches_margin, 0)) continue;
      const auto value = json::to_double(point.values.at(q.metric_name)).value_or(NAN);
      reply.trials.push_back({trial.id, trial.hparams, value, point.batches});
      break;
    }
  return reply;
}

SampleReply sample_of(store::Store& store, const MetricQuery& q) {
  const auto record = store.experiment(q.experiment_id);
  const bool smaller = !record || searcher_metric(record->config).smaller_is_better;
  auto trials = store.trials(q.experiment_id);
  std::erase_if(trials, [](const auto& trial) { return !trial.best_metric; });
  std::stable_sort(trials.begin(), trials.end(), [&](const auto& a, const auto& b) {
    return better(*a.best_metric, *b.best_metric, smaller);
  });
  const auto most = static_cast<std::size_t>(q.max_trials > 0 ? q.max_trials : 25);
  if (trials.size() > most) trials.resize(most);
  SampleReply reply;
  for (const auto& trial : trials) {
    std::vector<Point> points;
    for (auto& report : store.curve({.trial = trial.id,
                                     .group = group_of(q.group, q.metric_type),
                                     .names = {q.metric_name},
                                     .after_batches = std::int64_t{q.start_batches} - 1,
                                     .up_to_batches = last_of(q.end_batches),
                                     .points = curve_points(q.max_datapoints)}))
      if (!report.avg_metrics.empty())
        points.push_back(
            {static_cast<std::int32_t>(report.batches), std::move(report.avg_metrics), report.report_time});
    reply.promoted_trials.push_back(trial.id);
    reply.trials.push_back({trial.id, trial.hparams, std::move(points)});
  }
  return reply;
}

/// Each validation that was the best of its experiment when it came.
Result<HistoryReply> history_of(store::Store& store, ExperimentId id) {
  const auto record = store.experiment(id);
  if (!record) return not_found("experiment '{}' not found", id);
  const auto metric = searcher_metric(record->config);
  std::vector<HistoryEntry> all;
  for (const auto& trial : store.trials(id))
    for (const auto& report : store.metrics({.trial = trial.id, .group = "validation"}))
      if (const auto value = value_of(report, metric.name))
        all.push_back({trial.id, report.report_time, *value});
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.end_time < b.end_time; });
  HistoryReply reply;
  for (const auto& entry : all) {
    auto& history = reply.validation_history;
    if (std::isnan(entry.searcher_metric)) continue;
    if (history.empty() ||
        better(entry.searcher_metric, history.back().searcher_metric, metric.smaller_is_better))
      history.push_back(entry);
  }
  return reply;
}

template <class Item>
void add_metric_stream(http::Router& router, Services& s, const std::string& word, const std::string& summary,
                       Item (*make)(store::Store&, const MetricQuery&)) {
  router.add_stream<MetricQuery, Item>(
      Verb::Get, "/api/v1/experiments/{experimentId}/metrics-stream/" + word,
      [&s, make](Context, MetricQuery q, ItemWriter<Item>& out) -> asio::awaitable<Result<void>> {
        auto read = [&s, id = q.experiment_id] { return s.store.experiment(id).has_value(); };
        const auto known = co_await offload(s, std::move(read));
        if (!known) co_return not_found("experiment '{}' not found", q.experiment_id);
        const std::vector<ExperimentId> ids = {q.experiment_id};
        auto now = [&s, q, make] { return make(s.store, q); };
        co_return co_await repeat<Item>(s, ids, q.period_seconds, std::move(now), out);
      },
      Doc{.summary = summary, .tag = "Trials", .errors = {ErrorCode::NotFound}});
}

}  // namespace

void add_compare_routes(http::Router& router, Services& s) {
  router.add<SeriesQuery, CompareSeriesReply>(
      Verb::Get, "/api/v1/trials/time-series",
      [&s](Context, SeriesQuery q) { return series(s, std::move(q)); },
      Doc{.summary = "Compare the metrics of several trials, with at most `maxDatapoints` points for each",
          .tag = "Trials",
          .errors = {ErrorCode::NotFound}});
  router.add_stream<NamesQuery, NamesReply>(
      Verb::Get, "/api/v1/experiments/metrics-stream/metric-names",
      [&s](Context, NamesQuery q, ItemWriter<NamesReply>& out) -> asio::awaitable<Result<void>> {
        auto now = [&s, ids = q.ids] { return names_of(s.store, ids); };
        co_return co_await repeat<NamesReply>(s, q.ids, q.period_seconds, std::move(now), out);
      },
      Doc{.summary =
              "List the metric names of experiments; with `periodSeconds`, repeat until the experiments end",
          .tag = "Experiments"});
  add_metric_stream<BatchesReply>(router, s, "batches", "List the batches at which a metric was reported",
                                  batches_of);
  add_metric_stream<SnapshotReply>(
      router, s, "trials-snapshot",
      "Get the values of a metric for all trials of an experiment at a number of batches", snapshot_of);
  add_metric_stream<SampleReply>(router, s, "trials-sample",
                                 "Get the metric curves of the best trials of an experiment", sample_of);
  router.add<OfExperiment, HistoryReply>(
      Verb::Get, "/api/v1/experiments/{experimentId}/validation-history",
      [&s](Context, OfExperiment q) -> asio::awaitable<Result<HistoryReply>> {
        auto read = [&s, id = q.experiment_id] { return history_of(s.store, id); };
        co_return co_await offload(s, std::move(read));
      },
      Doc{.summary = "List the improvements of the best searcher metric of an experiment",
          .tag = "Experiments",
          .errors = {ErrorCode::NotFound}});
}

}  // namespace det::master
