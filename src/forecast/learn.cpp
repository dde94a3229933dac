// Costs, from what finished trials took.

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

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

/// Seconds a batch, each with its batches.
using Paces = std::vector<std::pair<double, double>>;

/// From one report to the next.
struct Interval {
  double batches = 0, seconds = 0;
  bool validates = false;
};

std::vector<Interval> between_reports(const std::vector<MeasuredRun>& runs) {
  std::vector<Interval> intervals;
  for (const auto& run : runs)
    for (std::size_t i = 1; i < run.reports.size(); ++i) {
      const auto from = run.reports[i - 1].second, to = run.reports[i].second;
      const auto batches = run.reports[i].first - run.reports[i - 1].first;
      if (batches > 0 && from < to)
        intervals.push_back({.batches = static_cast<double>(batches),
                             .seconds = seconds_between(from, to),
                             .validates = std::ranges::any_of(
                                 run.validated, [&](Time at) { return from < at && at <= to; })});
    }
  return intervals;
}

Paces paces_of(const std::vector<Interval>& intervals, bool validating) {
  Paces paces;
  for (const auto& each : intervals)
    if (each.validates == validating) paces.emplace_back(each.seconds / each.batches, each.batches);
  return paces;
}

/// What a validation adds to the pace; 0 where it is in it.
std::optional<double> validation_seconds(const std::vector<Interval>& intervals, double pace, bool in_pace) {
  std::vector<std::pair<double, double>> added;
  for (const auto& each : intervals)
    if (each.validates)
      added.emplace_back(in_pace ? 0 : std::max(each.seconds - each.batches * pace, 0.0), 1);
  if (added.empty()) return std::nullopt;
  return weighted_median(added);
}

/// From its last report to its end: mostly the last checkpoint.
std::optional<double> seconds_to_end(const std::vector<MeasuredRun>& runs) {
  std::vector<std::pair<double, double>> rests;
  for (const auto& run : runs) {
    if (!run.end || (run.reports.empty() && run.validated.empty())) continue;
    Time last = run.reports.empty() ? run.validated.back() : run.reports.back().second;
    if (!run.validated.empty()) last = std::max(last, run.validated.back());
    rests.emplace_back(std::max(seconds_between(last, *run.end), 0.0), 1);
  }
  if (rests.empty()) return std::nullopt;
  return weighted_median(rests);
}

/// With the start of the run in them: nothing says what of it was the start.
Paces since_start(const std::vector<MeasuredRun>& runs) {
  Paces paces;
  std::map<std::int64_t, std::int64_t> reached;
  for (const auto& run : runs) {
    if (run.reports.empty()) continue;
    const auto& [batches, when] = run.reports.back();
    const auto trained = static_cast<double>(batches - std::exchange(reached[run.trial], batches));
    if (!run.start || trained <= 0) continue;
    paces.emplace_back(std::max(seconds_between(*run.start, when), 0.0) / trained, trained);
  }
  return paces;
}

}  // namespace

Result<Costs> learn(const std::vector<MeasuredRun>& runs, Costs otherwise) {
  const auto intervals = between_reports(runs);
  auto paces = paces_of(intervals, false);
  const bool validation_in_pace = paces.empty();
  if (paces.empty()) paces = paces_of(intervals, true);
  if (paces.empty()) paces = since_start(runs);
  if (paces.empty())
    return invalid_argument(
        "no trial has reported its progress, so its speed cannot be measured; choose an experiment that has "
        "trained for longer");
  auto costs = std::move(otherwise);
  costs.seconds_per_batch = weighted_median(paces);
  costs.validation_seconds = validation_seconds(intervals, costs.seconds_per_batch, validation_in_pace)
                                 .value_or(costs.validation_seconds);
  costs.checkpoint_seconds = seconds_to_end(runs).value_or(costs.checkpoint_seconds);
  std::vector<std::pair<double, double>> starts;
  std::map<std::int64_t, std::map<std::int64_t, double>> curves;
  std::map<std::int64_t, std::int64_t> reached;  // batches of each trial where its next run began
  for (const auto& run : runs) {
    if (run.start && !run.reports.empty()) {
      const auto trained = static_cast<double>(run.reports.front().first - reached[run.trial]);
      const auto all = seconds_between(*run.start, run.reports.front().second);
      if (trained >= 0) starts.emplace_back(std::max(all - trained * costs.seconds_per_batch, 0.0), 1);
    }
    if (!run.reports.empty()) reached[run.trial] = run.reports.back().first;
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
