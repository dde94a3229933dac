#include "det/access/rate.h"

#include <algorithm>
#include <cmath>

namespace det::access {

double RateLimit::level_of(const Bucket& bucket, Time now) const {
  const auto passed = std::max(0.0, static_cast<double>(now - bucket.at) / static_cast<double>(kSecond));
  return std::max(0.0, bucket.level - passed * limits_.per_second);
}

std::int64_t RateLimit::take(const std::string& caller, double cost, Time now) {
  if (limits_.per_second <= 0) return 0;
  cost = std::min(cost, limits_.burst);  // what costs more than a bucket holds is granted to an empty one
  if (buckets_.size() >= limits_.remembered && !buckets_.contains(caller)) make_room(now);
  auto& bucket = buckets_[caller];
  bucket = {.level = level_of(bucket, now), .at = now};
  const auto over = bucket.level + cost - limits_.burst;
  if (over > 0) return std::max<std::int64_t>(1, std::llround(std::ceil(over / limits_.per_second)));
  bucket.level += cost;
  return 0;
}

void RateLimit::make_room(Time now) {
  std::erase_if(buckets_, [&](const auto& entry) { return level_of(entry.second, now) <= 0; });
  if (buckets_.size() < limits_.remembered) return;
  const auto least = std::min_element(buckets_.begin(), buckets_.end(), [&](const auto& a, const auto& b) {
    return level_of(a.second, now) < level_of(b.second, now);
  });
  buckets_.erase(least);
}

}  // namespace det::access
