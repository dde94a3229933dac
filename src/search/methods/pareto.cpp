#include "det/search/methods/pareto.h"

#include <algorithm>
#include <cmath>

namespace det::search {
namespace {

bool dominates(const std::vector<double>& one, const std::vector<double>& other) {
  bool smaller = false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i] > other[i]) return false;
    smaller = smaller || one[i] < other[i];
  }
  return smaller;
}

}  // namespace

std::vector<std::size_t> pareto_front(const std::vector<std::vector<double>>& points) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (std::ranges::none_of(points[i], [](double x) { return std::isnan(x); })) order.push_back(i);
  // In ascending order a point is only dominated by one before it; and if by any, then by one of the front.
  std::ranges::stable_sort(order, {}, [&](std::size_t i) -> const std::vector<double>& { return points[i]; });
  std::vector<std::size_t> front;
  for (const auto i : order)
    if (std::ranges::none_of(front, [&](std::size_t other) { return dominates(points[other], points[i]); }))
      front.push_back(i);
  std::ranges::sort(front);
  return front;
}

}  // namespace det::search
