#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "det/base/time.h"

namespace det::access {

/// A request limit for each caller: a bucket that each call fills by its cost and that empties over time.
/// Pure: the time is an argument.
class RateLimit {
 public:
  struct Limits {
    double per_second = 5'000;        ///< 0: no limit
    double burst = 50'000;            ///< what may be asked for at once
    std::size_t remembered = 10'000;  ///< callers; more: those are forgotten who asked for least
  };

  RateLimit() = default;
  explicit RateLimit(const Limits& limits) : limits_(limits) {}

  /// 0: it is granted. Else nothing is counted, and it would be granted in so many seconds, rounded up.
  std::int64_t take(const std::string& caller, double cost, Time now);

 private:
  struct Bucket {
    double level = 0;
    Time at{};
  };
  double level_of(const Bucket& bucket, Time now) const;
  void make_room(Time now);

  Limits limits_;
  std::map<std::string, Bucket> buckets_;
};

}  // namespace det::access
