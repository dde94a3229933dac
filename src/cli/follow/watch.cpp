#include "det/cli/follow/watch.h"

#include <algorithm>
#include <cmath>

#include "det/cli/follow/plot.h"
#include "det/cli/follow/progress.h"
#include "det/cli/output/console.h"
#include "det/cli/output/format.h"

namespace det::cli {
namespace {

bool smaller_is_better(const json::value& experiment) {
  const auto& smaller = at(experiment, "config.searcher.smaller_is_better");
  return !smaller.is_bool() || smaller.get_bool();
}

double searcher_value(const json::value& trial) {
  return json::to_double(at(trial, "searcherMetricValue")).value_or(NAN);
}

std::string head_line(const json::value& experiment, const json::array& trials) {
  auto text = fmt::format("Experiment {}  {}  {}", integer_at(experiment, "id"), text_at(experiment, "name"),
                          cell_text(state_cell(at(experiment, "state"))));
  if (const auto progress = cell_text(percent_cell(at(experiment, "progress"))); !progress.empty())
    text += "  " + progress;
  text += fmt::format("  {} trial{}", trials.size(), trials.size() == 1 ? "" : "s");
  for (const auto* member : {"waitingReason", "error"})
    if (const auto more = text_at(experiment, member); !more.empty()) text += "  " + escape_controls(more);
  return text;
}

std::string hparams_text(const json::value& hparams) {
  std::string text;
  if (hparams.is_object())
    for (const auto& [name, value] : hparams.get_object())
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", std::string_view(name),
                          value.is_number() ? metric_text(value) : json::serialize(value));
  return text;
}

std::string trial_line(const json::value& trial) {
  const auto batches = integer_at(trial, "totalBatchesProcessed"),
             target = integer_at(trial, "targetBatches");
  const auto far = target > 0 ? fmt::format("{}/{}", batches, target) : std::to_string(batches);
  const auto value = searcher_value(trial);
  return fmt::format(
      "{:>6}  {:<10}  {:>15}  {:>10}  {}", integer_at(trial, "id"), cell_text(state_cell(at(trial, "state"))),
      far, std::isnan(value) ? "" : metric_text(json::value(value)), hparams_text(at(trial, "hparams")));
}

PlotCurve curve_of(const json::value& series, const std::string& metric) {
  PlotCurve curve;
  for (const auto& group : list_at(series, "metrics"))
    for (const auto& point : list_at(group, "data")) {
      const auto& values = at(point, "values");
      if (!values.is_object()) continue;
      if (const auto* value = values.get_object().if_contains(metric))
        curve.emplace_back(static_cast<double>(integer_at(point, "batches")),
                           json::to_double(*value).value_or(NAN));
    }
  return curve;
}

}  // namespace

json::array trials_to_draw(const json::value& experiment, json::array trials, std::size_t most) {
  const double sign = smaller_is_better(experiment) ? 1 : -1;
  const auto before = [&](const json::value& a, const json::value& b) {
    const double x = sign * searcher_value(a), y = sign * searcher_value(b);
    if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
    if (!std::isnan(x) && x != y) return x < y;
    return integer_at(a, "totalBatchesProcessed") > integer_at(b, "totalBatchesProcessed");
  };
  std::stable_sort(trials.begin(), trials.end(), before);
  if (trials.size() > most) trials.resize(most);
  return trials;
}

std::string watch_text(const Watched& watched, const WatchScreen& screen) {
  const auto columns = static_cast<std::size_t>(screen.columns);
  std::string text = clip(head_line(watched.experiment, watched.trials), columns) + "\n\n";
  std::vector<PlotCurve> curves;
  for (const auto& series : watched.series) curves.push_back(curve_of(series, watched.metric));
  // The drawing has half of the screen, the trials the rest.
  const int rows = std::max(6, screen.rows / 2 - 2);
  const auto drawing = draw_curves(curves, {screen.columns, rows}, screen.colours);
  if (!drawing.empty()) {
    text += clip(fmt::format("{} over batches", escape_controls(watched.metric)), columns) + '\n';
    for (const auto& line : drawing) text += line + '\n';
    text += '\n';
  }
  if (watched.trials.empty()) return text;
  text += clip("      Trial   State               Batches      Metric  Hyperparameters", columns).substr(1) +
          '\n';
  const auto used = 5 + static_cast<int>(drawing.empty() ? 0 : drawing.size() + 2);
  const auto room = static_cast<std::size_t>(std::max(3, screen.rows - used));
  const auto shown = trials_to_draw(watched.experiment, watched.trials, room);
  for (const auto& trial : shown) {
    auto mark = std::string(" ");
    for (std::size_t i = 0; i < watched.series.size(); ++i)
      if (integer_at(watched.series[i], "id") == integer_at(trial, "id"))
        mark = screen.colours ? curve_colour(i, "●") : "●";
    text += mark + clip(trial_line(trial), columns - 1) + '\n';
  }
  if (const auto more = watched.trials.size() - shown.size(); more > 0)
    text += fmt::format("  and {} more: det experiment list-trials {}\n", more,
                        integer_at(watched.experiment, "id"));
  return text;
}

}  // namespace det::cli
