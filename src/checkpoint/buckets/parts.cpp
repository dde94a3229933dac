#include "det/checkpoint/buckets/parts.h"

#include <algorithm>

namespace det::checkpoint {

PartSums part_sums(int file, std::int64_t bytes, const std::string& shown) {
  return {.bytes = bytes, .sums = piece_sums(file, bytes, kPartBytes, shown)};
}

std::vector<Segment> segments(const PartSums& before, const PartSums& now, const SegmentLimits& limits) {
  std::vector<Segment> all;
  const auto length = [](const PartSums& file, std::size_t i) {
    return std::min(kPartBytes, file.bytes - static_cast<std::int64_t>(i) * kPartBytes);
  };
  for (std::size_t i = 0; i < now.sums.size(); ++i) {
    const auto bytes = length(now, i);
    const bool same = i < before.sums.size() && before.sums[i] == now.sums[i] && length(before, i) == bytes;
    const auto most = same ? limits.same_max : limits.changed_max;
    if (!all.empty() && all.back().same == same && all.back().bytes + bytes <= most)
      all.back().bytes += bytes;
    else
      all.push_back({static_cast<std::int64_t>(i) * kPartBytes, bytes, same});
  }
  return all;
}

}  // namespace det::checkpoint
