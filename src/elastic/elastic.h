#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "det/base/time.h"

/// How many machines a resource pool asks of the engine that gives them, and which it gives back.
namespace det::elastic {

/// What a pool may ask of its engine. Durations are in seconds.
struct Limits {
  int min_nodes = 0;      ///< kept, also when nobody needs them
  int max_nodes = 1;      ///< at once: asked for, granted, and on their way back
  int nodes_per_job = 1;  ///< of an allotment that no gang needs
  int slots_per_node = 1;
  std::int64_t idle_timeout = 300;   ///< a node that ran nothing for so long goes back
  std::int64_t grace_period = 120;   ///< before the end of an allotment: its trials save and leave
  std::int64_t start_timeout = 600;  ///< from its start until its agents have joined
  friend bool operator==(const Limits&, const Limits&) = default;
};
BOOST_DESCRIBE_STRUCT(Limits, (),
                      (min_nodes, max_nodes, nodes_per_job, slots_per_node, idle_timeout, grace_period,
                       start_timeout))

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
  friend bool operator==(const Allotment&, const Allotment&) = default;
};
BOOST_DESCRIBE_STRUCT(Allotment, (),
                      (id, pool, nodes, state, requested, granted, ends, leaving, engine_id, reason,
                       why_released, claims, joined))

/// A machine of an allotment whose agent is connected.
struct Node {
  std::string agent;
  std::string allotment;
  int slots = 0;
  int free = 0;                      ///< slots that could be used now
  std::optional<Time> idle_since{};  ///< none: something runs on it
};

/// A request that waits for slots.
struct Demand {
  int slots = 1;             ///< 0: it needs a node, but no slot of it
  bool single_node = false;  ///< all of its slots are on one node
  std::set<std::string> blocked_agents{};
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
  std::vector<Demand> demands;  ///< in the order of the queue
  std::vector<Allotment> allotments;
  std::vector<Node> nodes;
  Failures failures;
};

struct Release {
  std::string allotment;
  std::string why;
  friend bool operator==(const Release&, const Release&) = default;
};

struct Decision {
  std::vector<int> requests;         ///< the nodes of each new allotment
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
/// - Allotments that fail before their agents join are repeated one at a time, and ever later (kBackoffMin
///   to kBackoffMax).
Decision decide(const Pool& pool, Time now);

/// Whether a request could ever run on the nodes of such a pool, if nothing else did.
bool can_fit(const Limits& limits, const Demand& demand);

constexpr std::int64_t kBackoffMin = 5;    ///< seconds, after the first failure
constexpr std::int64_t kBackoffMax = 600;  ///< seconds
/// A request that nobody needs any more is withdrawn after so many seconds, not in the moment between two
/// trials.
constexpr std::int64_t kWithdrawAfter = 10;
/// When the next request may follow after failures.
Time next_attempt(const Failures& failures);

}  // namespace det::elastic
