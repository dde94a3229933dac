#include "det/elastic/elastic.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "det/elastic/occupancy.h"
#include "det/elastic/per_task.h"

namespace det::elastic {
namespace {

/// What of an allotment the decision is made of.
struct Standing : Occupancy {
  bool used = false;    ///< a request was packed into one of its nodes
  bool closed = false;  ///< its end is so near that nothing new starts there
  bool ending = false;  ///< … that what runs there looks for other nodes
};

/// Free slots of one machine that is there, on its way, or about to be asked for.
struct Room {
  int free = 0;
  Standing* owner = nullptr;  ///< null: about to be asked for
  bool whole = false;         ///< nothing runs on it
  std::string agent{};        ///< empty: it is not there yet
};

class Planner {
 public:
  Planner(const Pool& pool, Time now) : pool_(pool), limits_(pool.limits), now_(now) {}

  Decision run() {
    count();
    end_of_time();
    pack();
    pack_ahead();
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

  bool reached(const std::optional<Time>& time) const { return time && *time <= now_; }

  /// Finds which allotments end soon, and the rooms of all others.
  void count() {
    for (const auto& a : pool_.allotments) {
      nodes_ += a.nodes;
      if (a.state == State::Running && !a.leaving && reached(leaves_at(limits_, a))) leaving_.insert(a.id);
    }
    standings_.resize(pool_.allotments.size());
    for (std::size_t i = 0; i < pool_.allotments.size(); ++i) {
      const auto& a = allotment(i);
      auto& standing = standings_[i];
      standing.closed = !takes_work(a) || reached(closes_at(limits_, a));
      standing.ending = !takes_work(a) || reached(asks_ahead_at(limits_, pool_.waits, a));
      if (standing.ending && a.state == State::Running) ending_.insert(a.id);
    }
    count_nodes(pool_, standings_, [&](Standing& standing, const Node& node) {
      if (!standing.closed)
        there_.push_back({.free = node.free,
                          .owner = &standing,
                          .whole = node.idle_since.has_value(),
                          .agent = node.agent});
    });
    for (std::size_t i = 0; i < pool_.allotments.size(); ++i) {
      if (standings_[i].closed) continue;
      for (int k = standings_[i].joined + standings_[i].lost; k < allotment(i).nodes; ++k)
        coming_.push_back({.free = limits_.slots_per_node, .owner = &standings_[i], .whole = true});
    }
  }

  void end_of_time() {
    decision_.leaving.assign(leaving_.begin(), leaving_.end());
    for (std::size_t i = 0; i < pool_.allotments.size(); ++i) {
      const auto& a = allotment(i);
      if (a.state != State::Running) continue;
      if ((a.leaving || standings_[i].closed) && standings_[i].idle())
        release(i, "its time is almost over");
      else if (const auto why = why_nobody_is_there(limits_, a, standings_[i], now_); !why.empty())
        release(i, why);
    }
  }

  // ---- who needs what ------------------------------------------------------

  void pack() {
    GroupRooms rooms;
    for (const auto& demand : pool_.demands) {
      if (!can_fit(limits_, demand) || !rooms.take(demand)) continue;
      if (demand.slots <= limits_.slots_per_node) {
        if (!pack_single(demand)) break;
        continue;
      }
      if (!pack_gang(nodes_for(limits_, demand))) break;
      if (pool_.in_order) break;  // what is behind it cannot start before it
    }
  }

  /// What runs where an end is near gets other nodes in time, if there may be more.
  void pack_ahead() {
    ahead_ = true;
    for (const auto& run : pool_.running) {
      if (!run.goes_on || std::ranges::none_of(run.on, [&](const auto& id) { return ending_.contains(id); }))
        continue;
      if (run.slots <= limits_.slots_per_node)
        pack_single(run);
      else
        pack_gang(nodes_for(limits_, run));
    }
    ahead_ = false;
  }

  /// Whether a request may be packed there: not where an end is near, if it leaves one itself.
  bool may_use(const Room& room) const { return !ahead_ || room.owner == nullptr || !room.owner->ending; }

  /// The fullest room with enough free slots.
  Room* best(std::vector<Room>& rooms, const Demand& demand) const {
    Room* found = nullptr;
    for (auto& room : rooms)
      if (room.free >= demand.slots && may_use(room) && !demand.blocked_agents.contains(room.agent) &&
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
      for (int i = add_job(); i > 0; --i) new_.push_back({.free = limits_.slots_per_node, .whole = true});
      room = best(new_, demand);
    }
    use(*room, demand.slots);
    return true;
  }

  static void use(Room& room, int slots) {
    room.free -= slots;
    room.whole = false;
    if (room.owner != nullptr) room.owner->used = true;
  }

  /// Nodes that come together count for a gang; single ones do not, lest it hold some and wait for others.
  bool pack_gang(int nodes) {
    std::map<const Standing*, std::vector<Room*>> whole;  // in the order of the allotments
    for (auto& room : coming_)
      if (room.whole && may_use(room)) whole[room.owner].push_back(&room);
    // Those of which all nodes are there would run it by now, if it did not run elsewhere.
    for (auto& room : there_)
      if (room.whole && may_use(room) && (ahead_ || whole.contains(room.owner)))
        whole[room.owner].push_back(&room);
    for (auto& [owner, rooms] : whole) {
      if (static_cast<int>(rooms.size()) < nodes) continue;
      rooms.resize(static_cast<std::size_t>(nodes));
      for (auto* room : rooms) use(*room, room->free);
      return true;
    }
    if (may_add(nodes)) {
      requests_.push_back(nodes);
      added_ += nodes;
      return true;
    }
    if (!ahead_) make_room_for(nodes);
    return false;
  }

  bool may_add(int nodes) {
    if (nodes_ + added_ + nodes <= limits_.max_nodes) return true;
    if (ahead_) return false;
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
      if (!takes_work(allotment(i)) || standings_[i].used) continue;
      const bool waits = allotment(i).state != State::Running;
      if (!waits && !standings_[i].idle()) continue;
      release(i, fmt::format("a request for {} nodes needs its place", nodes));
      short_of -= allotment(i).nodes;
    }
  }

