#include "det/elastic/elastic.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace det::elastic {
namespace {

/// Free slots of one machine that is there, on its way, or about to be asked for.
struct Room {
  int free = 0;
  std::size_t owner = 0;  ///< the place of its allotment
  bool whole = false;     ///< nothing runs on it
  bool used = false;      ///< a request was packed into it
  std::string agent{};    ///< empty: it is not there yet
};

class Planner {
 public:
  Planner(const Pool& pool, Time now) : pool_(pool), limits_(pool.limits), now_(now) {}

  Decision run() {
    count();
    end_of_time();
    pack();
    keep_minimum();
    give_back();
    ask();
    return std::move(decision_);
  }

 private:
  const Allotment& allotment(std::size_t place) const { return pool_.allotments[place]; }
  bool takes_work(const Allotment& a) const {
    return a.state != State::Releasing && !a.leaving && !leaving_.contains(a.id);
  }

  /// Finds which allotments end soon, and the rooms of all others.
  void count() {
    for (const auto& a : pool_.allotments) {
      nodes_ += a.nodes;
      if (a.ends && a.state == State::Running && !a.leaving &&
          *a.ends + -limits_.grace_period * kSecond <= now_)
        leaving_.insert(a.id);
    }
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < pool_.allotments.size(); ++i) places[allotment(i).id] = i;
    std::vector<int> joined(pool_.allotments.size());
    for (const auto& node : pool_.nodes) {
      const auto place = places.find(node.allotment);
      if (place == places.end()) continue;
      ++joined[place->second];
      if (takes_work(allotment(place->second)))
        there_.push_back({.free = node.free,
                          .owner = place->second,
                          .whole = node.idle_since.has_value(),
                          .agent = node.agent});
    }
    for (std::size_t i = 0; i < pool_.allotments.size(); ++i) {
      if (!takes_work(allotment(i))) continue;
      for (int k = joined[i]; k < allotment(i).nodes; ++k)
        coming_.push_back({.free = limits_.slots_per_node, .owner = i, .whole = true});
    }
    joined_ = std::move(joined);
  }

  void end_of_time() {
    decision_.leaving.assign(leaving_.begin(), leaving_.end());
    for (std::size_t i = 0; i < pool_.allotments.size(); ++i) {
      const auto& a = allotment(i);
      if (a.state != State::Running) continue;
      if (a.leaving && all_idle(i))
        release(i, "its time is almost over");
      else if (joined_[i] == 0 && a.granted && now_ - *a.granted >= limits_.start_timeout * kSecond)
        release(i, fmt::format("no agent has joined within {} s of its start", limits_.start_timeout));
    }
  }

  // ---- who needs what ------------------------------------------------------

  void pack() {
    for (const auto& demand : pool_.demands) {
      if (!can_fit(limits_, demand)) continue;
      if (demand.slots <= limits_.slots_per_node) {
        if (!pack_single(demand)) break;
        continue;
      }
      const int nodes = (demand.slots + limits_.slots_per_node - 1) / limits_.slots_per_node;
      if (!pack_gang(nodes)) break;
      if (pool_.in_order) break;  // what is behind it cannot start before it
    }
  }

  /// The fullest room with enough free slots.
  static Room* best(std::vector<Room>& rooms, const Demand& demand) {
    Room* found = nullptr;
    for (auto& room : rooms)
      if (room.free >= demand.slots && !demand.blocked_agents.contains(room.agent) &&
          (found == nullptr || room.free < found->free))
        found = &room;
    return found;
  }

  /// Whether later requests are worth looking at.
  bool pack_single(const Demand& demand) {
    auto* room = best(there_, demand);
    if (room == nullptr) room = best(coming_, demand);
    if (room == nullptr) room = best(new_, demand);
    if (room == nullptr) {
      if (!may_add(1)) return false;
      // Nodes come as their jobs do.
      const int together = std::min(limits_.nodes_per_job, limits_.max_nodes - nodes_ - added_);
      for (int i = 0; i < together; ++i)
        new_.push_back({.free = limits_.slots_per_node, .owner = 0, .whole = true});
      requests_.push_back(together);
      added_ += together;
      room = best(new_, demand);
    }
    room->free -= demand.slots;
    room->used = true;
    room->whole = false;
    return true;
  }

  /// Nodes that come together count for a gang; single ones do not, lest it hold some and wait for others.
  bool pack_gang(int nodes) {
    std::map<std::size_t, std::vector<Room*>> whole;
    for (auto& room : coming_)
      if (room.whole) whole[room.owner].push_back(&room);
    for (auto& room : there_)
      if (room.whole && whole.contains(room.owner)) whole[room.owner].push_back(&room);
    for (auto& [owner, rooms] : whole) {
      if (static_cast<int>(rooms.size()) < nodes) continue;
      rooms.resize(static_cast<std::size_t>(nodes));
      for (auto* room : rooms) room->free = 0, room->whole = false, room->used = true;
      return true;
    }
    if (may_add(nodes)) {
      requests_.push_back(nodes);
      added_ += nodes;
      return true;
    }
    make_room_for(nodes);
    return false;
  }

  bool may_add(int nodes) {
    if (nodes_ + added_ + nodes <= limits_.max_nodes) return true;
    decision_.why_not_more =
        fmt::format("the pool has {} of at most {} nodes", nodes_ + added_, limits_.max_nodes);
    return false;
  }

