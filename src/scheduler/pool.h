#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "det/scheduler/scheduler.h"

namespace det::scheduler {

/// The agents of a pool while a plan is made: finds where a request fits and
/// takes the slots (scheduler.md §3).
///
/// First all slots on one agent; else, for more than one slot, whole idle agents
/// of one size that divides the request; else, if allowed, of several sizes. Equal
/// scores go to the agent whose id is first in byte order, which is stable over
/// restarts and easy to predict.
///
/// Agents are indexed by free slots, so that a request costs the logarithm of the
/// number of agents and not the number. Agents of equal attributes are of one kind; each kind has its index,
/// and a request looks into those that have what it asks for.
class Pool {
 public:
  Pool(std::span<const Agent> agents, const FittingOptions& options) : Pool(agents, options, false) {}
  /// The same agents with nothing running on them.
  static Pool empty(std::span<const Agent> agents, const FittingOptions& options);

  bool fits(const Request& request) const { return !find(request).empty(); }
  /// Where `request` fits now, with its slots taken; nullopt if nowhere, and nothing is changed.
  std::optional<std::vector<Share>> place(const Request& request);

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
  std::vector<Part> parts(const Request& request) const;
  /// Ids of the agent's free slots, lowest first.
  std::vector<int> free_slots_of(const std::string& agent) const;
  /// Keeps an agent, or enough whole ones, from everybody else, so that `request` fits there one day: those
  /// that have the most free slots now. Requires: it fits the pool when nothing runs.
  void hold_for(const Request& request);

  // What a waiting request's owner wants to know.
  struct Counts {
    int agents = 0;           ///< that take something new
    int agents_unusable = 0;  ///< disabled or draining
    int slots = 0;            ///< of usable agents
    int free_slots = 0;
    int free_slots_on_one_max = 0;
  };
  /// Of the agents that have these attributes.
  Counts counts(const Attributes& attributes) const;
  int slots() const { return slots_; }                  ///< of usable agents
  int slots_leaving() const { return slots_leaving_; }  ///< in use, and not to be used again
  int free_slots() const { return free_slots_; }
  bool has(const std::string& agent) const;

 private:
  Pool(std::span<const Agent> agents, const FittingOptions& options, bool idle);

  struct Place {
    std::string id;
    std::vector<int> free;    ///< ids of free slots, descending: the lowest is taken first, from the back
    std::vector<int> usable;  ///< ids of the slots that can be taken at all, descending
    int total = 0;            ///< slots that it has
    std::vector<int> busy;    ///< ids of the slots in use
    int zero_free = 0;
    int zero_max = 0;
    bool open = true;      ///< takes something new
    std::size_t kind = 0;  ///< of kinds_
  };
  /// Higher is better; then the lower index, which is the lower id.
  struct Rank {
    double score = 0;
    std::size_t place = 0;
    friend bool operator<(const Rank& a, const Rank& b) {
      return a.score != b.score ? a.score > b.score : a.place < b.place;
    }
  };
  using Ranks = std::set<Rank>;
  using Idle = std::set<std::size_t>;
  /// The agents of equal attributes.
  struct Kind {
    Attributes attributes;
    std::map<int, Ranks> by_free;              ///< agents with free slots, by their number
    std::map<int, Idle, std::greater<>> idle;  ///< agents with no slot used, by size, largest first
    Ranks zero;                                ///< agents with room for a task without slots
    Counts counts{};                           ///< but for free_slots_on_one_max
    bool has(const Attributes& wanted) const;
  };

  double slot_score(const Place& place) const;
  double zero_score(const Place& place) const;
  void add_to_index(std::size_t at);
  void remove_from_index(std::size_t at);
  std::vector<std::size_t> find(const Request& request) const;  ///< the agents to use; none: it does not fit
  Share take_any(std::size_t at, int slots);
  std::optional<std::size_t> index_of(const std::string& agent) const;
  std::optional<std::size_t> best_shared(const Request& request) const;
  std::optional<std::size_t> best_zero(const Request& request) const;
  std::vector<std::size_t> whole_agents(const Request& request) const;
  bool blocked(const Request& request, std::size_t at) const;
  std::size_t kind_of(const Attributes& attributes);

  FittingOptions options_;
  std::vector<Place> agents_;  ///< ascending by id
  std::vector<Kind> kinds_;    ///< in the order in which agents have them; mostly one
  int slots_ = 0;
  int slots_leaving_ = 0;
  int free_slots_ = 0;
};

}  // namespace det::scheduler
