#pragma once

#include <cstddef>
#include <vector>

namespace det::search {

/// The points that no other point dominates: none is as small in every coordinate and smaller in one. Equal
/// points are all in it; one with a NaN is not. Ascending by place in `points`, which all have the same
/// dimension.
std::vector<std::size_t> pareto_front(const std::vector<std::vector<double>>& points);

}  // namespace det::search
