#include "det/scheduler/waiting.h"

#include <fmt/format.h>

#include <algorithm>

namespace det::scheduler {

namespace {

std::string count(int n, const char* noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

/// How many of the agents that the request must not use are in the pool.
int blocked_count(const Pool& pool, const Request& request) {
  return static_cast<int>(
      std::ranges::count_if(request.blocked_agents, [&](const std::string& id) { return pool.has(id); }));
}

std::string also(const Pool& idle, const Request& request) {
  std::string text;
  if (idle.agents_unusable() > 0)
    text += fmt::format("; {} {} disabled or draining", count(idle.agents_unusable(), "agent"),
                        idle.agents_unusable() == 1 ? "is" : "are");
  if (const int blocked = blocked_count(idle, request); blocked > 0)
    text += fmt::format("; {} {} excluded after failures there", count(blocked, "agent"),
                        blocked == 1 ? "is" : "are");
  return text;
}

/// Why the request does not fit a pool on which nothing runs. Requires: it does not.
std::string why_never(const Pool& idle, const Request& request) {
  const auto needs = fmt::format("needs {}", slots_text(request.slots));
  if (request.slots < 0) return fmt::format("asks for {} slots; must not be negative", request.slots);
  if (idle.agents() + idle.agents_unusable() == 0) return needs + "; the resource pool has no agents";
  if (request.slots == 0) return needs + "; no agent takes tasks without slots" + also(idle, request);
  const auto has = fmt::format("; the resource pool has {} on {}", slots_text(idle.slots()),
                               count(idle.agents(), "agent"));
  if (request.slots > idle.slots()) return needs + has + also(idle, request);
  if (request.single_agent || request.slots == 1)
    return fmt::format("{} on one agent; the largest has {}{}", needs, idle.free_slots_on_one_max(),
                       also(idle, request));
  return fmt::format("{}{}; they neither fit on one agent (the largest has {}) nor fill whole agents{}",
                     needs, has, idle.free_slots_on_one_max(), also(idle, request));
}

}  // namespace

std::string slots_text(int slots) {
  return slots == 0 ? "no slots" : count(slots, "slot");
}

const Pool& Feasibility::idle() {
  if (!idle_) idle_ = Pool::empty(agents_, options_);
  return *idle_;
}

const std::optional<std::string>& Feasibility::why_never(const Request& request) {
  const auto ask = [&]() -> std::optional<std::string> {
    if (idle().fits(request)) return std::nullopt;
    return scheduler::why_never(idle(), request);
  };
  if (!request.blocked_agents.empty()) return blocked_ = ask();
  const auto [known, is_new] = known_.try_emplace({request.slots, request.single_agent});
  if (is_new) known->second = ask();
  return known->second;
}

std::string why_not_now(const Pool& pool, const Request& request) {
  const auto needs = fmt::format("needs {}", slots_text(request.slots));
  std::string text;
  if (request.slots == 0) {
    text = fmt::format("{}; each agent runs as many tasks without slots as it may", needs);
  } else {
    text = fmt::format("{}; {} {} free on {}", needs,
                       pool.free_slots() == 0 ? "none" : std::to_string(pool.free_slots()),
                       pool.free_slots() < 2 ? "is" : "are", count(pool.agents(), "agent"));
    if (pool.free_slots() >= request.slots && pool.free_slots_on_one_max() < request.slots)
      text += fmt::format(", at most {} of them on one", pool.free_slots_on_one_max());
  }
  if (const int blocked = blocked_count(pool, request); blocked > 0)
    text += fmt::format("; {} {} excluded after failures there", count(blocked, "agent"),
                        blocked == 1 ? "is" : "are");
  return text;
}

std::string ahead_text(std::int64_t ahead) {
  if (ahead == 0) return "";
  return fmt::format("; {} {} ahead in the queue", ahead, ahead == 1 ? "request is" : "requests are");
}

std::optional<std::string> never_fits(std::span<const Agent> agents, const Request& request,
                                      const FittingOptions& options) {
  return Feasibility(agents, options).why_never(request);
}

std::optional<std::string> never_fits(std::span<const Agent> agents, const Request& request) {
  return never_fits(agents, request, {});
}

}  // namespace det::scheduler
