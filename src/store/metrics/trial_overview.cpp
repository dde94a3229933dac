#include "det/store/metrics/trial_overview.h"

#include "det/store/metrics/metric_blocks.h"
#include "det/store/metrics/metric_rows.h"
#include "det/store/metrics/metric_summary.h"
#include "det/store/rows/trial_rows.h"

namespace det::store {
namespace {

using experiment::better;

/// Where a trial's best validation is found, without reading them all.
class Search {
 public:
  Search(const OverviewQuery& query, CurveSums& curve) : query_(query), curve_(curve) {}

  TrialId trial() const { return curve_.trial; }
  bool in_blocks() const { return curve_.up_to_batches >= 0; }
  /// Of the best and of the latest; -1: there is none, or for the latest, it is not known.
  std::int64_t best_batches() const { return batches_; }
  std::int64_t last_batches() const { return curve_.last_batches; }
  std::optional<double> best_value() const { return value_; }

  void add_block(std::int64_t up_to, const json::object& body) {
    if (body.empty()) return void(stale_ = true);
    reached_ = up_to;
    const auto extremes = extremes_in(body, query_.metric);
    if (!extremes) return;
    if (extremes->numbers) consider(query_.smaller_is_better ? extremes->low : extremes->high);
    if (extremes->nan) consider(*extremes->nan);
  }
  /// Where blocks do not say it, all reports do.
  void finish(Connection& connection) {
    if (stale_ || reached_ < curve_.up_to_batches) {
      value_.reset();
      batches_ = -1;
      for (const auto& report : read_metrics(connection, {.trial = curve_.trial, .group = curve_.group}))
        if (const auto* found = report.avg_metrics.if_contains(query_.metric))
          if (const auto value = json::to_double(*found))
            consider({.batches = report.batches, .value = *value});
    } else {
      for (const auto& point : curve_.tail) consider(point);
    }
  }

 private:
  void consider(const CurvePoint& point) {
    if (value_ && !better(point.value, value_, query_.smaller_is_better)) return;
    value_ = point.value;
    batches_ = point.batches;
  }

  const OverviewQuery& query_;
  CurveSums& curve_;
  std::optional<double> value_;
  std::int64_t batches_ = -1, reached_ = -1;  // the latter by blocks
  bool stale_ = false;
};

std::vector<Search> search_best(Connection& connection, const OverviewQuery& query,
                                std::vector<CurveSums>& curves) {
  std::vector<Search> searches;
  for (auto& curve : curves)
    if (curve.group == "validation") searches.emplace_back(query, curve);
  std::vector<Search*> in_blocks;
  for (auto& search : searches)
    if (search.in_blocks()) in_blocks.push_back(&search);
  ask_of_each(
      connection,
      "SELECT up_to_batches, body FROM metric_blocks WHERE trial_id = ? AND metric_group = 'validation' "
      "ORDER BY up_to_batches",
      in_blocks, [](Query& ask, const Search* search) { ask.bind(search->trial()); },
      [](Query& row, Search* search) {
        std::int64_t up_to = 0;
        json::object body;
        row.read(up_to, Document{body});
        search->add_block(up_to, body);
      });
  for (auto& search : searches) search.finish(connection);
  return searches;
}

void read_validations(Connection& connection, const std::vector<Search>& searches,
                      std::map<TrialId, TrialOverview>& overviews) {
  static const auto at =
      std::string(kSelectReports) + "WHERE trial_id = ? AND metric_group = 'validation' AND batches = ?";
  static const auto latest =
      std::string(kSelectReports) +
      "WHERE trial_id = ? AND metric_group = 'validation' AND batches >= ? ORDER BY batches DESC LIMIT 1";
  ask_of_each(
      connection, at, searches,
      [](Query& ask, const Search& search) { ask.bind(search.trial(), search.best_batches()); },
      [&](Query& row, const Search& search) {
        overviews[search.trial()].best_validation = read_report(row);
      });
  ask_of_each(
      connection, latest, searches,
      [](Query& ask, const Search& search) { ask.bind(search.trial(), search.last_batches()); },
      [&](Query& row, const Search& search) {
        overviews[search.trial()].latest_validation = read_report(row);
      });
  for (const auto& search : searches) overviews[search.trial()].best_metric = search.best_value();
}

void read_checkpoints(Connection& connection, const OverviewQuery& query,
                      std::map<TrialId, TrialOverview>& overviews) {
  struct Best {
    TrialId trial;
    std::string uuid;
    std::optional<double> value;
  };
  std::vector<Best> all;
  for (const auto trial : query.trials) all.push_back({trial, {}, {}});
  ask_of_each(
      connection, R"sql(
SELECT uuid, bytes,
       (SELECT body FROM metrics
        WHERE metrics.trial_id = checkpoints.trial_id AND metric_group = 'validation'
          AND metrics.batches = checkpoints.batches)
FROM checkpoints
WHERE trial_id = ? AND state = 'Completed'
ORDER BY number
)sql",
      all, [](Query& ask, const Best& best) { ask.bind(best.trial); },
      [&](Query& row, Best& best) {
        std::string uuid;
        std::int64_t bytes = 0;
        std::optional<std::string> validation;
        row.read(uuid, bytes, validation);
        auto& overview = overviews[best.trial];
        ++overview.checkpoint_count;
        overview.checkpoint_bytes += bytes;
        if (!validation) return;
        std::optional<double> value;
        decode_first_members(*validation, [&](std::string_view name, const json::value& member) {
          if (name == query.metric) value = json::to_double(member);
        });
        if (!value || (best.value && !better(*value, best.value, query.smaller_is_better))) return;
        best.value = value;
        best.uuid = std::move(uuid);
      });
  std::erase_if(all, [](const Best& best) { return best.uuid.empty(); });
  static const auto by_uuid = std::string(kSelectCheckpoints) + "WHERE uuid = ?";
  ask_of_each(
      connection, by_uuid, all, [](Query& ask, const Best& best) { ask.bind(best.uuid); },
      [&](Query& row, const Best& best) {
        overviews[best.trial].best_checkpoint = read_checkpoint_row(row);
      });
}

}  // namespace

std::map<TrialId, TrialOverview> read_overviews(Connection& connection, const OverviewQuery& query) {
  std::map<TrialId, TrialOverview> overviews;
  for (const auto trial : query.trials) overviews[trial];
  auto curves = read_all_sums(connection, query.trials, query.metric);
  for (auto& [trial, summary] : summaries_of(curves)) overviews[trial].summary_metrics = std::move(summary);
  read_validations(connection, search_best(connection, query, curves), overviews);
  read_checkpoints(connection, query, overviews);
  return overviews;
}

}  // namespace det::store
