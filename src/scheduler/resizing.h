#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>

#include "det/scheduler/pool.h"
#include "det/scheduler/scheduler.h"

namespace det::scheduler {

/// How many slots a group may use at most, beside its slots_max; none: as many as there are.
using GroupCaps = std::unordered_map<std::string_view, std::int64_t>;

/// Completes a plan with what follows from `Request::slot_counts`. The policy has started each request on the
/// fewest slots that it can run on, as if it could run on no others. Then
///
/// 1. the first request in the line that does not fit, and would if others ran on their fewest slots: those
///    are asked to give way, as few as possible, the last in the queue first;
/// 2. if there is none, slots that nobody can use go to those that start, in turn, those with the fewest
///    first;
/// 3. and if nobody waits in the line, those that run are asked to start again on more.
///
/// `pool` is as the policy left it. Costs nothing if no request has more than one number of slots.
void resize(Pool& pool, std::span<const Agent> agents, std::span<const Request> requests,
            const FittingOptions& options, const GroupCaps& caps, Plan& plan);

}  // namespace det::scheduler
