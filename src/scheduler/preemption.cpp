#include "det/scheduler/preemption.h"

#include <algorithm>

namespace det::scheduler {

namespace {

/// How many of its slots are on the agent.
int slots_on(const Request& request, const std::string& agent) {
  int slots = 0;
  for (const auto& share : request.held)
    if (share.agent == agent) slots += static_cast<int>(share.slots.size());
  return slots;
}

}  // namespace

Preemption::Preemption(Draft& draft, std::span<const Queued> running)
    : draft_(draft), soon_(draft.pool()), thought_(draft.pool()) {
  for (const auto& request : running) {
    if (!request->releasing || request->asked) continue;
    soon_.give_back(request->held);
    thought_.give_back(request->held);
  }
  for (auto at = running.rbegin(); at != running.rend(); ++at) {
    const auto& request = *at->request;
    if ((request.releasing && !request.asked) || !request.preemptible || request.held.empty()) continue;
    for (const auto& share : request.held) on_agent_[share.agent].push_back(victims_.size());
    victims_.push_back({.request = &request});
  }
}

void Preemption::started(const std::vector<Share>& shares) {
  soon_.take(shares);
  thought_.take(shares);
}

void Preemption::promise(const Queued& request, const std::vector<Share>& shares) {
  draft_.pool().take(shares);
  soon_.take(shares);
  thought_.take(shares);
  draft_.promised(request);
}

void Preemption::ask(Victim& victim) {
  victim.asked = true;
  soon_.give_back(victim.request->held);
}

void Preemption::unask(Victim& victim) {
  victim.asked = false;
  soon_.take(victim.request->held);
}

void Preemption::think(Victim& victim) {
  if (!victim.thought) thought_.give_back(victim.request->held);
  victim.thought = true;
}

bool Preemption::consider_more(const Queued& request) {
  if (considered_ == victims_.size() || !job_before(*request.request, *victims_[considered_].request))
    return false;
  think(victims_[considered_++]);
  return true;
}

/// Those that go anyway, however important they are; whether there were any.
bool Preemption::consider_all_asked() {
  bool any = false;
  for (auto at = considered_; at < victims_.size() && !all_asked_; ++at) {
    if (!victims_[at].request->asked || victims_[at].thought) continue;
    think(victims_[at]);
    any = true;
  }
  all_asked_ = true;
  return any;
}

// Slots of the part's agent, first what is free soon anyway, then what the least important hold there.
Share Preemption::free_on(const Pool::Part& part, int& asked) {
  std::vector<std::size_t> given;
  const auto enough = [&] {
    return part.slots == 0 ? !given.empty() : soon_.free_slots_on(part.agent) >= part.slots;
  };
  const auto& here = on_agent_[part.agent];
  for (auto at = here.begin(); at != here.end() && !enough(); ++at) {
    if (victims_[*at].asked || !victims_[*at].thought) continue;
    ask(victims_[*at]);
    given.push_back(*at);
  }
  auto free = soon_.free_slots_on(part.agent);
  for (auto at = given.rbegin(); part.slots > 0 && at != given.rend(); ++at) {
    const int slots = slots_on(*victims_[*at].request, part.agent);
    if (free - slots < part.slots) continue;
    unask(victims_[*at]);
    free -= slots;
  }
  for (const auto at : given) {
    if (!victims_[at].asked) continue;
    if (!victims_[at].request->asked) draft_.preempt(*victims_[at].request);
    ++asked;
  }
  Share share{.agent = part.agent, .slots = soon_.free_slots_of(part.agent)};
  share.slots.resize(static_cast<std::size_t>(part.slots));
  return share;
}

std::optional<int> Preemption::make_room(const Queued& request) {
  // Who was less important than an earlier request may be more important than this one.
  while (considered_ > 0 && !job_before(*request.request, *victims_[considered_ - 1].request)) {
    auto& victim = victims_[--considered_];
    if (victim.asked || victim.request->asked) continue;
    thought_.take(victim.request->held);
    victim.thought = false;
  }
  if (const auto shares = soon_.place(request)) {
    soon_.give_back(*shares);
    promise(request, *shares);
    return 0;
  }
  while (!thought_.fits(request))
    if (!consider_more(request) && !consider_all_asked()) return std::nullopt;
  std::vector<Share> shares;
  int asked = 0;
  for (const auto& part : thought_.parts(request)) shares.push_back(free_on(part, asked));
  promise(request, shares);
  return asked;
}

}  // namespace det::scheduler
