#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "det/checkpoint/content.h"

namespace det::checkpoint {

/// The least that a part of a multipart upload has on S3, but for the last one.
inline constexpr std::int64_t kPartBytes = std::int64_t{5} << 20;

/// A file in parts of `kPartBytes`, the last one shorter: XXH3-128 of each.
struct PartSums {
  std::int64_t bytes = 0;
  std::vector<PieceSum> sums;
};

/// Reads the first `bytes` of a file. Throws Failure.
PartSums part_sums(int file, std::int64_t bytes, const std::string& shown);

/// Parts that follow each other, all as they were or all changed.
struct Segment {
  std::int64_t offset = 0, bytes = 0;
  bool same = false;
  friend bool operator==(const Segment&, const Segment&) = default;
};

/// A file by what has changed in it since it was `before`. No segment has more than the limit of its kind,
/// and all but the last have at least `kPartBytes`. Pure.
struct SegmentLimits {
  std::int64_t same_max = std::int64_t{1} << 30;
  std::int64_t changed_max = std::int64_t{128} << 20;
};
std::vector<Segment> segments(const PartSums& before, const PartSums& now, const SegmentLimits& limits = {});

}  // namespace det::checkpoint
