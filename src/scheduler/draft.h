#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "det/scheduler/pool.h"
#include "det/scheduler/queue.h"
#include "det/scheduler/resizing.h"
#include "det/scheduler/waiting.h"

namespace det::scheduler {

/// A plan while it is made, with what every policy needs for it: the pool as it fills up, the limits of
/// groups, and who could never run.
///
/// Refers to the agents and requests given; they must outlive it.
class Draft {
 public:
  Draft(std::span<const Agent> agents, std::span<const Request> requests, const FittingOptions& options)
      : Draft(Pool(agents, options), Feasibility(agents, options), agents, requests, options) {}
  /// With a pool of these agents, and what fits it, that are there already.
  Draft(Pool pool, Feasibility feasibility, std::span<const Agent> agents, std::span<const Request> requests,
        const FittingOptions& options)
      : agents_(agents),
        requests_(requests),
        options_(options),
        pool_(std::move(pool)),
        feasibility_(std::move(feasibility)),
        groups_(requests) {
    plan_.waiting.reserve(requests.size());
  }

  Pool& pool() { return pool_; }
  std::span<const Request> requests() const { return requests_; }

  /// Notes why the request waits where no policy could help: it can never run, or its group may not use more.
  bool settled(const Queued& request) {
    if (const auto* never = feasibility_.why_never(request)) {
      wait(request, *never);
      return true;
    }
    if (request.slots == 0 || request.plain) return false;
    const auto limit = groups_.why_not(request);
    if (limit) wait(request, *limit);
    return limit.has_value();
  }
  bool never_fits(const Queued& request) { return feasibility_.why_never(request) != nullptr; }

  /// Starts it where it fits now. What it took is valid until the next start; nullptr: it fits nowhere.
  const std::vector<Share>* start(const Queued& request) {
    auto shares = pool_.place(request);
    if (!shares) return nullptr;
    groups_.started(request);
    plan_.start.push_back({.allocation_id = request->allocation_id, .shares = *std::move(shares)});
    return &plan_.start.back().shares;
  }
  /// Slots that become free are promised to it: its group uses them.
  void promised(const Queued& request) { groups_.started(request); }

  /// Requests without slots are in no line: each starts as soon as it fits.
  void start_those_without_slots(std::span<const Queued> queue) {
    for (const auto& request : queue)
      if (request.slots == 0 && !settled(request) && start(request) == nullptr) wait(request, 0);
  }
  void preempt(const Queued& request) { plan_.preempt.push_back(request->allocation_id); }

  void wait(const Queued& request, Why why) {
    plan_.waiting.push_back(
        {.request = static_cast<std::size_t>(request.request - requests_.data()), .why = std::move(why)});
    if (!request.plain && !request->attributes.empty())
      plan_.waiting.back().why.attributes = text(request->attributes);
  }
  /// It waits because it does not fit now, after `ahead` others.
  void wait(const Queued& request, std::int64_t ahead) {
    auto why = why_not_now(pool_, request);
    why.ahead = ahead;
    wait(request, std::move(why));
  }

  /// The group uses no more than `slots`, even if nobody else needs them.
  void cap(std::string_view group, std::int64_t slots) { caps_.emplace(group, slots); }

  Plan plan() && {
    resize(pool_, agents_, requests_, options_, caps_, plan_);
    return std::move(plan_);
  }

 private:
  std::span<const Agent> agents_;
  std::span<const Request> requests_;
  FittingOptions options_;
  Pool pool_;
  Feasibility feasibility_;
  GroupLimits groups_;
  GroupCaps caps_;
  Plan plan_;
};

/// What groups are offered of the slots, where that is known already.
using Offers = std::unordered_map<std::string_view, std::int64_t>;

// The policies, for a pool of agents without labels. make_scheduler is for users.
Plan plan_fifo(Draft draft);
Plan plan_round_robin(Draft draft);
/// Without `offers`, slots are shared out among the groups of the requests given.
Plan plan_fair_share(Draft draft, const Offers* offers = nullptr);
Plan plan_priority(Draft draft, bool preemption);
/// As `options` say.
Plan plan_by_policy(Draft draft, const Options& options);

}  // namespace det::scheduler
