#include "det/scheduler/pool.h"

#include <algorithm>
#include <functional>

namespace det::scheduler {

Pool::Pool(std::span<const Agent> agents, const FittingOptions& options) : options_(options) {
  std::vector<const Agent*> sorted;
  sorted.reserve(agents.size());
  for (const auto& agent : agents) sorted.push_back(&agent);
  std::ranges::sort(sorted, {}, [](const Agent* agent) -> const std::string& { return agent->id; });

  agents_.reserve(agents.size());
  for (const auto* agent : sorted) {
    const bool usable = agent->enabled && !agent->draining;
    Place place{
        .id = agent->id, .total = static_cast<int>(agent->slots.size()), .zero_max = agent->zero_slot_max};
    if (usable) place.zero_free = std::max(0, agent->zero_slot_max - agent->zero_slot_running);
    for (const auto& slot : agent->slots) {
      if (slot.used) ++place.used;
      if (!usable || !slot.enabled) continue;
      ++slots_;
      if (!slot.used) place.free.push_back(slot.id);
    }
    std::ranges::sort(place.free, std::greater<>());
    agents_usable_ += usable;
    free_slots_ += static_cast<int>(place.free.size());
    agents_.push_back(std::move(place));
    add_to_index(agents_.size() - 1);
  }
}

Pool Pool::empty(std::span<const Agent> agents, const FittingOptions& options) {
  std::vector<Agent> idle(agents.begin(), agents.end());
  for (auto& agent : idle) {
    agent.zero_slot_running = 0;
    for (auto& slot : agent.slots) slot.used = false;
  }
  return Pool(idle, options);
}

bool Pool::has(const std::string& agent) const {
  return std::ranges::binary_search(agents_, agent, {}, &Place::id);
}

double Pool::slot_score(const Place& place) const {
  const auto free = static_cast<double>(place.free.size());
  if (options_.fitting == Fitting::Best) return 1 / (1 + free);
  return place.total == 0 ? 0 : free / place.total;
}

double Pool::zero_score(const Place& place) const {
  if (place.used > 0) return slot_score(place);
  if (place.zero_max <= 0) return 0;
  if (options_.fitting == Fitting::Best) return 1 / (1 + static_cast<double>(place.zero_free));
  return static_cast<double>(place.zero_free) / place.zero_max;
}

void Pool::add_to_index(std::size_t at) {
  const auto& place = agents_[at];
  const auto free = static_cast<int>(place.free.size());
  if (free > 0) by_free_[free].insert({slot_score(place), at});
  if (free > 0 && place.used == 0) idle_[free].insert(at);
  if (place.zero_free > 0) zero_.insert({zero_score(place), at});
}

void Pool::remove_from_index(std::size_t at) {
  const auto& place = agents_[at];
  const auto free = static_cast<int>(place.free.size());
  if (const auto ranks = by_free_.find(free); ranks != by_free_.end()) {
    ranks->second.erase({slot_score(place), at});
    if (ranks->second.empty()) by_free_.erase(ranks);
  }
  if (const auto idle = idle_.find(free); idle != idle_.end()) {
    idle->second.erase(at);
    if (idle->second.empty()) idle_.erase(idle);
  }
  zero_.erase({zero_score(place), at});
}

Share Pool::take(std::size_t at, int slots) {
  remove_from_index(at);
  auto& place = agents_[at];
  Share share{.agent = place.id, .slots = {}};
  for (int i = 0; i < slots; ++i) {
    share.slots.push_back(place.free.back());
    place.free.pop_back();
  }
  place.used += slots;
  free_slots_ -= slots;
  if (slots == 0) --place.zero_free;
  add_to_index(at);
  return share;
}

bool Pool::blocked(const Request& request, std::size_t at) const {
  return !request.blocked_agents.empty() && request.blocked_agents.contains(agents_[at].id);
}

std::optional<std::size_t> Pool::best_shared(const Request& request) const {
  std::optional<Rank> best;
  for (auto ranks = by_free_.lower_bound(request.slots); ranks != by_free_.end(); ++ranks) {
    const auto rank =
        std::ranges::find_if(ranks->second, [&](const Rank& r) { return !blocked(request, r.place); });
    if (rank != ranks->second.end() && (!best || *rank < *best)) best = *rank;
    if (best && options_.fitting == Fitting::Best) break;  // more free slots only score less
  }
  if (!best) return std::nullopt;
  return best->place;
}

std::optional<std::size_t> Pool::best_zero(const Request& request) const {
  const auto rank = std::ranges::find_if(zero_, [&](const Rank& r) { return !blocked(request, r.place); });
  if (rank == zero_.end()) return std::nullopt;
  return rank->place;
}

/// Idle agents that together have exactly the slots asked for; empty if there are none.
std::vector<std::size_t> Pool::whole_agents(const Request& request) const {
  const auto first = [&](const std::set<std::size_t>& idle, std::size_t count) {
    std::vector<std::size_t> found;
    for (auto at = idle.begin(); at != idle.end() && found.size() < count; ++at)
      if (!blocked(request, *at)) found.push_back(*at);
    return found;
  };
  for (const auto& [size, idle] : idle_) {
    if (request.slots % size != 0) continue;
    const auto count = static_cast<std::size_t>(request.slots / size);
    if (idle.size() < count) continue;
    auto found = first(idle, count);
    if (found.size() == count) return found;
  }
  if (!options_.heterogeneous) return {};
  std::vector<std::size_t> found;
  int missing = request.slots;
  for (const auto& [size, idle] : idle_) {
    for (const auto at : first(idle, static_cast<std::size_t>(missing / size))) {
      found.push_back(at);
      missing -= size;
    }
  }
  return missing == 0 ? found : std::vector<std::size_t>{};
}

std::vector<std::size_t> Pool::find(const Request& request) const {
  if (request.slots < 0) return {};
  if (const auto at = request.slots == 0 ? best_zero(request) : best_shared(request)) return {*at};
  if (request.slots < 2 || request.single_agent) return {};
  return whole_agents(request);
}

std::optional<std::vector<Share>> Pool::place(const Request& request) {
  const auto found = find(request);
  if (found.empty()) return std::nullopt;
  std::vector<Share> shares;
  // One agent gives what is asked for; of several each gives all that it has.
  for (const auto at : found)
    shares.push_back(take(at, found.size() == 1 ? request.slots : static_cast<int>(agents_[at].free.size())));
  return shares;
}

}  // namespace det::scheduler
