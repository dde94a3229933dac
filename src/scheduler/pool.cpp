#include "det/scheduler/pool.h"

#include <algorithm>
#include <functional>

namespace det::scheduler {

Pool::Pool(std::span<const Agent> agents, const FittingOptions& options, bool idle) : options_(options) {
  std::vector<const Agent*> sorted;
  sorted.reserve(agents.size());
  for (const auto& agent : agents) sorted.push_back(&agent);
  std::ranges::sort(sorted, {}, [](const Agent* agent) -> const std::string& { return agent->id; });

  agents_.reserve(agents.size());
  for (const auto* agent : sorted) {
    const bool usable = agent->enabled && !agent->draining;
    Place place{
        .id = agent->id, .total = static_cast<int>(agent->slots.size()), .zero_max = agent->zero_slot_max};
    if (usable) place.zero_free = std::max(0, agent->zero_slot_max - (idle ? 0 : agent->zero_slot_running));
    place.usable.reserve(agent->slots.size());
    for (const auto& slot : agent->slots) {
      const bool used = slot.used && !idle;
      if (used) place.busy.push_back(slot.id);
      if (used && (!usable || !slot.enabled)) ++slots_leaving_;
      if (!usable || !slot.enabled) continue;
      ++slots_;
      place.usable.push_back(slot.id);
      if (!used) place.free.push_back(slot.id);
    }
    std::ranges::sort(place.free, std::greater<>());
    std::ranges::sort(place.usable, std::greater<>());
    place.open = usable;
    place.kind = kind_of(agent->attributes);
    auto& counts = kinds_[place.kind].counts;
    (usable ? counts.agents : counts.agents_unusable) += 1;
    counts.slots += static_cast<int>(place.usable.size());
    free_slots_ += static_cast<int>(place.free.size());
    agents_.push_back(std::move(place));
    add_to_index(agents_.size() - 1);
  }
}

std::size_t Pool::kind_of(const Attributes& attributes) {
  const auto found = std::ranges::find(kinds_, attributes, &Kind::attributes);
  if (found != kinds_.end()) return static_cast<std::size_t>(found - kinds_.begin());
  kinds_.push_back({.attributes = attributes});
  return kinds_.size() - 1;
}

bool Pool::Kind::has(const Attributes& wanted) const {
  return wanted.empty() || std::ranges::includes(attributes, wanted);
}

Pool::Counts Pool::counts(const Attributes& attributes) const {
  Counts all;
  for (const auto& kind : kinds_) {
    if (!kind.has(attributes)) continue;
    all.agents += kind.counts.agents;
    all.agents_unusable += kind.counts.agents_unusable;
    all.slots += kind.counts.slots;
    all.free_slots += kind.counts.free_slots;
    if (!kind.by_free.empty())
      all.free_slots_on_one_max = std::max(all.free_slots_on_one_max, kind.by_free.rbegin()->first);
  }
  return all;
}

Pool Pool::empty(std::span<const Agent> agents, const FittingOptions& options) {
  return Pool(agents, options, true);
}

std::optional<std::size_t> Pool::index_of(const std::string& agent) const {
  const auto found = std::ranges::lower_bound(agents_, agent, {}, &Place::id);
  if (found == agents_.end() || found->id != agent) return std::nullopt;
  return static_cast<std::size_t>(found - agents_.begin());
}

bool Pool::has(const std::string& agent) const {
  return index_of(agent).has_value();
}

double Pool::slot_score(const Place& place) const {
  const auto free = static_cast<double>(place.free.size());
  if (options_.fitting == Fitting::Best) return 1 / (1 + free);
  return place.total == 0 ? 0 : free / place.total;
}

double Pool::zero_score(const Place& place) const {
  if (!place.busy.empty()) return slot_score(place);
  if (place.zero_max <= 0) return 0;
  if (options_.fitting == Fitting::Best) return 1 / (1 + static_cast<double>(place.zero_free));
  return static_cast<double>(place.zero_free) / place.zero_max;
}

void Pool::add_to_index(std::size_t at) {
  const auto& place = agents_[at];
  auto& kind = kinds_[place.kind];
  const auto free = static_cast<int>(place.free.size());
  if (free > 0) kind.by_free[free].insert({slot_score(place), at});
  if (free > 0 && place.busy.empty()) kind.idle[free].insert(at);
  if (place.zero_free > 0) kind.zero.insert({zero_score(place), at});
  kind.counts.free_slots += free;
}

void Pool::remove_from_index(std::size_t at) {
  const auto& place = agents_[at];
  auto& kind = kinds_[place.kind];
  const auto free = static_cast<int>(place.free.size());
  if (const auto ranks = kind.by_free.find(free); ranks != kind.by_free.end()) {
    ranks->second.erase({slot_score(place), at});
    if (ranks->second.empty()) kind.by_free.erase(ranks);
  }
  if (const auto idle = kind.idle.find(free); idle != kind.idle.end()) {
    idle->second.erase(at);
    if (idle->second.empty()) kind.idle.erase(idle);
  }
  kind.zero.erase({zero_score(place), at});
  kind.counts.free_slots -= free;
}

Share Pool::take_any(std::size_t at, int slots) {
  remove_from_index(at);
  auto& place = agents_[at];
  Share share{.agent = place.id, .slots = {}};
  for (int i = 0; i < slots; ++i) {
    share.slots.push_back(place.free.back());
    place.busy.push_back(place.free.back());
    place.free.pop_back();
  }
  free_slots_ -= slots;
  if (slots == 0) --place.zero_free;
  add_to_index(at);
  return share;
}

void Pool::give_back(const std::vector<Share>& held) {
  for (const auto& share : held) {
    const auto at = index_of(share.agent);
    if (!at) continue;
    auto& place = agents_[*at];
    remove_from_index(*at);
    if (share.slots.empty() && place.open) place.zero_free = std::min(place.zero_free + 1, place.zero_max);
    for (const int id : share.slots) {
      if (std::erase(place.busy, id) == 0 || !std::ranges::binary_search(place.usable, id, std::greater<>()))
        continue;
      place.free.insert(std::ranges::lower_bound(place.free, id, std::greater<>()), id);
      ++free_slots_;
    }
    add_to_index(*at);
  }
}

void Pool::take(const std::vector<Share>& held) {
  for (const auto& share : held) {
    const auto at = index_of(share.agent);
    if (!at) continue;
    auto& place = agents_[*at];
    remove_from_index(*at);
    if (share.slots.empty()) place.zero_free = std::max(0, place.zero_free - 1);
    for (const int id : share.slots) {
      const auto spot = std::ranges::lower_bound(place.free, id, std::greater<>());
      if (spot == place.free.end() || *spot != id) continue;
      place.free.erase(spot);
      place.busy.push_back(id);
      --free_slots_;
    }
    add_to_index(*at);
  }
}

std::vector<int> Pool::free_slots_of(const std::string& agent) const {
  const auto at = index_of(agent);
  if (!at) return {};
  return {agents_[*at].free.rbegin(), agents_[*at].free.rend()};
}

std::vector<Pool::Part> Pool::parts(const Request& request) const {
  std::vector<Part> parts;
  const auto found = find(request);
  for (const auto at : found)
    parts.push_back({.agent = agents_[at].id,
                     .slots = found.size() == 1 ? request.slots : static_cast<int>(agents_[at].free.size())});
  return parts;
}

void Pool::hold_for(const Request& request) {
  // The fullest are nearest to being free; of equals the first, so that the next plan keeps the same ones.
  std::vector<std::size_t> candidates;
  int largest = 0;
  for (std::size_t at = 0; at < agents_.size(); ++at) {
    if (!agents_[at].open || agents_[at].usable.empty() || blocked(request, at)) continue;
    if (!kinds_[agents_[at].kind].has(request.attributes)) continue;
    candidates.push_back(at);
    largest = std::max(largest, static_cast<int>(agents_[at].usable.size()));
  }
  std::ranges::stable_sort(candidates, [&](std::size_t a, std::size_t b) {
    return agents_[a].free.size() > agents_[b].free.size();
  });
  const bool one = largest >= request.slots;
  int size = 0;  // of the whole agents, where one is not enough
  if (!one)
    for (int n = largest; n > 0 && size == 0; --n)
      if (request.slots % n == 0 && std::ranges::count_if(candidates, [&](std::size_t at) {
                                      return static_cast<int>(agents_[at].usable.size()) == n;
                                    }) >= request.slots / n)
        size = n;
  int missing = request.slots;
  for (const auto at : candidates) {
    auto& place = agents_[at];
    const auto slots = static_cast<int>(place.usable.size());
    if (one ? slots < request.slots : size > 0 ? slots != size : slots > missing) continue;
    remove_from_index(at);
    free_slots_ -= static_cast<int>(place.free.size());
    place.free.clear();
    add_to_index(at);
    missing -= slots;
    if (missing <= 0) return;
  }
}

bool Pool::blocked(const Request& request, std::size_t at) const {
  return !request.blocked_agents.empty() && request.blocked_agents.contains(agents_[at].id);
}

std::optional<std::size_t> Pool::best_shared(const Request& request) const {
  std::optional<Rank> best;
  for (const auto& kind : kinds_) {
    if (!kind.has(request.attributes)) continue;
    for (auto ranks = kind.by_free.lower_bound(request.slots); ranks != kind.by_free.end(); ++ranks) {
      const auto rank =
          std::ranges::find_if(ranks->second, [&](const Rank& r) { return !blocked(request, r.place); });
      if (rank == ranks->second.end()) continue;
      if (!best || *rank < *best) best = *rank;
      if (options_.fitting == Fitting::Best) break;  // more free slots only score less
    }
  }
  if (!best) return std::nullopt;
  return best->place;
}

std::optional<std::size_t> Pool::best_zero(const Request& request) const {
  std::optional<Rank> best;
  for (const auto& kind : kinds_) {
    if (!kind.has(request.attributes)) continue;
    const auto rank =
        std::ranges::find_if(kind.zero, [&](const Rank& r) { return !blocked(request, r.place); });
    if (rank != kind.zero.end() && (!best || *rank < *best)) best = *rank;
  }
  if (!best) return std::nullopt;
  return best->place;
}

/// Idle agents that together have exactly the slots asked for; empty if there are none.
std::vector<std::size_t> Pool::whole_agents(const Request& request) const {
  // Of each size, those of all kinds that it may use.
  std::map<int, std::vector<const Idle*>, std::greater<>> sizes;
  for (const auto& kind : kinds_)
    if (kind.has(request.attributes))
      for (const auto& [size, idle] : kind.idle) sizes[size].push_back(&idle);
  const auto first = [&](const std::vector<const Idle*>& all, std::size_t count) {
    std::vector<std::size_t> found;
    for (const auto* idle : all) {
      const auto before = found.size();
      for (auto at = idle->begin(); at != idle->end() && found.size() - before < count; ++at)
        if (!blocked(request, *at)) found.push_back(*at);
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
    shares.push_back(
        take_any(at, found.size() == 1 ? request.slots : static_cast<int>(agents_[at].free.size())));
  return shares;
}

}  // namespace det::scheduler
