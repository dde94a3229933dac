#include "det/search/methods/grid_points.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace det::search {

namespace {

/// The i-th of `count` points from `minval` to `maxval`; the middle if it is the only one.
double point(double minval, double maxval, std::int64_t count, std::int64_t i) {
  if (count == 1) return (minval + maxval) / 2;
  return minval + static_cast<double>(i) * (maxval - minval) / static_cast<double>(count - 1);
}

/// An integer range has no more points than it has integers.
std::int64_t integer_count(const config::Integer& integer) {
  const auto width = static_cast<std::uint64_t>(integer.maxval) - static_cast<std::uint64_t>(integer.minval);
  const auto count = static_cast<std::uint64_t>(*integer.count);
  return width < count ? static_cast<std::int64_t>(width) + 1 : *integer.count;
}

std::int64_t nearest_integer(double value) {
  constexpr double kLimit = 9223372036854775808.0;  // the ends of a full int64 range are no doubles
  if (value >= kLimit) return std::numeric_limits<std::int64_t>::max();
  if (value < -kLimit) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(std::round(value));  // half away from zero
}

struct AxisValues {
  using Values = std::vector<json::value>;

  Values operator()(const config::Constant& constant) const { return {constant.value}; }
  Values operator()(const config::Categorical& categorical) const { return categorical.values; }
  Values operator()(const config::Integer& integer) const {
    Values values;
    const auto count = integer_count(integer);
    for (std::int64_t i = 0; i < count; ++i)
      values.emplace_back(nearest_integer(
          point(static_cast<double>(integer.minval), static_cast<double>(integer.maxval), count, i)));
    return values;
  }
  Values operator()(const config::Double& range) const {
    Values values;
    for (std::int64_t i = 0; i < *range.count; ++i)
      values.emplace_back(point(range.minval, range.maxval, *range.count, i));
    return values;
  }
  Values operator()(const config::Log& range) const {
    Values values;
    for (std::int64_t i = 0; i < *range.count; ++i)
      values.emplace_back(std::pow(range.base, point(range.minval, range.maxval, *range.count, i)));
    return values;
  }
  Values operator()(const config::Nested&) const { return {}; }
};

/// How large the grid would be, found before a single point is made.
struct Survey {
  std::vector<std::string> without_count;
  std::vector<std::string> bad_count;
  double size = 1;  // exact as far as it matters; a product of counts may exceed int64

  void visit(const config::Hyperparameters& hyperparameters, const std::string& prefix) {
    for (const auto& [name, hyperparameter] : hyperparameters) {
      const auto path = prefix.empty() ? name : prefix + "." + name;
      const auto& kind = hyperparameter.kind;
      if (const auto* nested = std::get_if<config::Nested>(&kind)) {
        visit(nested->children, path);
      } else if (const auto* categorical = std::get_if<config::Categorical>(&kind)) {
        size *= static_cast<double>(categorical->values.size());
      } else if (const auto* integer = std::get_if<config::Integer>(&kind)) {
        if (counted(integer->count, path)) size *= static_cast<double>(integer_count(*integer));
      } else if (const auto* range = std::get_if<config::Double>(&kind)) {
        if (counted(range->count, path)) size *= static_cast<double>(*range->count);
      } else if (const auto* log = std::get_if<config::Log>(&kind)) {
        if (counted(log->count, path)) size *= static_cast<double>(*log->count);
      }
    }
  }

  bool counted(const std::optional<std::int64_t>& count, const std::string& path) {
    if (count && *count >= 1) return true;
    if (count)
      bad_count.push_back(fmt::format("hyperparameters.{}.count is {}; it must be at least 1", path, *count));
    if (!count) without_count.push_back(path);
    return false;
  }
};

}  // namespace

std::vector<json::value> axis_values(const config::Hyperparameter& hyperparameter) {
  return std::visit(AxisValues{}, hyperparameter.kind);
}

Result<GridPoints> GridPoints::make(const config::Hyperparameters& hyperparameters) {
  Survey survey;
  survey.visit(hyperparameters, "");
  std::vector<Error> errors;
  if (!survey.without_count.empty())
    errors.emplace_back(ErrorCode::InvalidArgument,
                        fmt::format("these hyperparameters must specify counts for grid search: {}",
                                    fmt::join(survey.without_count, ", ")));
  for (auto& message : survey.bad_count) errors.emplace_back(ErrorCode::InvalidArgument, std::move(message));
  if (survey.size > static_cast<double>(kGridPointsMax))
    errors.emplace_back(ErrorCode::InvalidArgument,
                        fmt::format("number of trials for grid search must be <= {}; it is {:.0f}",
                                    kGridPointsMax, survey.size));
  if (!errors.empty()) return tl::unexpected(join_errors(errors));

  GridPoints points;
  std::vector<std::string> path;
  points.add_axes(hyperparameters, path, points.constants_);
  for (const auto& axis : points.axes_) points.size_ *= static_cast<std::int64_t>(axis.values.size());
  return points;
}

void GridPoints::add_axes(const config::Hyperparameters& hyperparameters, std::vector<std::string>& path,
                          json::object& constants) {
  for (const auto& [name, hyperparameter] : hyperparameters) {
    path.push_back(name);
    auto& place = constants[name];
    if (const auto* nested = std::get_if<config::Nested>(&hyperparameter.kind)) {
      add_axes(nested->children, path, place.emplace_object());
    } else if (const auto* constant = std::get_if<config::Constant>(&hyperparameter.kind)) {
      place = constant->value;
    } else {
      axes_.push_back({.path = path, .values = axis_values(hyperparameter)});
    }
    path.pop_back();
  }
}

json::object GridPoints::at(std::int64_t index) const {
  DET_ASSERT(index >= 0 && index < size_);
  auto values = constants_;
  for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
    const auto count = static_cast<std::int64_t>(axis->values.size());
    auto* at = &values;
    for (std::size_t depth = 0; depth + 1 < axis->path.size(); ++depth)
      at = &(*at)[axis->path[depth]].as_object();
    (*at)[axis->path.back()] = axis->values[static_cast<std::size_t>(index % count)];
    index /= count;
  }
  return values;
}

}  // namespace det::search
