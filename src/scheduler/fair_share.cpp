#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "det/scheduler/draft.h"
#include "det/scheduler/shares.h"

namespace det::scheduler {

namespace {

struct Member {
  std::vector<Queued> waiting, running;  ///< in order
  std::int64_t active = 0;               ///< slots in use
  std::int64_t staying = 0;              ///< of them those that are not given back already
  Claim claim;
};

/// Groups by age, with what each asks for. Requests that the group's limit or the pool never allows ask for
/// nothing.
std::vector<Member> members_of(Draft& draft, std::span<const Request> requests,
                               std::span<const Queued> queue) {
  const Groups groups(requests);
  std::vector<Member> members(groups.size());
  const auto add = [&](const Queued& request, std::vector<Queued> Member::* line) -> Member& {
    auto& member = members[groups.of(request)];
    auto& claim = member.claim;
    const bool is_new = member.waiting.empty() && member.running.empty();
    if (is_new) {
      claim.group = request->group;
      claim.weight = request->weight;
      if (request->slots_max) claim.demand_max = *request->slots_max;
    }
    if ((member.*line).empty()) {  // the oldest of them
      const auto age = std::pair(position(*request.request), request->submitted.microseconds);
      claim.age = is_new ? age : std::min(claim.age, age);
    }
    claim.demand += request.slots;
    (member.*line).push_back(request);
    return member;
  };
  for (const auto& request : running_of(requests)) {
    if (request.slots == 0) continue;
    auto& member = add(request, &Member::running);
    member.active += request.slots;
    if (!request->releasing) member.staying += request.slots;
    if (request.preemptible)
      member.claim.smallest = std::min<std::int64_t>(member.claim.smallest, request.slots);
    else
      member.claim.held += request.slots;
  }
  for (const auto& request : queue) {
    if (request.slots == 0) continue;
    if (draft.never_fits(request) ||
        (!request.plain && request->slots_max && request.slots > *request->slots_max)) {
      draft.settled(request);
      continue;
    }
    auto& member = add(request, &Member::waiting);
    member.claim.smallest = std::min<std::int64_t>(member.claim.smallest, request.slots);
  }
  std::erase_if(members, [](const Member& m) { return m.waiting.empty() && m.running.empty(); });
  for (auto& member : members) {
    auto& claim = member.claim;
    claim.demand = std::max(std::min(claim.demand, claim.demand_max), claim.held);
  }
  std::ranges::sort(members, {}, [](const Member& m) { return std::tie(m.claim.age, m.claim.group); });
  return members;
}

/// Of a group above its share the first give way until it is not. How many do so now, or did before.
int give_way(Draft& draft, Member& member) {
  int count = 0;
  for (const auto& request : member.running) {
    if (request->releasing) ++count;
    if (member.staying <= member.claim.offered || !request.preemptible || request->releasing) continue;
    draft.preempt(request);
    member.staying -= request.slots;
    ++count;
  }
  return count;
}

/// Groups, oldest first, start what their shares allow and what fits.
class Starts {
 public:
  explicit Starts(Draft& draft) : draft_(draft) {}

  void pass(Member& member) {
    const auto waiting = std::exchange(member.waiting, {});
    for (const auto& request : waiting) {
      const bool allowed = request.slots <= member.claim.offered - member.active;
      if (allowed && draft_.start(request) != nullptr) {
        member.active += request.slots;
        continue;
      }
      if (allowed) hold_for(request);
      member.waiting.push_back(request);
    }
  }

  void explain(const Member& member, int giving_way) {
    auto budget = member.claim.offered - member.active;
    std::int64_t ahead = 0;
    for (const auto& request : member.waiting) {
      auto why = why_not_now(draft_.pool(), request);
      if (request.request == held_for_) why.slots_there += held_;  // what is kept is kept for it
      if (request.slots > budget) {
        why.reason = Why::Reason::FairShareInUse;
        why.share = static_cast<int>(member.claim.offered);
        why.group_used = member.active;
      } else {
        budget -= request.slots;
        why.ahead = ahead++;
        if (giving_way > 0) {
          why.reason = Why::Reason::BeingFreed;
          why.giving_way = giving_way;
        } else if (request.request != held_for_ && why.slots_there + held_ >= why.slots && held_ > 0) {
          why.reason = Why::Reason::BehindHold;
        }
      }
      draft_.wait(request, why);
    }
  }

 private:
  /// The oldest gang that its share allows and that fits nowhere: one agent fills up no more, so that it fits
  /// there one day.
  void hold_for(const Queued& request) {
    if (held_for_ != nullptr || request.slots == 1) return;
    held_for_ = request.request;
    held_ = draft_.pool().free_slots();
    draft_.pool().hold_for(request);
    held_ -= draft_.pool().free_slots();
  }

  Draft& draft_;
  const Request* held_for_ = nullptr;
  int held_ = 0;  // free slots
};

}  // namespace

Plan plan_fair_share(std::span<const Agent> agents, std::span<const Request> requests,
                     const FittingOptions& options) {
  Draft draft(agents, requests, options);
  const auto queue = queue_of(requests);
  draft.start_those_without_slots(queue);
  auto members = members_of(draft, requests, queue);
  std::vector<Claim*> claims;
  for (auto& member : members) claims.push_back(&member.claim);
  const auto slots = draft.pool().slots() + draft.pool().slots_leaving();
  share_out(slots, claims);
  int giving_way = 0;
  for (auto& member : members) giving_way += give_way(draft, member);
  Starts starts(draft);
  for (auto& member : members) starts.pass(member);
  for (const auto& member : members) starts.explain(member, giving_way);
  return std::move(draft).plan();
}

}  // namespace det::scheduler
