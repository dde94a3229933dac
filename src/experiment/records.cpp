#include "det/experiment/records.h"

#include <algorithm>

namespace det::experiment {

std::vector<std::pair<Time, Time>> used_times(const AllocationShare& share, Time begin, Time now) {
  const auto end = share.ended.value_or(now);
  std::vector<std::pair<Time, Time>> times;
  auto at = begin;
  for (const auto& idle : share.idle) {
    if (at < idle.begin) times.emplace_back(at, std::min(idle.begin, end));
    at = idle.end.value_or(end);
  }
  if (at < end) times.emplace_back(at, end);
  return times;
}

std::int64_t slot_microseconds(const AllocationRecord& allocation, Time now) {
  if (!allocation.start_time) return 0;
  const auto end = allocation.end_time.value_or(now);
  std::int64_t sum = 0;
  for (const auto& share : allocation.shares)
    for (const auto& [first, last] : used_times(share, *allocation.start_time, end))
      sum += static_cast<std::int64_t>(share.slots.size()) * (last - first);
  return sum;
}

}  // namespace det::experiment
