// Trials that are the best in some way, where several metrics count.

#include <set>

#include "det/master/objects.h"
#include "det/search/methods/pareto.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

struct ParetoQuery {
  ExperimentId experiment_id;
  /// Validation metrics: "loss", "loss:min" or "accuracy:max"; none: those that the searcher optimizes.
  std::vector<std::string> metrics;
  bool include_dominated = false;
};
BOOST_DESCRIBE_STRUCT(ParetoQuery, (), (experiment_id, metrics, include_dominated))
struct ParetoPoint {
  TrialId trial_id;
  std::int64_t batches = 0;
  std::vector<double> values;  ///< in the order of the metrics
  json::object hparams;
  std::string checkpoint_uuid;  ///< of the same number of batches; empty: none is kept
};
BOOST_DESCRIBE_STRUCT(ParetoPoint, (), (trial_id, batches, values, hparams, checkpoint_uuid))
struct DominatedPoint {
  TrialId trial_id;
  std::int64_t batches = 0;
  std::vector<double> values;
};
BOOST_DESCRIBE_STRUCT(DominatedPoint, (), (trial_id, batches, values))
struct ParetoReply {
  std::vector<std::string> metrics;
  std::vector<ParetoPoint> front;  ///< ascending by the first metric's order, best first
  std::int64_t validations = 0;    ///< that have all metrics
  /// Other validations, if asked for; the newest 2,000.
  std::vector<DominatedPoint> dominated;
};
BOOST_DESCRIBE_STRUCT(ParetoReply, (), (metrics, front, validations, dominated))

constexpr std::size_t kMetricsMax = 8;
constexpr std::size_t kDominatedMax = 2'000;

Result<std::vector<SearcherMetric>> parse(const std::vector<std::string>& texts) {
  std::vector<SearcherMetric> metrics;
  for (const auto& text : texts) {
    SearcherMetric metric{.name = text};
    for (const auto* direction : {":min", ":max"})
      if (text.ends_with(direction)) {
        metric.name = text.substr(0, text.size() - 4);
        metric.smaller_is_better = std::string_view(direction) == ":min";
      }
    if (metric.name.empty()) return invalid_argument("metrics has \"{}\", which names no metric", text);
    for (const auto& other : metrics)
      if (other.name == metric.name)
        return invalid_argument("metrics has '{}' twice; remove one", metric.name);
    metrics.push_back(std::move(metric));
  }
  if (metrics.size() < 2 || metrics.size() > kMetricsMax)
    return invalid_argument("metrics has {} entries; it must have from 2 to {}", metrics.size(), kMetricsMax);
  return metrics;
}

/// Those that the searcher of this configuration optimizes, as `parse` reads them.
std::vector<std::string> optimized(const json::object& config) {
  std::vector<std::string> texts;
  for (const auto& metric : searcher_metrics(config))
    texts.push_back(metric.name + (metric.smaller_is_better ? ":min" : ":max"));
  return texts;
}

/// Reads the store: on the pool.
Result<ParetoReply> front_of(store::Store& store, ParetoQuery q) {
  const auto record = store.experiment(q.experiment_id);
  if (!record || record->state == experiment::State::Deleted)
    return not_found("experiment '{}' not found", q.experiment_id);
  if (q.metrics.empty()) {
    q.metrics = optimized(record->config);
    if (q.metrics.size() < 2)
      return invalid_argument("the searcher of experiment {} optimizes one metric; name two or more metrics",
                              q.experiment_id);
  }
  DET_TRY(const auto metrics, parse(q.metrics));
  std::vector<ParetoPoint> all;
  std::vector<std::vector<double>> points;
  for (const auto& trial : store.trials(q.experiment_id))
    for (const auto& report : store.metrics({.trial = trial.id, .group = "validation"})) {
      ParetoPoint point{.trial_id = trial.id, .batches = report.batches, .hparams = trial.hparams};
      std::vector<double> coordinates;
      for (const auto& metric : metrics)
        if (const auto value = value_of(report, metric.name)) {
          point.values.push_back(*value);
          coordinates.push_back(metric.smaller_is_better ? *value : -*value);
        }
      if (coordinates.size() < metrics.size()) continue;
      all.push_back(std::move(point));
      points.push_back(std::move(coordinates));
    }
  ParetoReply reply{.metrics = q.metrics, .validations = static_cast<std::int64_t>(all.size())};
  if (all.empty())
    return not_found("experiment {} has no validation with all of the metrics {}", q.experiment_id,
                     fmt::join(q.metrics, ", "));
  std::map<std::pair<TrialId, std::int64_t>, std::string> checkpoints;
  for (const auto& checkpoint : store.checkpoints_of_experiment(q.experiment_id))
    if (checkpoint.state == experiment::CheckpointState::Completed)
      checkpoints[{checkpoint.trial_id, checkpoint.batches}] = checkpoint.uuid;
  auto front = search::pareto_front(points);
  std::ranges::stable_sort(front, {}, [&](std::size_t i) { return points[i]; });
  if (q.include_dominated) {
    const std::set<std::size_t> best(front.begin(), front.end());
    for (std::size_t i = all.size(); i-- > 0 && reply.dominated.size() < kDominatedMax;)
      if (!best.contains(i)) reply.dominated.push_back({all[i].trial_id, all[i].batches, all[i].values});
  }
  for (const auto i : front) {
    auto& point = all[i];
    if (const auto kept = checkpoints.find({point.trial_id, point.batches}); kept != checkpoints.end())
      point.checkpoint_uuid = kept->second;
    reply.front.push_back(std::move(point));
  }
  return reply;
}

asio::awaitable<Result<ParetoReply>> pareto(Services& s, Context context, ParetoQuery q) {
  if (const auto actor = require_actor(s, context.principal); !actor) co_return tl::unexpected(actor.error());
  auto read = [&s, q] { return front_of(s.store, q); };
  co_return co_await offload(s, std::move(read));
}

}  // namespace

void add_pareto_routes(http::Router& router, Services& s) {
  router.add<ParetoQuery, ParetoReply>(
      Verb::Get, "/api/v1/experiments/{experimentId}/pareto",
      [&s](Context c, ParetoQuery q) { return pareto(s, std::move(c), std::move(q)); },
      Doc{.summary = "List the Pareto-optimal validations of an experiment: those that no other validation "
                     "beats in all metrics",
          .tag = "Experiments",
          .errors = {ErrorCode::NotFound}});
}

}  // namespace det::master
