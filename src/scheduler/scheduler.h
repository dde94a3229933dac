#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
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

/// What an agent has, by name: {"gpu": "a100", "zone": "north"}.
using Attributes = std::map<std::string, std::string>;

struct Agent {
  std::string id;
  std::string label{};      ///< takes only requests with the same
  Attributes attributes{};  ///< takes requests that ask for some of them, or for none
  std::vector<Slot> slots{};
  bool enabled = true;
  bool draining = false;    ///< takes nothing new, as one that is silent
  int zero_slot_max = 100;  ///< tasks without slots that it may run at once
  int zero_slot_running = 0;
  std::optional<Time> until{};  ///< from then on it takes nothing new, for its machine goes
  std::string reserved_for{};   ///< takes only requests with this reservation
  friend bool operator==(const Agent&, const Agent&) = default;
};

struct Share {
  std::string agent;
  std::vector<int> slots;  ///< empty for a task without slots
  friend bool operator==(const Share&, const Share&) = default;
};

/// How finely a place in the queue can be given between two jobs of neighbouring microseconds.
constexpr std::int64_t kPositionsPerMicrosecond = 1024;

/// Slots asked for, and held if it runs already.
struct Request {
  std::string allocation_id;
  std::string group;  ///< the job: one experiment, or one task that is not a trial
  std::string label{};
  Attributes attributes{};  ///< each agent that it uses has all of these
  int slots = 1;
  /// The numbers of slots that it can run on, ascending; fewer than two: `slots` alone. `slots` is the first
  /// of them while it waits, and what it holds while it runs.
  std::vector<int> slot_counts{};
  bool resizable = false;  ///< it runs, and may be asked to start again on more or fewer slots
  bool single_agent = false;
  bool preemptible = true;
  std::set<std::string> blocked_agents;
  int priority = 42;  ///< 1 to 99, lower is more important
  double weight = 1;
  std::optional<int> slots_max;  ///< of the whole group
  /// The job's place in the queue, lower is earlier, in 1/kPositionsPerMicrosecond of a microsecond; 0: that
  /// of its submission.
  std::int64_t position = 0;
  Time submitted;             ///< of the job
  Time requested;             ///< of this allocation
  bool running = false;       ///< holds slots now (also while it is being preempted)
  bool releasing = false;     ///< already asked to give them back, or ending
  bool asked = false;         ///< … by an earlier plan, for others
  std::string reservation{};  ///< it may use agents that are reserved for it, besides those that are for all
  std::vector<Share> held{};  ///< what it holds while it runs; only policies that preempt look at it
  int fewest_slots() const { return slot_counts.empty() ? slots : slot_counts.front(); }
  int most_slots() const { return slot_counts.empty() ? slots : slot_counts.back(); }
  friend bool operator==(const Request&, const Request&) = default;
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
    NoAgents,          ///< in the pool
    NoAgentsLabelled,  ///< with the label that it asks for
    NoAgentsLike,      ///< with the attributes that it asks for
    NoAgentsForIt,     ///< without slots, and no agent takes such tasks
    TooFewSlots,       ///< the pool has
    NotOnOneAgent,     ///< where it has to be on one
    NotWholeAgents,    ///< several agents have to be filled whole
    // Not now:
    AgentsFull,      ///< without slots, and each agent runs as many such tasks as it may
    TooFewFree,      ///< slots
    AboveGroupMax,   ///< more than its group may ever use
    GroupMaxInUse,   ///< more than its group may use besides what it uses
    BehindPriority,  ///< a more important one waits, and is not to be overtaken
    BeingFreed,      ///< others have been asked to give way to it
    FairShareInUse,  ///< more than the fair share of its group leaves
    BehindHold,      ///< free slots are kept for one that has waited longer
  };
  Reason reason = Reason::TooFewFree;
  int slots = 0;            ///< that it needs
  int agents = 0;           ///< that take something new
  int agents_unusable = 0;  ///< disabled, draining or silent
  int agents_blocked = 0;   ///< that it must not use
  int slots_there = 0;      ///< of the pool if it could never run, else those that are free
  int slots_on_one = 0;     ///< the most of them on one agent
  int group_max = 0;
  std::int64_t group_used = 0;
  std::int64_t ahead = 0;  ///< requests before it in the line
  int priority = 0;        ///< BehindPriority: of the one that waits
  int share = 0;           ///< FairShareInUse: slots that its group may use now
  int giving_way = 0;      ///< BeingFreed: requests that were asked
  std::string label{};     ///< of NoAgentsLabelled
  /// What it asks of agents, "gpu=a100, zone=north"; agents and slots are counted of such agents alone.
  std::string attributes{};
  /// Whether it waits for its turn, so that somebody may be before it.
  bool in_line() const {
    return reason == Reason::TooFewFree || reason == Reason::BehindPriority || reason == Reason::BeingFreed ||
           reason == Reason::BehindHold;
  }
  /// Whether it could not run even if nothing else did.
  bool never() const { return reason < Reason::AgentsFull || reason == Reason::AboveGroupMax; }
  friend bool operator==(const Why&, const Why&) = default;
};
/// "needs 4 slots; 2 are free on 3 agents; 1 request is ahead in the queue"
std::string text(const Why& why);
/// "gpu=a100, zone=north"
std::string text(const Attributes& attributes);

/// What to do now. Everything not named stays as it is.
struct Plan {
  struct Waiting {
    std::size_t request = 0;  ///< its place among the requests given
    Why why;
  };
  /// A request that is to give its slots back and to start again on others; how many is decided then.
  struct Resize {
    std::string allocation_id;
    int slots = 0;  ///< that it would get now
    friend bool operator==(const Resize&, const Resize&) = default;
  };
  std::vector<Placement> start;
  std::vector<std::string> preempt;
  std::vector<Resize> resize{};
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
BOOST_DESCRIBE_ENUM(Fitting, Best, Worst)

struct FittingOptions {
  Fitting fitting = Fitting::Best;
  /// A request larger than every agent normally takes agents of one size; with this also of several.
  bool heterogeneous = false;
  Time now{};  ///< agents whose time is over take nothing new
};

/// Who comes first. Of all of them: requests that never fit hold nobody back, those of a group that uses all
/// of its slots_max wait for their own group only, and an agent with a label takes requests with that label
/// only. README.md of this module has the rules of each.
enum class Policy {
  Fifo,        ///< in order of submission; who does not fit holds back those behind it
  RoundRobin,  ///< one request of each group in turn, groups that use little first
  FairShare,   ///< slots are shared among groups by weight, max-min; groups above their share give way
  Priority,    ///< the more important first; with `preemption` the less important give way
};
BOOST_DESCRIBE_ENUM(Policy, Fifo, RoundRobin, FairShare, Priority)

struct Options {
  Policy policy = Policy::Fifo;
  FittingOptions fitting{};
  bool preemption = false;  ///< of Priority
};

std::unique_ptr<Scheduler> make_scheduler(const Options& options);

std::unique_ptr<Scheduler> make_fifo(const FittingOptions& options);
std::unique_ptr<Scheduler> make_fifo(Fitting fitting);

/// Whether `request` could run on this pool if nothing else did; if not, why not.
/// Agents and slots that are disabled or draining now do not count.
std::optional<std::string> never_fits(std::span<const Agent> agents, const Request& request);
std::optional<std::string> never_fits(std::span<const Agent> agents, const Request& request,
                                      const FittingOptions& options);

}  // namespace det::scheduler
