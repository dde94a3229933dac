#include "det/search/methods/parzen.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace det::search {
namespace {

double cumulative(double value, double mean, double width) {
  return 0.5 * std::erfc((mean - value) / (width * std::numbers::sqrt2));
}

// Tuned on the functions of bench/regret.py and two more, on other seeds: decision 45.
constexpr double kWidth = 0.5;  // of a kernel, as a part of the distance to a neighbour
// As many kernels of the least width fill a range. Beside integers and choices, narrower ones would hold on
// to the first good combination.
constexpr double kNarrowest = 100, kNarrowestOfMixed = 15;

/// The distance of each value to its farther neighbour; the ends of the range are the neighbours of a single
/// one.
std::vector<double> gaps(const std::vector<double>& values, double low, double high) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> found(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double value = values[order[i]];
    const bool first = i == 0, last = i + 1 == order.size(), single = first && last;
    const double below = !first ? value - values[order[i - 1]] : single ? value - low : 0;
    const double above = !last ? values[order[i + 1]] - value : single ? high - value : 0;
    found[order[i]] = std::max(below, above);
  }
  return found;
}

}  // namespace

Parzen::Column Parzen::column(const Axis& axis, std::vector<double> observed, bool mixed) {
  Column column{.axis = axis, .low = axis.low, .high = axis.high, .kernels = {}, .logs = {}};
  if (axis.kind == Axis::Kind::Choice) {
    const double choices = axis.high + 1, all = static_cast<double>(observed.size()) + 1;
    const double other = 1 / (all * choices), whole = 1 + 1 / all;
    column.logs = {std::log(other / whole), std::log((1 + other) / whole), -std::log(choices)};
    for (const double value : observed) column.kernels.push_back({.mean = value});
    column.kernels.push_back({.mean = -1});  // none is preferred
    return column;
  }
  if (axis.kind == Axis::Kind::Integer) column.low -= 0.5, column.high += 0.5;
  const double range = column.high - column.low;
  const auto count = static_cast<double>(observed.size());
  const double narrowest = range / std::min(mixed ? kNarrowestOfMixed : kNarrowest, count + 2);
  const auto widths = gaps(observed, column.low, column.high);
  const auto add = [&](double mean, double width) {
    Kernel kernel{.mean = mean, .width = width};
    if (range > 0) kernel.mass = cumulative(column.high, mean, width) - cumulative(column.low, mean, width);
    column.kernels.push_back(kernel);
  };
  for (std::size_t i = 0; i < observed.size(); ++i)
    add(observed[i], std::clamp(kWidth * widths[i], narrowest, range));
  add(column.low + range / 2, range);
  return column;
}

Parzen::Parzen(std::vector<Axis> axes, const std::vector<Point>& observed, const std::vector<double>& weights)
    : shares_(weights) {
  shares_.push_back(1);
  const double all = std::accumulate(shares_.begin(), shares_.end(), 0.0);
  for (auto& share : shares_) share /= all;
  const bool mixed =
      !std::ranges::all_of(axes, [](const Axis& axis) { return axis.kind == Axis::Kind::Real; });
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::vector<double> values;
    values.reserve(observed.size());
    for (const auto& point : observed) values.push_back(point[i]);
    columns_.push_back(column(axes[i], std::move(values), mixed));
  }
}

double Parzen::draw(const Column& column, std::size_t kernel, Random& random) {
  const auto& [mean, width, mass] = column.kernels[kernel];
  const auto& axis = column.axis;
  if (axis.kind == Axis::Kind::Choice) {
    const auto choices = static_cast<std::int64_t>(axis.high) + 1;
    if (mean < 0) return static_cast<double>(random.below(choices));
    double left = random.unit();
    for (std::int64_t i = 0; i + 1 < choices; ++i)
      if ((left -= std::exp(log_density(column, kernel, static_cast<double>(i)))) < 0)
        return static_cast<double>(i);
    return static_cast<double>(choices - 1);
  }
  if (column.high <= column.low) return axis.low;
  // The value below which so much of the kernel's part in the range lies, by bisection: exact, and the same
  // everywhere.
  const double target = cumulative(column.low, mean, width) + random.unit() * mass;
  double low = column.low, high = column.high;
  for (int i = 0; i < 60; ++i) {
    const double middle = low + (high - low) / 2;
    (cumulative(middle, mean, width) < target ? low : high) = middle;
  }
  const double value = axis.kind == Axis::Kind::Integer ? std::round(low) : low;
  return std::clamp(value, axis.low, axis.high);
}

double Parzen::log_density(const Column& column, std::size_t kernel, double value) {
  const auto& [mean, width, mass] = column.kernels[kernel];
  if (column.axis.kind == Axis::Kind::Choice)
    return mean < 0 ? column.logs[2] : column.logs[value == mean ? 1 : 0];
  if (column.high <= column.low) return 0;
  if (column.axis.kind == Axis::Kind::Integer)
    return std::log(std::max(
        (cumulative(value + 0.5, mean, width) - cumulative(value - 0.5, mean, width)) / mass, 1e-300));
  const double distance = (value - mean) / width;
  return -0.5 * distance * distance - std::log(width * mass * std::sqrt(2 * std::numbers::pi));
}

Point Parzen::draw(Random& random) const {
  std::size_t kernel = 0;
  for (double left = random.unit(); kernel + 1 < shares_.size() && (left -= shares_[kernel]) >= 0;) ++kernel;
  Point point;
  for (const auto& column : columns_) point.push_back(draw(column, kernel, random));
  return point;
}

double Parzen::log_density(const Point& point) const {
  std::vector<double> logs;
  for (const double share : shares_) logs.push_back(std::log(share));
  for (std::size_t i = 0; i < columns_.size(); ++i)
    for (std::size_t k = 0; k < logs.size(); ++k) logs[k] += log_density(columns_[i], k, point[i]);
  const double most = *std::ranges::max_element(logs);
  double sum = 0;
  for (const double log : logs) sum += std::exp(log - most);
  return most + std::log(sum);
}

}  // namespace det::search
