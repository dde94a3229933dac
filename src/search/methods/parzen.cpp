#include "det/search/methods/parzen.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace det::search {
namespace {

double cumulative(double value, double mean, double width) {
  return 0.5 * std::erfc((mean - value) / (width * std::numbers::sqrt2));
}

}  // namespace

Parzen::Parzen(const Axis& axis, std::vector<double> observed)
    : axis_(axis), low_(axis.low), high_(axis.high) {
  if (axis.kind == Axis::Kind::Choice) {
    choices_.assign(static_cast<std::size_t>(axis.high) + 1, 1.0);
    for (const double value : observed) choices_[static_cast<std::size_t>(value)] += 1;
    const auto whole = static_cast<double>(observed.size() + choices_.size());
    for (auto& choice : choices_) choice /= whole;
    return;
  }
  if (axis.kind == Axis::Kind::Integer) low_ -= 0.5, high_ += 0.5;
  const double range = high_ - low_;
  const double prior = low_ + range / 2;
  std::ranges::sort(observed);
  const auto at = std::ranges::lower_bound(observed, prior) - observed.begin();
  observed.insert(observed.begin() + at, prior);
  const double narrowest = range / std::min(100.0, static_cast<double>(observed.size()) + 1);
  for (std::size_t i = 0; i < observed.size(); ++i) {
    const double below = observed[i] - (i == 0 ? low_ : observed[i - 1]);
    const double above = (i + 1 == observed.size() ? high_ : observed[i + 1]) - observed[i];
    Bell bell{.mean = observed[i], .width = std::clamp(std::max(below, above), narrowest, range)};
    if (static_cast<std::ptrdiff_t>(i) == at) bell.width = range;
    if (range > 0)
      bell.mass = cumulative(high_, bell.mean, bell.width) - cumulative(low_, bell.mean, bell.width);
    bells_.push_back(bell);
  }
}

double Parzen::draw(Random& random) const {
  if (axis_.kind == Axis::Kind::Choice) {
    double left = random.unit();
    for (std::size_t i = 0; i + 1 < choices_.size(); ++i)
      if ((left -= choices_[i]) < 0) return static_cast<double>(i);
    return static_cast<double>(choices_.size() - 1);
  }
  if (high_ <= low_) return axis_.low;
  const auto& bell = bells_[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bells_.size())))];
  // The value below which so much of the bell's part in the range lies, by bisection: exact, and the same
  // everywhere.
  const double target = cumulative(low_, bell.mean, bell.width) + random.unit() * bell.mass;
  double low = low_, high = high_;
  for (int i = 0; i < 60; ++i) {
    const double middle = low + (high - low) / 2;
    (cumulative(middle, bell.mean, bell.width) < target ? low : high) = middle;
  }
  const double value = axis_.kind == Axis::Kind::Integer ? std::round(low) : low;
  return std::clamp(value, axis_.low, axis_.high);
}

double Parzen::log_density(double value) const {
  if (axis_.kind == Axis::Kind::Choice) return std::log(choices_[static_cast<std::size_t>(value)]);
  if (high_ <= low_) return 0;
  double sum = 0;
  for (const auto& bell : bells_) {
    if (axis_.kind == Axis::Kind::Integer) {
      sum +=
          (cumulative(value + 0.5, bell.mean, bell.width) - cumulative(value - 0.5, bell.mean, bell.width)) /
          bell.mass;
    } else {
      const double distance = (value - bell.mean) / bell.width;
      sum +=
          std::exp(-0.5 * distance * distance) / (bell.width * bell.mass * std::sqrt(2 * std::numbers::pi));
    }
  }
  return std::log(std::max(sum / static_cast<double>(bells_.size()), 1e-300));
}

}  // namespace det::search
