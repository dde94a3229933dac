// Where in a pool a request fits; what it takes there is pool.cpp's.

#include <algorithm>
#include <functional>

#include "det/scheduler/pool.h"

namespace det::scheduler {

bool Pool::blocked(const Queued& request, std::size_t at) const {
  return !request.plain && !request->blocked_agents.empty() &&
         request->blocked_agents.contains(std::string(agents_[at].id));
}

std::optional<Pool::Rank> Pool::best_of(const Kind& kind, const Numbers& numbers, double score,
                                        const Queued& request) const {
  const auto number = numbers.first([&](std::size_t n) { return !blocked(request, kind.members[n]); });
  if (number == Numbers::kNone) return std::nullopt;
  return Rank{.score = score, .place = kind.members[number]};
}

std::optional<std::size_t> Pool::best_shared(const Queued& request) const {
  std::optional<Rank> best;
  for (const auto& kind : kinds_) {
    if (!request.plain && !kind.has(request->attributes)) continue;
    for (auto at = kind.by_free.lower_bound({request.slots, 0}); at != kind.by_free.end(); ++at) {
      const auto& [freedom, numbers] = *at;
      const auto rank = best_of(kind, numbers, slot_score(freedom.first, freedom.second), request);
      if (!rank) continue;
      if (!best || *rank < *best) best = rank;
      if (options_.fitting == Fitting::Best) break;  // more free slots only score less
    }
  }
  if (!best) return std::nullopt;
  return best->place;
}

std::optional<std::size_t> Pool::best_zero(const Queued& request) const {
  std::optional<Rank> best;
  for (const auto& kind : kinds_) {
    if (!request.plain && !kind.has(request->attributes)) continue;
    for (const auto& [score, numbers] : kind.zero) {
      const auto rank = best_of(kind, numbers, score, request);
      if (!rank) continue;
      if (!best || *rank < *best) best = rank;
      break;
    }
  }
  if (!best) return std::nullopt;
  return best->place;
}

/// Idle agents that together have exactly the slots asked for; empty if there are none.
std::vector<std::size_t> Pool::whole_agents(const Queued& request) const {
  // Of each size, those of all kinds that it may use.
  std::map<int, std::vector<Idle>, std::greater<>> sizes;
  for (const auto& kind : kinds_)
    if (request.plain || kind.has(request->attributes))
      for (const auto& [size, idle] : kind.idle) sizes[size].emplace_back(&kind, &idle);
  const auto first = [&](const std::vector<Idle>& all, std::size_t count) {
    std::vector<std::size_t> found;
    for (const auto& [kind, idle] : all) {
      const auto before = found.size();
      for (auto number = idle->next(0); number != Numbers::kNone && found.size() - before < count;
           number = idle->next(number + 1))
        if (!blocked(request, kind->members[number])) found.push_back(kind->members[number]);
    }
    std::ranges::sort(found);
    found.resize(std::min(found.size(), count));
    return found;
  };
  for (const auto& [size, idle] : sizes) {
    if (request.slots % size != 0) continue;
    const auto count = static_cast<std::size_t>(request.slots / size);
    auto found = first(idle, count);
    if (found.size() == count) return found;
  }
  if (!options_.heterogeneous) return {};
  std::vector<std::size_t> found;
  int missing = request.slots;
  for (const auto& [size, idle] : sizes) {
    for (const auto at : first(idle, static_cast<std::size_t>(missing / size))) {
      found.push_back(at);
      missing -= size;
    }
  }
  return missing == 0 ? found : std::vector<std::size_t>{};
}

std::vector<std::size_t> Pool::find(const Queued& request) const {
  if (request.slots < 0) return {};
  if (const auto at = request.slots == 0 ? best_zero(request) : best_shared(request)) return {*at};
  if (request.slots < 2 || request.single_agent) return {};
  return whole_agents(request);
}

}  // namespace det::scheduler
