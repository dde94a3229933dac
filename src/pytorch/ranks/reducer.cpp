#include "det/pytorch/reducer.h"

#include <algorithm>
#include <cmath>

namespace det::pytorch {

namespace {

/// NumPy's summation: eight running sums for up to 128 values, halves above that.
double pairwise_sum(std::span<const double> values) {
  constexpr std::size_t kBlock = 128;
  const auto n = values.size();
  if (n < 8) {
    double sum = -0.0;
    for (const double value : values) sum += value;
    return sum;
  }
  if (n <= kBlock) {
    double r[8];
    std::copy_n(values.begin(), 8, r);
    std::size_t i = 8;
    for (; i < n - n % 8; i += 8)
      for (std::size_t j = 0; j < 8; ++j) r[j] += values[i + j];
    double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < n; ++i) sum += values[i];
    return sum;
  }
  auto half = n / 2;
  half -= half % 8;
  return pairwise_sum(values.first(half)) + pairwise_sum(values.subspan(half));
}

/// NaN wins, as in NumPy.
template <typename Better>
double extreme(std::span<const double> values, Better better) {
  double best = values[0];
  for (const double value : values) {
    if (std::isnan(value)) return value;
    if (better(value, best)) best = value;
  }
  return best;
}

}  // namespace

double reduce(Reducer reducer, std::span<const double> values) {
  switch (reducer) {
    case Reducer::AVG: return (0.0 + pairwise_sum(values)) / static_cast<double>(values.size());
    case Reducer::SUM: return 0.0 + pairwise_sum(values);
    case Reducer::MAX: return extreme(values, [](double a, double b) { return a > b; });
    case Reducer::MIN: return extreme(values, [](double a, double b) { return a < b; });
  }
  return 0;
}

double reduce_ranks(Reducer reducer, std::span<const double> values, std::span<const std::int64_t> batches) {
  if (reducer != Reducer::AVG) return reduce(reducer, values);
  std::vector<double> weighted(values.size());
  double weight = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    weighted[i] = values[i] * static_cast<double>(batches[i]);
    weight += static_cast<double>(batches[i]);
  }
  return pairwise_sum(weighted) / weight;
}

}  // namespace det::pytorch
