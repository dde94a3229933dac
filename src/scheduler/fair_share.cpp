#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "det/scheduler/draft.h"
#include "det/scheduler/shares.h"

namespace det::scheduler {

namespace {

/// Requests by group, those of a group in the order given, and all in one piece of memory.
class Lines {
 public:
  Lines(const Groups& groups, std::span<const Queued> requests)
      : ends_(groups.size() + 1), requests_(requests.begin(), requests.end()) {
    for (const auto& request : requests) ++ends_[groups.of(request) + 1];
    for (std::size_t group = 1; group < ends_.size(); ++group) ends_[group] += ends_[group - 1];
    auto next = ends_;
    for (const auto& request : requests) requests_[next[groups.of(request)]++] = request;
  }
  std::span<Queued> of(std::size_t group) {
    return std::span(requests_).subspan(ends_[group], ends_[group + 1] - ends_[group]);
  }

 private:
  std::vector<std::size_t> ends_;  ///< of the group before: where each begins
  std::vector<Queued> requests_;
};

struct Member {
  std::span<Queued> waiting, running;  ///< in order
  std::int64_t active = 0;             ///< slots in use
  std::int64_t staying = 0;            ///< of them those that are not given back already
  Claim claim;
};

/// What the requests of a group ask for together.
Member member_of(std::span<Queued> waiting, std::span<Queued> running) {
  Member member{.waiting = waiting, .running = running};
  auto& claim = member.claim;
  const auto age = [](const Queued& request) {
    return std::pair(position(*request.request), request->submitted.microseconds);
  };
  const auto& first = running.empty() ? waiting.front() : running.front();
  claim.group = first->group;
  claim.weight = first->weight;
  if (first->slots_max) claim.demand_max = *first->slots_max;
  claim.age = age(first);
  if (!waiting.empty()) claim.age = std::min(claim.age, age(waiting.front()));
  for (const auto& request : running) {
    claim.demand += request->most_slots();
    member.active += request.slots;
    if (!request->releasing) member.staying += request.slots;
    if (request.preemptible)
      claim.smallest = std::min<std::int64_t>(claim.smallest, request->fewest_slots());
    else
      claim.held += request.slots;
  }
  for (const auto& request : waiting) {
    claim.demand += request->most_slots();
    claim.smallest = std::min<std::int64_t>(claim.smallest, request.slots);
  }
  claim.demand = std::max(std::min(claim.demand, claim.demand_max), claim.held);
  return member;
}

/// Groups by age, with what each asks for.
std::vector<Member> members_of(const Groups& groups, Lines& waiting, Lines& running) {
  std::vector<Member> members;
  members.reserve(groups.size());
  for (std::size_t group = 0; group < groups.size(); ++group)
    if (!waiting.of(group).empty() || !running.of(group).empty())
      members.push_back(member_of(waiting.of(group), running.of(group)));
  std::ranges::sort(members, {}, [](const Member& m) { return std::tie(m.claim.age, m.claim.group); });
  return members;
}

/// Those that take part. Requests that the group's limit or the pool never allows ask for nothing.
std::vector<Queued> those_that_ask(Draft& draft, std::span<const Queued> queue) {
  std::vector<Queued> asking;
  asking.reserve(queue.size());
  for (const auto& request : queue) {
    if (request.slots == 0) continue;
    if (draft.never_fits(request) ||
        (!request.plain && request->slots_max && request.slots > *request->slots_max))
      draft.settled(request);
    else
      asking.push_back(request);
  }
  return asking;
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
    std::size_t stay = 0;
    for (const auto& request : member.waiting) {
      const bool allowed = request.slots <= member.claim.offered - member.active;
      if (allowed && draft_.start(request) != nullptr) {
        member.active += request.slots;
        continue;
      }
      if (allowed) hold_for(request);
      member.waiting[stay++] = request;
    }
    member.waiting = member.waiting.first(stay);
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
      draft_.wait(request, std::move(why));
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

Plan plan_fair_share(Draft draft, const Offers* offers) {
  const auto requests = draft.requests();
  const auto queue = queue_of(requests);
  draft.start_those_without_slots(queue);
  const Groups groups(requests);
  auto running = running_of(requests);
  std::erase_if(running, [](const Queued& request) { return request.slots == 0; });
  Lines running_lines(groups, running), waiting_lines(groups, those_that_ask(draft, queue));
  auto members = members_of(groups, waiting_lines, running_lines);
  if (offers != nullptr) {
    for (auto& member : members) member.claim.offered = offers->at(member.claim.group);
  } else {
    std::vector<Claim*> claims;
    for (auto& member : members) claims.push_back(&member.claim);
    share_out(draft.pool().slots() + draft.pool().slots_leaving(), claims);
  }
  int giving_way = 0;
  for (auto& member : members) giving_way += give_way(draft, member);
  Starts starts(draft);
  for (auto& member : members) starts.pass(member);
  for (const auto& member : members) {
    starts.explain(member, giving_way);
    draft.cap(member.claim.group, member.claim.offered);
  }
  return std::move(draft).plan();
}

}  // namespace det::scheduler
