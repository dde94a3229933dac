#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "det/base/time.h"

/// How many machines a resource pool asks of the engine that gives them, and which it gives back.
namespace det::elastic {

/// For whom an allotment is requested.
enum class Granularity {
  Pool,  ///< for whoever waits; a node runs one trial after another
  Task,  ///< for one trial or task, whose owner it is charged to; nothing else runs there
};
BOOST_DESCRIBE_ENUM(Granularity, Pool, Task)

/// `lead_time`: as long as it took to get a node recently.
constexpr std::int64_t kLearnt = -1;

/// What a pool may ask of its engine. Durations are in seconds.
struct Limits {
  int min_nodes = 0;      ///< kept, also when nobody needs them
  int max_nodes = 1;      ///< at once: asked for, granted, and on their way back
  int nodes_per_job = 1;  ///< of an allotment that no gang needs
  int slots_per_node = 1;
  std::int64_t idle_timeout = 300;   ///< a node that ran nothing for so long goes back
  std::int64_t grace_period = 120;   ///< before the end of an allotment: its trials save and leave
  std::int64_t start_timeout = 600;  ///< from its start until its agents have joined
  Granularity granularity = Granularity::Pool;
  std::int64_t lead_time = kLearnt;  ///< before trials leave: their next nodes are requested; 0: not before
  std::int64_t useful_time = 60;     ///< before trials leave: nothing new starts there
  friend bool operator==(const Limits&, const Limits&) = default;
};
BOOST_DESCRIBE_STRUCT(Limits, (),
                      (min_nodes, max_nodes, nodes_per_job, slots_per_node, idle_timeout, grace_period,
                       start_timeout, granularity, lead_time, useful_time))

enum class State {
  Requested,  ///< decided; the engine may not know of it yet
  Pending,    ///< in the engine's queue
  Running,    ///< granted
  Releasing,  ///< to be cancelled, or being so
};
BOOST_DESCRIBE_ENUM(State, Requested, Pending, Running, Releasing)

/// Machines that an engine is asked for, or gave: a job of Slurm, a placement group of Ray, pods.
struct Allotment {
  std::string id;  ///< unique in the cluster, also over time
  std::string pool;
  int nodes = 1;
  State state = State::Requested;
  Time requested;
  std::optional<Time> granted;
  std::optional<Time> ends;  ///< when the engine takes it back; none: nobody said
  bool leaving = false;      ///< its end is near: it takes nothing new, and what runs on it gives way
  std::string engine_id;     ///< the engine's name for it: the number of a Slurm job
  std::string reason;        ///< in the engine's words: why it waits
  std::string why_released;
  /// The pilots that have used its token, by node: the attempt of the job, and the secret of the pilot's
  /// choice by which it may repeat the call.
  std::map<int, std::string> claims;
  bool joined = false;  ///< one of its agents has been seen
  std::string task{};   ///< Granularity::Task: the trial's or task's id, for which it is
  std::string owner{};  ///< … and whose that is
  friend bool operator==(const Allotment&, const Allotment&) = default;
};
BOOST_DESCRIBE_STRUCT(Allotment, (),
                      (id, pool, nodes, state, requested, granted, ends, leaving, engine_id, reason,
                       why_released, claims, joined, task, owner))

/// A machine of an allotment whose agent is connected.
struct Node {
  std::string agent;
  std::string allotment;
  int slots = 0;
  int free = 0;                      ///< slots that could be used now
  std::optional<Time> idle_since{};  ///< none: something runs on it
};

/// A request for slots, which waits or runs.
struct Demand {
  int slots = 1;             ///< 0: it needs a node, but no slot of it
  bool single_node = false;  ///< all of its slots are on one node
  std::set<std::string> blocked_agents{};
  std::string group{};              ///< the job
  std::optional<int> group_room{};  ///< slots that its job may use besides what it uses; none: any number
  std::string task{}, owner{};      ///< Granularity::Task
  std::set<std::string> on{};       ///< allotments on which it runs
  bool goes_on = true;              ///< it runs, and will want slots again where it has to leave
};

/// Allotments that ended before any of their agents joined, since the last one that worked.
struct Failures {
  int count = 0;
  Time last;
  std::string why;  ///< of the last one
  friend bool operator==(const Failures&, const Failures&) = default;
};
BOOST_DESCRIBE_STRUCT(Failures, (), (count, last, why))

/// All that a decision depends on.
struct Pool {
  Limits limits;
  bool in_order = false;        ///< no request starts before those ahead of it (FIFO)
  std::vector<Demand> demands;  ///< that wait, in the order of the queue
  std::vector<Allotment> allotments;
  std::vector<Node> nodes;
  Failures failures;
  std::vector<Demand> running{};                     ///< on allotments that have an end, or Granularity::Task
  std::vector<std::int64_t> waits{};                 ///< seconds from request to first agent; the last few
  std::set<std::string> tasks{};                     ///< Granularity::Task: all that wait or run
  std::map<std::string, Failures> owner_failures{};  ///< … instead of `failures`
  std::map<std::string, int> lost{};                 ///< nodes whose agent was lost, by allotment
};

/// A new allotment.
struct Request {
  int nodes = 1;
  std::string task{}, owner{};
  Request(int nodes, std::string task = {}, std::string owner = {})  // NOLINT: mostly only a number
      : nodes(nodes), task(std::move(task)), owner(std::move(owner)) {}
  friend bool operator==(const Request&, const Request&) = default;
};

struct Release {
  std::string allotment;
  std::string why;
  friend bool operator==(const Release&, const Release&) = default;
};

struct Decision {
  std::vector<Request> requests;
  std::vector<Release> releases;     ///< allotments to be given back
  std::vector<std::string> leaving;  ///< allotments whose end is near
  std::string why_not_more;  ///< while somebody waits; empty: more was asked for, or nobody needs more
};

/// What to do now. Pure: the same pool and time give the same decision; nothing is kept between calls.
///
/// - Requests that wait are packed, in their order, into free slots, then into nodes that are on their way,
///   then into new ones, up to `max_nodes`.
/// - A gang that is larger than a node gets an allotment of its own with all of its nodes, so that it never
///   holds some while it waits for others. Idle nodes go back where they are in its way.
/// - What nobody needs goes back: requests at once, nodes after `idle_timeout`.
/// - What runs where an end is near gets its next nodes requested `lead_time` before it leaves. They count
///   against `max_nodes` like all others.
/// - Nothing new is planned for a node `useful_time` before its trials leave; idle ones go back then.
/// - Allotments that fail before their agents join are repeated one at a time, and ever later (kBackoffMin
///   to kBackoffMax).
///
/// With Granularity::Task each request gets an allotment of its own, which goes back as soon as its trial or
/// task neither waits nor runs; failures hold back those of the same owner only.
Decision decide(const Pool& pool, Time now);

/// Whether a request could ever run on the nodes of such a pool, if nothing else did.
bool can_fit(const Limits& limits, const Demand& demand);

constexpr std::int64_t kBackoffMin = 5;    ///< seconds, after the first failure
constexpr std::int64_t kBackoffMax = 600;  ///< seconds
/// A request that nobody needs any more is withdrawn after so many seconds, not in the moment between two
/// trials.
constexpr std::int64_t kWithdrawAfter = 10;
/// Waits that are remembered to learn the lead time from.
constexpr std::size_t kWaitsMax = 8;
/// When what runs on the allotment has to save and leave; none: never, as far as is known.
std::optional<Time> leaves_at(const Limits& limits, const Allotment& allotment);
/// From when on nothing new starts there: `useful_time` earlier, but no more than a quarter of its life.
std::optional<Time> closes_at(const Limits& limits, const Allotment& allotment);
/// When its successor is requested: `lead_time` earlier, but no more than half of its life. Where that is
/// learnt, three of four of the last waits were not longer.
std::optional<Time> asks_ahead_at(const Limits& limits, const std::vector<std::int64_t>& waits,
                                  const Allotment& allotment);

/// When the next request may follow after failures.
Time next_attempt(const Failures& failures);

}  // namespace det::elastic
