#include "det/scheduler/waiting.h"

#include <fmt/format.h>

#include <algorithm>

namespace det::scheduler {

namespace {

std::string count(int n, const char* noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

/// How many of the agents that the request must not use are in the pool.
int blocked_count(const Pool& pool, const Queued& request) {
  return static_cast<int>(
      std::ranges::count_if(request->blocked_agents, [&](const std::string& id) { return pool.has(id); }));
}

/// Why the request does not fit a pool on which nothing runs. Requires: it does not.
Why why_never(const Pool& idle, const Queued& request) {
  using R = Why::Reason;
  const auto counts = idle.counts(request->attributes);
  Why why{.slots = request.slots,
          .agents = counts.agents,
          .agents_unusable = counts.agents_unusable,
          .agents_blocked = blocked_count(idle, request),
          .slots_there = counts.slots,
          .slots_on_one = counts.free_slots_on_one_max,
          .attributes = text(request->attributes)};
  const bool none = counts.agents + counts.agents_unusable == 0;
  why.reason = request.slots < 0                            ? R::NegativeSlots
               : none && request->attributes.empty()        ? R::NoAgents
               : none                                       ? R::NoAgentsLike
               : request.slots == 0                         ? R::NoAgentsForIt
               : request.slots > counts.slots               ? R::TooFewSlots
               : request.single_agent || request.slots == 1 ? R::NotOnOneAgent
                                                            : R::NotWholeAgents;
  return why;
}

std::string slots_text(int slots) {
  return slots == 0 ? "no slots" : count(slots, "slot");
}

std::string blocked_text(const Why& why) {
  if (why.agents_blocked == 0) return "";
  return fmt::format("; {} {} excluded because the trial failed there", count(why.agents_blocked, "agent"),
                     why.agents_blocked == 1 ? "is" : "are");
}

/// The agents that do not count.
std::string also(const Why& why) {
  std::string words;
  if (why.agents_unusable > 0)
    words = fmt::format("; {} {} disabled, draining or silent", count(why.agents_unusable, "agent"),
                        why.agents_unusable == 1 ? "is" : "are");
  return words + blocked_text(why);
}

std::string free_text(const Why& why) {
  auto words =
      fmt::format("; {} {} free on {}", why.slots_there == 0 ? "none" : std::to_string(why.slots_there),
                  why.slots_there < 2 ? "is" : "are", count(why.agents, "agent"));
  if (why.slots_there >= why.slots && why.slots_on_one < why.slots)
    words += fmt::format(", at most {} of them on one", why.slots_on_one);
  return words + blocked_text(why);
}

std::string ahead_text(std::int64_t ahead) {
  if (ahead == 0) return "";
  return fmt::format("; {} {} ahead in the queue", ahead, ahead == 1 ? "request is" : "requests are");
}

}  // namespace

std::string text(const Attributes& attributes) {
  std::string words;
  for (const auto& [name, value] : attributes)
    words += fmt::format("{}{}={}", words.empty() ? "" : ", ", name, value);
  return words;
}

std::string text(const Why& why) {
  using R = Why::Reason;
  const auto like = why.attributes.empty() ? std::string() : " on agents with " + why.attributes;
  const auto needs = fmt::format("needs {}{}", slots_text(why.slots), like);
  const auto has = fmt::format("; the resource pool has {} on {}{}", slots_text(why.slots_there),
                               count(why.agents, "agent"), like.empty() ? "" : " of that kind");
  switch (why.reason) {
    case R::NegativeSlots:
      return fmt::format("asks for {} slots; the number must not be negative", why.slots);
    case R::NoAgents: return needs + "; the resource pool has no agents";
    case R::NoAgentsLabelled:
      return needs +
             (why.label.empty()
                  ? std::string(
                        "; every agent of the resource pool has a label, but no resources.agent_label is set")
                  : fmt::format("; no agent of the resource pool has the label '{}'", why.label));
    case R::NoAgentsLike: return needs + "; the resource pool has none";
    case R::NoAgentsForIt: return needs + "; no agent takes tasks without slots" + also(why);
    case R::TooFewSlots: return needs + has + also(why);
    case R::NotOnOneAgent:
      return fmt::format("needs {} on one agent{}; the largest has {}{}", slots_text(why.slots),
                         why.attributes.empty() ? "" : " with " + why.attributes, why.slots_on_one,
                         also(why));
    case R::NotWholeAgents:
      return fmt::format("{}{}; they neither fit on one agent (the largest has {}) nor fill whole agents{}",
                         needs, has, why.slots_on_one, also(why));
    case R::AgentsFull:
      return needs + "; every agent already runs its maximum of tasks without slots" + blocked_text(why);
    case R::TooFewFree: return needs + free_text(why) + ahead_text(why.ahead);
    case R::AboveGroupMax:
      return fmt::format("{}; its job may use at most {} (resources.max_slots)", needs, why.group_max);
    case R::GroupMaxInUse:
      return fmt::format("{}; its job uses {} of at most {} (resources.max_slots)", needs, why.group_used,
                         slots_text(why.group_max));
    case R::BehindPriority:
      return fmt::format("{}; a more important request (priority {}) waits first{}", needs, why.priority,
                         ahead_text(why.ahead));
    case R::BeingFreed:
      return fmt::format("{}; {}", needs,
                         why.giving_way == 0 ? "slots are being released for it"
                         : why.giving_way == 1
                             ? "1 task is being preempted for it"
                             : fmt::format("{} tasks are being preempted for it", why.giving_way));
    case R::FairShareInUse:
      return fmt::format("{}; the current fair share of its job is {}, of which it uses {}", needs,
                         slots_text(why.share), why.group_used);
    case R::BehindHold:
      return needs + free_text(why) +
             "; slots are reserved for an older job that needs more slots on one agent" +
             ahead_text(why.ahead);
  }
  return needs;
}

const Pool& Feasibility::idle() {
  if (known_idle_ != nullptr) return *known_idle_;
  if (!idle_) idle_ = Pool::empty(agents_, options_);
  return *idle_;
}

const Why* Feasibility::why_never(const Queued& request) {
  const auto ask = [&]() -> std::optional<Why> {
    if (idle().fits(request)) return std::nullopt;
    return scheduler::why_never(idle(), request);
  };
  const auto answer = [](const std::optional<Why>& why) { return why ? &*why : nullptr; };
  if (!request.plain && !request->blocked_agents.empty()) return answer(blocked_ = ask());
  if (!request.plain && !request->attributes.empty()) {
    const auto key = std::tuple(request.slots, request.single_agent, request->attributes);
    const auto [of_kind, is_first] = known_of_kind_.try_emplace(key);
    if (is_first) of_kind->second = ask();
    return answer(of_kind->second);
  }
  const auto [known, is_new] = known_.try_emplace(2LL * request.slots + (request.single_agent ? 1 : 0));
  if (is_new) known->second = ask();
  return answer(known->second);
}

Why why_not_now(const Pool& pool, const Queued& request) {
  static const Attributes kNone;
  const auto counts = pool.counts(request.plain ? kNone : request->attributes);
  return {.reason = request.slots == 0 ? Why::Reason::AgentsFull : Why::Reason::TooFewFree,
          .slots = request.slots,
          .agents = counts.agents,
          .agents_blocked = request.plain ? 0 : blocked_count(pool, request),
          .slots_there = counts.free_slots,
          .slots_on_one = counts.free_slots_on_one_max};
}

std::optional<std::string> never_fits(std::span<const Agent> agents, const Request& request,
                                      const FittingOptions& options) {
  std::vector<Agent> labelled;
  for (const auto& agent : agents)
    if (agent.label == request.label) labelled.push_back(agent);
  Feasibility feasibility(labelled, options);
  const auto* never = feasibility.why_never(request);
  if (never == nullptr) return std::nullopt;
  auto why = *never;
  if (labelled.empty() && !agents.empty()) {
    why.reason = Why::Reason::NoAgentsLabelled;
    why.label = request.label;
  }
  return text(why);
}

std::optional<std::string> never_fits(std::span<const Agent> agents, const Request& request) {
  return never_fits(agents, request, {});
}

}  // namespace det::scheduler
