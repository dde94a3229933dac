#pragma once

#include <map>
#include <string>

#include "det/elastic/elastic.h"

namespace det::elastic {

/// `decide` with Granularity::Task.
Decision decide_per_task(const Pool& pool, Time now);

/// How many new allotments are requested at once.
constexpr std::size_t kAtOnceMax = 20;

/// Slots that jobs may still use, while requests are looked at in their order. The first of a job that is too
/// large holds back the others of it, as in the scheduler.
class GroupRooms {
 public:
  /// Whether the request's job may use so many slots more; they are taken then.
  bool take(const Demand& demand) {
    if (!demand.group_room) return true;
    auto& left = left_.try_emplace(demand.group, *demand.group_room).first->second;
    const bool fits = demand.slots <= left;
    left = fits ? left - demand.slots : 0;
    return fits;
  }

 private:
  std::map<std::string, int> left_;
};

}  // namespace det::elastic
