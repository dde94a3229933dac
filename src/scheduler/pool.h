#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "det/scheduler/numbers.h"
#include "det/scheduler/queue.h"
#include "det/scheduler/scheduler.h"

namespace det::scheduler {

/// The agents of a pool while a plan is made: finds where a request fits and
/// takes the slots (scheduler.md §3).
///
/// First all slots on one agent; else, for more than one slot, whole idle agents
/// of one size that divides the request; else, if allowed, of several sizes. Equal
/// scores go to the agent whose time is over last, then to the one whose id is
/// first in byte order, which is stable over restarts and easy to predict.
///
/// Agents are indexed by free slots, so that a request costs the number of different scores and not the
/// number of agents. Agents of equal attributes are of one kind; each kind has its index, and a request looks
/// into those that have what it asks for.
///
/// Refers to the agents given; they must outlive it.
class Pool {
 public:
  Pool(std::span<const Agent> agents, const FittingOptions& options) : Pool(agents, options, false) {}
  /// The same agents with nothing running on them.
  static Pool empty(std::span<const Agent> agents, const FittingOptions& options);

  /// Takes over what is new of the agent that is `at` this place in the order of ids. False, and nothing is
  /// changed, if that takes a new pool: other slots, other attributes, or a time that is over one day.
  bool update(std::size_t at, const Agent& agent);

  bool fits(const Queued& request) const { return !find(request).empty(); }
  /// Where `request` fits now, with its slots taken; nullopt if nowhere, and nothing is changed.
  std::optional<std::vector<Share>> place(const Queued& request);

  // What somebody holds, or will hold: exactly these slots. Agents and slots that the pool does not have, or
  // that take nothing new, are passed over, and so are slots that are already so.
  void give_back(const std::vector<Share>& held);
  void take(const std::vector<Share>& held);

  /// An agent of a placement, and how many of its slots.
  struct Part {
    std::string agent;
    int slots = 0;
  };
  /// Where `request` fits now, with nothing taken; empty if nowhere.
  std::vector<Part> parts(const Queued& request) const;
  /// Ids of the agent's free slots, lowest first.
  std::vector<int> free_slots_of(std::string_view agent) const;
  /// How many those are.
  int free_slots_on(std::string_view agent) const;
  /// Keeps an agent, or enough whole ones, from everybody else, so that `request` fits there one day: those
  /// that have the most free slots now. Requires: it fits the pool when nothing runs.
  void hold_for(const Queued& request);

  // What a waiting request's owner wants to know.
  struct Counts {
    int agents = 0;           ///< that take something new
    int agents_unusable = 0;  ///< disabled, draining or silent
    int slots = 0;            ///< of usable agents
    int free_slots = 0;
    int free_slots_on_one_max = 0;
  };
  /// Of the agents that have these attributes.
  Counts counts(const Attributes& attributes) const;
  int slots() const { return slots_; }                  ///< of usable agents
  int slots_leaving() const { return slots_leaving_; }  ///< in use, and not to be used again
  int free_slots() const { return free_slots_; }
  bool has(std::string_view agent) const;

 private:
  Pool(std::span<const Agent> agents, const FittingOptions& options, bool idle);

  struct Device {
    int id = 0;
    bool usable = false;  ///< can be taken at all
    bool busy = false;    ///< in use
    bool free = false;    ///< can be taken now
  };
  struct Place {
    std::string_view id;
    std::size_t devices = 0;  ///< where its slots begin in devices_, ascending by id
    int total = 0;            ///< slots that it has
    int usable = 0, busy = 0, free = 0;
    int leaving = 0;  ///< in use, and not usable
    int zero_free = 0;
    int zero_max = 0;
    bool open = true;        ///< takes something new
    std::size_t kind = 0;    ///< of kinds_
    std::size_t number = 0;  ///< in its kind
  };
  /// Higher is better; then the lower index.
  struct Rank {
    double score = 0;
    std::size_t place = 0;
    friend bool operator<(const Rank& a, const Rank& b) {
      return a.score != b.score ? a.score > b.score : a.place < b.place;
    }
  };
  /// Free slots, and of how many if that changes the score: agents that have these score the same.
  using Freedom = std::pair<int, int>;
  /// The agents of equal attributes, by their numbers.
  struct Kind {
    Attributes attributes;
    std::vector<std::size_t> members;                ///< by number, ascending: their places
    std::map<Freedom, Numbers> by_free;              ///< agents with free slots
    std::map<int, Numbers, std::greater<>> idle;     ///< agents with no slot used, by size, largest first
    std::map<double, Numbers, std::greater<>> zero;  ///< agents with room for a task without slots, by score
    Counts counts{};                                 ///< but for free_slots_on_one_max
    bool has(const Attributes& wanted) const;
  };
  using Idle = std::pair<const Kind*, const Numbers*>;

  void fill(Place& place, const Agent& agent);
  void count(const Place& place, int sign);
  Freedom freedom(const Place& place) const;
  double slot_score(int free, int total) const;
  double zero_score(const Place& place) const;
  void add_to_index(const Place& place);
  void remove_from_index(const Place& place);
  void add_room(const Place& place);  ///< for tasks without slots
  void remove_room(const Place& place);
  std::span<Device> devices_of(const Place& place);
  std::span<const Device> devices_of(const Place& place) const;
  Device* device(const Place& place, int id);
  std::vector<std::size_t> find(const Queued& request) const;  ///< the agents to use; none: it does not fit
  Share take_any(Place& place, int slots);
  const Place* named(std::string_view agent) const;
  Place* named(std::string_view agent);
  std::optional<std::size_t> best_shared(const Queued& request) const;
  std::optional<std::size_t> best_zero(const Queued& request) const;
  std::optional<Rank> best_of(const Kind& kind, const Numbers& numbers, double score,
                              const Queued& request) const;
  std::vector<std::size_t> whole_agents(const Queued& request) const;
  bool blocked(const Queued& request, std::size_t at) const;

  FittingOptions options_;
  bool idle_ = false;                 ///< nothing runs
  std::vector<Place> agents_;         ///< those whose time is over last first; then ascending by id
  std::vector<std::size_t> by_id_{};  ///< their places, ascending by id; empty: they lie so themselves
  std::vector<Device> devices_;
  std::vector<Kind> kinds_;  ///< in the order in which agents have them; mostly one
  int slots_ = 0;
  int slots_leaving_ = 0;
  int free_slots_ = 0;
};

}  // namespace det::scheduler
