#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "det/scheduler/draft.h"
#include "det/scheduler/pool.h"
#include "det/scheduler/shares.h"

namespace det::scheduler {

/// The requests that decide a plan, and what its policy has to know of the others.
struct Shortlist {
  bool decides = false;  ///< otherwise the plan is empty
  std::vector<Request> requests;
  std::optional<Offers> offers;  ///< of FairShare; refers to the backlog
};

/// The requests of a pool in the order of its policy, kept from plan to plan: finds those few that decide the
/// next one.
///
/// What waits is in lines. Requests of a line fit the same places and wait behind one another, so that from
/// the first that cannot start none can: a plan takes slots, and gives none back. Of a line that asks for 8
/// slots each, on a pool with 20 free ones, a plan needs the first three. The rest of a line waits, whatever
/// the plan decides; so do lines that could never run. With RoundRobin and FairShare each group has lines of
/// its own. RoundRobin needs of all groups whose first requests are alike so many that one of them cannot
/// start. FairShare needs the groups whose offer allows a request more, or one less.
///
/// What runs counts by group, but for those that may have to give way.
///
/// Knows no labels, no reservations, no requests with a choice of slots, and no gangs that would fit agents
/// of several sizes: with these a request may fit after one like it did not.
class Backlog {
 public:
  explicit Backlog(const Options& options);
  Backlog(const Backlog&) = delete;
  Backlog& operator=(const Backlog&) = delete;

  /// `place`: among the requests that `shortlist` is given.
  void add(const Request& request, std::size_t place);
  void remove(const std::string& id);
  void moved(const std::string& id, std::size_t place) { entries_.at(id).place = place; }
  /// `idle` can run other requests than before.
  void refit(const Pool& idle);

  /// `room`: those that run may be asked to make room.
  Shortlist shortlist(const Pool& now, const Pool& idle, std::span<const Request> requests, bool room);
  /// Whether somebody has been asked to give way.
  bool anyone_leaves() const { return leaving_ > 0; }
  /// Whether a request that waits by this plan is more important than one that runs and may give way.
  bool wants_room(const Plan& plan, const Shortlist& list, std::span<const Request> requests) const;

 private:
  struct Group;
  struct Line;

  /// What an order needs to know of a request, and where it stands.
  struct Entry {
    std::string_view id;
    int priority = 0;  ///< 0 where the policy has no importance
    std::int64_t position = 0;
    Time submitted, requested;
    std::size_t place = 0;
    int slots = 0;
    bool running = false, releasing = false, preemptible = true;
    Group* group = nullptr;
    Line* line = nullptr;  ///< where it waits; nullptr: it runs
    auto order() const { return std::tie(priority, position, submitted, requested, id); }
  };
  struct Before {
    bool operator()(const Entry* a, const Entry* b) const { return a->order() < b->order(); }
  };
  using Entries = std::set<const Entry*, Before>;

  /// Of a group whose turn comes in a round: by slots in use, the place of its job, and its name.
  struct Turn {
    std::int64_t used = 0, position = 0;
    std::string_view name;
    auto operator<=>(const Turn&) const = default;
  };
  /// What requests ask of agents.
  struct Shape {
    Request like;               ///< one of them
    std::optional<bool> never;  ///< it does not fit even an idle pool
    std::size_t lines = 0;
    std::map<Turn, Group*> headed{};  ///< RoundRobin: groups whose first request is of this shape
  };
  using ShapeKey = std::tuple<int, bool, Attributes, std::set<std::string>>;
  using LineKey = std::tuple<const Shape*, bool, const Group*, std::optional<int>>;
  struct Line {
    LineKey key{};
    Shape* shape = nullptr;
    Group* group = nullptr;  ///< nullptr: of all groups
    std::optional<int> slots_max{};
    Entries entries{};
  };
  struct Group {
    std::string_view name{};
    std::set<Line*> lines{};  ///< its own
    std::size_t size = 0;     ///< requests
    std::size_t limited = 0;  ///< lines with a slots_max
    std::int64_t used = 0;    ///< slots

    Shape* head = nullptr;  ///< RoundRobin: in its `headed`; limited groups are in none
    Turn turn{};

    Entries running{};  ///< FairShare: with slots
    Claim claim{};
    std::int64_t staying = 0;  ///< slots of what does not give them back already
    std::int64_t fewest = 0;   ///< slots of its smallest request that waits
    bool claims = false;       ///< it is in by_age_
  };
  class Choice;

  void wait(const Request& request, Entry& entry);
  void run(const Request& request, Entry& entry);
  void leave_line(const Entry& entry);
  /// What is derived of it will be found anew.
  void change(Group& group);
  void refresh(const Pool& idle, std::span<const Request> requests);
  void refresh_turn(Group& group, const Pool& idle);
  void refresh_claim(Group& group, const Pool& idle, std::span<const Request> requests);

  static bool is_never(Shape& shape, const Pool& idle);
  static bool asks(const Line& line, const Pool& idle);
  void choose_lines(Choice& choice) const;
  void choose_by_turns(Choice& choice) const;
  Offers choose_by_shares(Choice& choice) const;

  Options options_;
  bool by_group_ = false;  ///< each group has lines of its own
  bool preempts_ = false;  ///< Priority with preemption
  std::unordered_map<std::string, Entry> entries_;
  std::unordered_map<std::string, Group> groups_;
  std::map<ShapeKey, Shape> shapes_;
  // In the order of their addresses, which decides nothing: a plan puts what it is given in order.
  std::map<LineKey, Line> lines_;
  std::set<Group*> changed_;
  std::set<Group*> limited_;  ///< those with limited lines
  // With preemption:
  Entries running_, may_give_way_;
  std::size_t leaving_ = 0;
  // Of FairShare:
  std::map<std::tuple<std::int64_t, std::int64_t, std::string_view>, Group*> by_age_;
};

}  // namespace det::scheduler