  // ---- what goes back ------------------------------------------------------

  void give_back() {
    for (std::size_t i = 0; i < pool_.allotments.size(); ++i) {
      const auto& a = allotment(i);
      if (!takes_work(a) || released_.contains(i) || standings_[i].used) continue;
      if (is_of_minimum(a)) continue;
      if (a.state != State::Running && now_ - a.requested >= kWithdrawAfter * kSecond)
        release(i, "nobody needs it any more");
      else if (a.state == State::Running && standings_[i].idle() &&
               now_ - standings_[i].idle_since >= limits_.idle_timeout * kSecond)
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
    while (nodes_staying_ + added_ < limits_.min_nodes && nodes_ + added_ < limits_.max_nodes) add_job();
  }

  /// Asks for nodes that no gang needs, which come as their jobs do; their number.
  int add_job() {
    const int together = std::min(limits_.nodes_per_job, limits_.max_nodes - nodes_ - added_);
    requests_.push_back(together);
    added_ += together;
    return together;
  }

  void ask() {
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
    requests_.resize(std::min(requests_.size(), kAtOnceMax), 0);
    decision_.requests.assign(requests_.begin(), requests_.end());
  }

  const Pool& pool_;
  const Limits& limits_;
  Time now_;
  Decision decision_;
  int nodes_ = 0;          ///< of all allotments
  int nodes_staying_ = 0;  ///< of those that take work
  int added_ = 0;          ///< by this decision
  std::set<std::string> leaving_;
  std::set<std::string> ending_;  ///< allotments that run, and what runs there looks for other nodes
  bool ahead_ = false;            ///< what is packed now runs
  std::set<std::size_t> released_;
  std::vector<Standing> standings_;  ///< of the allotments, in their order
  std::vector<Room> there_, coming_, new_;
  std::vector<int> requests_;
};

}  // namespace

Decision decide(const Pool& pool, Time now) {
  if (pool.limits.granularity == Granularity::Task) return decide_per_task(pool, now);
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
