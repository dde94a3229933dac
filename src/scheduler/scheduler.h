#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "det/base/time.h"

namespace det::scheduler {

/// One schedulable device of an agent.
struct Slot {
  int id = 0;
  bool enabled = true;
  bool used = false;
  friend bool operator==(const Slot&, const Slot&) = default;
};

struct Agent {
  std::string id;
  std::vector<Slot> slots;
  bool enabled = true;
  bool draining = false;    ///< takes nothing new
  int zero_slot_max = 100;  ///< tasks without slots that it may run at once
  int zero_slot_running = 0;
  friend bool operator==(const Agent&, const Agent&) = default;
};

/// Slots asked for, and held if it runs already.
struct Request {
  std::string allocation_id;
  std::string group;  ///< the job: one experiment, or one task that is not a trial
  int slots = 1;
  bool single_agent = false;
  bool preemptible = true;
  std::set<std::string> blocked_agents;
  int priority = 42;  ///< 1 to 99, lower is more important
  double weight = 1;
  std::optional<int> slots_max;  ///< of the whole group
  Time submitted;                ///< of the job
  Time requested;                ///< of this allocation
  bool running = false;          ///< holds slots now (also while it is being preempted)
  bool releasing = false;        ///< already asked to give them back
};

struct Share {
  std::string agent;
  std::vector<int> slots;  ///< empty for a task without slots
  friend bool operator==(const Share&, const Share&) = default;
};

struct Placement {
  std::string allocation_id;
  std::vector<Share> shares;  ///< all of them start together or not at all; in rank order
  friend bool operator==(const Placement&, const Placement&) = default;
};

/// Why a request is not placed: a code, and the numbers behind it. `text` makes words for its owner of it,
/// for the few requests that somebody asks about; a plan of many would take longer for words than for the
/// rest.
struct Why {
  enum class Reason : std::uint8_t {
    // It could not run even if nothing else did:
    NegativeSlots,
    NoAgents,        ///< in the pool
    NoAgentsForIt,   ///< without slots, and no agent takes such tasks
    TooFewSlots,     ///< the pool has
    NotOnOneAgent,   ///< where it has to be on one
    NotWholeAgents,  ///< several agents have to be filled whole
    // Not now:
    AgentsFull,     ///< without slots, and each agent runs as many such tasks as it may
    TooFewFree,     ///< slots
    AboveGroupMax,  ///< more than its group may ever use
    GroupMaxInUse,  ///< more than its group may use besides what it uses
  };
  Reason reason = Reason::TooFewFree;
  int slots = 0;            ///< that it needs
  int agents = 0;           ///< that take something new
  int agents_unusable = 0;  ///< disabled or draining
  int agents_blocked = 0;   ///< that it must not use
  int slots_there = 0;      ///< of the pool if it could never run, else those that are free
  int slots_on_one = 0;     ///< the most of them on one agent
  int group_max = 0;
  std::int64_t group_used = 0;
  std::int64_t ahead = 0;  ///< requests before it in the line
  friend bool operator==(const Why&, const Why&) = default;
};
/// "needs 4 slots; 2 are free on 3 agents; 1 request is ahead in the queue"
std::string text(const Why& why);

/// What to do now. Everything not named stays as it is.
struct Plan {
  struct Waiting {
    std::size_t request = 0;  ///< its place among the requests given
    Why why;
  };
  std::vector<Placement> start;
  std::vector<std::string> preempt;
  std::vector<Waiting> waiting;  ///< each request that is not placed, in the order of the queue
};

/// Which waiting requests of one pool start where, and which running ones give way.
///
/// Pure: the same pool and requests give the same plan, whatever their order in
/// memory. Nothing is kept between calls; the caller holds the state.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual Plan plan(std::span<const Agent> agents, std::span<const Request> requests) const = 0;
};

/// Best fills agents up, so that whole ones stay free for large requests; Worst spreads.
enum class Fitting { Best, Worst };

struct FittingOptions {
  Fitting fitting = Fitting::Best;
  /// A request larger than every agent normally takes agents of one size; with this also of several.
  bool heterogeneous = false;
};

/// First in, first out by (submitted, requested, allocation id), with gangs: the
/// head of the line that does not fit holds back those behind it that need slots.
///
/// Not in that line, and so holding nobody back: requests without slots (each starts
/// as soon as it fits), requests of a group that uses all of its slots_max, and
/// requests that never fit. Preempts nothing.
std::unique_ptr<Scheduler> make_fifo(const FittingOptions& options);
std::unique_ptr<Scheduler> make_fifo(Fitting fitting);

/// Whether `request` could run on this pool if nothing else did; if not, why not.
/// Agents and slots that are disabled or draining now do not count.
std::optional<std::string> never_fits(std::span<const Agent> agents, const Request& request);
std::optional<std::string> never_fits(std::span<const Agent> agents, const Request& request,
                                      const FittingOptions& options);

}  // namespace det::scheduler
