#include "det/checkpoint/buckets/parts.h"

#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>

#include "det/checkpoint/files.h"

namespace det::checkpoint {

PartSums part_sums(int file, std::int64_t bytes, const std::string& shown) {
  PartSums found{.bytes = bytes, .sums = {}};
  std::string buffer(std::size_t{256} << 10, '\0');
  for (std::int64_t begin = 0; begin < bytes; begin += kPartBytes) {
    const auto end = std::min(bytes, begin + kPartBytes);
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    for (auto at = begin; at < end;) {
      const auto wanted = std::min<std::int64_t>(static_cast<std::int64_t>(buffer.size()), end - at);
      const auto got = ::pread(file, buffer.data(), static_cast<std::size_t>(wanted), at);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw_errno("read " + shown, errno);
      if (got == 0)
        throw Failure(Error(ErrorCode::FailedPrecondition, shown + " became shorter while it was read"));
      XXH3_128bits_update(&state, buffer.data(), static_cast<std::size_t>(got));
      at += got;
    }
    const auto sum = XXH3_128bits_digest(&state);
    found.sums.push_back({sum.low64, sum.high64});
  }
  return found;
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
