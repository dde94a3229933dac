#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "det/elastic/elastic.h"

/// What decisions of both granularities count, and the rules that they share.
namespace det::elastic {

/// How many new allotments are requested at once.
constexpr std::size_t kAtOnceMax = 20;

/// How many nodes of the pool a request takes that gets nodes of its own.
inline int nodes_for(const Limits& limits, const Demand& demand) {
  if (demand.slots <= limits.slots_per_node) return 1;
  return (demand.slots + limits.slots_per_node - 1) / limits.slots_per_node;
}

/// What the nodes of an allotment do.
struct Occupancy {
  int joined = 0;
  int lost = 0;  ///< they joined once; the engine may not have seen yet that they are gone
  bool busy = false;
  Time idle_since{};  ///< the last of those that joined, where none is busy

  /// Whether some nodes have joined, and none runs anything.
  bool idle() const { return joined > 0 && !busy; }
};

/// Counts the nodes of the pool's allotments into their standings, which are in the order of the allotments,
/// and calls `see(standing, node)` for each.
template <class Standing, class See>
void count_nodes(const Pool& pool, std::vector<Standing>& standings, See see) {
  std::map<std::string, Standing*> of_allotment;
  for (std::size_t i = 0; i < pool.allotments.size(); ++i) {
    standings[i].idle_since = pool.allotments[i].requested;
    of_allotment[pool.allotments[i].id] = &standings[i];
    if (const auto lost = pool.lost.find(pool.allotments[i].id); lost != pool.lost.end())
      standings[i].lost = lost->second;
  }
  for (const auto& node : pool.nodes) {
    const auto found = of_allotment.find(node.allotment);
    if (found == of_allotment.end()) continue;
    auto& standing = *found->second;
    ++standing.joined;
    if (node.idle_since)
      standing.idle_since = std::max(standing.idle_since, *node.idle_since);
    else
      standing.busy = true;
    see(standing, node);
  }
}

/// Why an allotment without any node goes back; empty: it has some, or they are still to come.
inline std::string why_nobody_is_there(const Limits& limits, const Allotment& allotment,
                                       const Occupancy& occupancy, Time now) {
  if (allotment.state != State::Running || occupancy.joined > 0) return "";
  if (occupancy.lost > 0) return occupancy.lost == 1 ? "its agent was lost" : "its agents were lost";
  if (!allotment.granted || now - *allotment.granted < limits.start_timeout * kSecond) return "";
  return fmt::format("no agent has joined within {} s of its start", limits.start_timeout);
}

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