  /// Gives idle nodes and requests of other sizes back where they keep a gang from getting its own.
  void make_room_for(int nodes) {
    int short_of = nodes_ + added_ + nodes - limits_.max_nodes;
    for (std::size_t i = 0; i < pool_.allotments.size() && short_of > 0; ++i)
      if (!takes_work(allotment(i))) short_of -= allotment(i).nodes;  // they go anyway
    for (std::size_t i = 0; i < pool_.allotments.size() && short_of > 0; ++i) {
      if (!takes_work(allotment(i)) || is_used(i)) continue;
      const bool waits = allotment(i).state != State::Running;
      if (!waits && !all_idle(i)) continue;
      release(i, fmt::format("a request for {} nodes needs its place", nodes));
      short_of -= allotment(i).nodes;
    }
  }

  // ---- what goes back ------------------------------------------------------

  bool is_used(std::size_t place) const {
    const auto of_it = [&](const Room& room) { return room.owner == place && room.used; };
    return std::ranges::any_of(there_, of_it) || std::ranges::any_of(coming_, of_it);
  }

  /// Whether all of its nodes have joined and run nothing.
  bool all_idle(std::size_t place) const {
    for (const auto& node : pool_.nodes)
      if (node.allotment == allotment(place).id && !node.idle_since) return false;
    return joined_[place] > 0;
  }

  Time idle_since(std::size_t place) const {
    Time latest = allotment(place).requested;
    for (const auto& node : pool_.nodes)
      if (node.allotment == allotment(place).id) latest = std::max(latest, *node.idle_since);
    return latest;
  }

  void give_back() {
    for (std::size_t i = 0; i < pool_.allotments.size(); ++i) {
      const auto& a = allotment(i);
      if (!takes_work(a) || released_.contains(i) || is_used(i)) continue;
      if (is_of_minimum(a)) continue;
      if (a.state != State::Running && now_ - a.requested >= kWithdrawAfter * kSecond)
        release(i, "nobody needs it any more");
      else if (a.state == State::Running && all_idle(i) &&
               now_ - idle_since(i) >= limits_.idle_timeout * kSecond)
        release(i, fmt::format("idle for {} s", limits_.idle_timeout));
    }
  }

  /// Whether the pool would have fewer nodes than its minimum without it, and could not do with fewer.
  bool is_of_minimum(const Allotment& a) const {
    const int missing = limits_.min_nodes - (nodes_staying_ - a.nodes);
    if (missing <= 0) return false;
    const int jobs = (missing + limits_.nodes_per_job - 1) / limits_.nodes_per_job;
    return a.nodes <= jobs * limits_.nodes_per_job;
  }

  void release(std::size_t place, std::string why) {
    if (!released_.insert(place).second) return;
    decision_.releases.push_back({allotment(place).id, std::move(why)});
    nodes_staying_ -= allotment(place).nodes;
  }

  // ---- what is asked for ---------------------------------------------------

  void keep_minimum() {
    nodes_staying_ = 0;
    for (std::size_t i = 0; i < pool_.allotments.size(); ++i)
      if (takes_work(allotment(i)) && !released_.contains(i)) nodes_staying_ += allotment(i).nodes;
    while (nodes_staying_ + added_ < limits_.min_nodes && nodes_ + added_ < limits_.max_nodes) {
      const int together = std::min(limits_.nodes_per_job, limits_.max_nodes - nodes_ - added_);
      requests_.push_back(together);
      added_ += together;
    }
  }

  void ask() {
    constexpr std::size_t kAtOnceMax = 20;
    if (pool_.failures.count > 0) {
      // One at a time, until one of them works.
      const bool waiting = std::ranges::any_of(
          pool_.allotments, [](const Allotment& a) { return a.state != State::Releasing && !a.joined; });
      if (waiting || now_ < next_attempt(pool_.failures)) {
        if (!requests_.empty()) decision_.why_not_more = pool_.failures.why;
        return;
      }
      requests_.resize(std::min<std::size_t>(requests_.size(), 1));
    }
    requests_.resize(std::min(requests_.size(), kAtOnceMax));
    decision_.requests = std::move(requests_);
  }

  const Pool& pool_;
  const Limits& limits_;
  Time now_;
  Decision decision_;
  int nodes_ = 0;          ///< of all allotments
  int nodes_staying_ = 0;  ///< of those that take work
  int added_ = 0;          ///< by this decision
  std::set<std::string> leaving_;
  std::set<std::size_t> released_;
  std::vector<int> joined_;
  std::vector<Room> there_, coming_, new_;
  std::vector<int> requests_;
};

}  // namespace

Decision decide(const Pool& pool, Time now) {
  return Planner(pool, now).run();
}

bool can_fit(const Limits& limits, const Demand& demand) {
  if (demand.slots < 0) return false;
  if (demand.slots <= limits.slots_per_node) return limits.max_nodes > 0;
  if (demand.single_node || limits.slots_per_node < 1 || demand.slots % limits.slots_per_node != 0)
    return false;
  return demand.slots / limits.slots_per_node <= limits.max_nodes;
}

Time next_attempt(const Failures& failures) {
  if (failures.count == 0) return failures.last;
  std::int64_t delay = kBackoffMin;
  for (int i = 1; i < failures.count && delay < kBackoffMax; ++i) delay *= 2;
  return failures.last + std::min(delay, kBackoffMax) * kSecond;
}

}  // namespace det::elastic
