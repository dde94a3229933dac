#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace det::master {

/// How many points of a curve a call gets that asks for `wanted`: at most 10,000, and so many where it does
/// not say.
inline std::size_t curve_points(std::int32_t wanted) {
  constexpr std::int32_t kMax = 10'000;
  return static_cast<std::size_t>(wanted > 0 ? std::min(wanted, kMax) : kMax);
}

}  // namespace det::master
