// Costs, from what finished trials took.

#include <algorithm>
#include <cmath>
#include <map>

#include "det/forecast/forecast.h"

namespace det::forecast {
namespace {

double seconds_between(Time from, Time to) {
  return static_cast<double>(to - from) / static_cast<double>(kSecond);
}

/// Of the values with their weights: where half of the weight is below.
double weighted_median(std::vector<std::pair<double, double>> values) {
  std::ranges::sort(values);
  double whole = 0, below = 0;
  for (const auto& [value, weight] : values) whole += weight;
  for (const auto& [value, weight] : values)
    if ((below += weight) * 2 >= whole) return value;
  return values.back().first;
}

}  // namespace

Result<Costs> learn(const std::vector<MeasuredRun>& runs, Costs otherwise) {
  std::vector<std::pair<double, double>> paces;
  for (const auto& run : runs)
    for (std::size_t i = 1; i < run.training.size(); ++i) {
      const auto batches = run.training[i].first - run.training[i - 1].first;
      const auto seconds = seconds_between(run.training[i - 1].second, run.training[i].second);
      if (batches > 0 && seconds > 0)
        paces.emplace_back(seconds / static_cast<double>(batches), static_cast<double>(batches));
    }
  if (paces.empty()) return invalid_argument("no trial reported training twice: its pace cannot be learned");
  auto costs = std::move(otherwise);
  costs.seconds_per_batch = weighted_median(paces);
  std::vector<std::pair<double, double>> starts;
  std::map<std::int64_t, std::map<std::int64_t, double>> curves;
  std::map<std::int64_t, std::int64_t> reached;  // batches of each trial where its next run began
  for (const auto& run : runs) {
    if (run.start && !run.training.empty()) {
      const auto trained = static_cast<double>(run.training.front().first - reached[run.trial]);
      const auto all = seconds_between(*run.start, run.training.front().second);
      if (trained >= 0) starts.emplace_back(std::max(all - trained * costs.seconds_per_batch, 0.0), 1);
    }
    if (!run.training.empty()) reached[run.trial] = run.training.back().first;
    for (const auto& point : run.validations)
      if (std::isfinite(point.metric)) curves[run.trial][point.batches] = point.metric;
  }
  if (!starts.empty()) costs.start_seconds = weighted_median(starts);
  costs.curves.clear();
  for (const auto& [trial, points] : curves) {
    std::vector<Point> curve;
    for (const auto& [batches, metric] : points) curve.push_back({batches, metric});
    costs.curves.push_back(std::move(curve));
  }
  return costs;
}

}  // namespace det::forecast
