#include "det/scheduler/pool.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace det::scheduler {

namespace {

/// In order of their ids, each with its place.
std::vector<const Agent*> by_id(std::span<const Agent> agents) {
  std::vector<const Agent*> sorted;
  sorted.reserve(agents.size());
  for (const auto& agent : agents) sorted.push_back(&agent);
  const auto id = [](const Agent* agent) -> const std::string& { return agent->id; };
  if (!std::ranges::is_sorted(sorted, {}, id)) std::ranges::sort(sorted, {}, id);
  return sorted;
}

/// Those whose time is over last first; otherwise in the order of their ids.
bool outlives(const Agent* a, const Agent* b) {
  if (a->until != b->until) return b->until && (!a->until || *b->until < *a->until);
  return a->id < b->id;
}

template <class Index, class Key>
void erase_from(Index& index, const Key& key, std::size_t number) {
  const auto found = index.find(key);
  if (found == index.end()) return;
  found->second.erase(number);
  if (found->second.empty()) index.erase(found);
}

}  // namespace

Pool::Pool(std::span<const Agent> agents, const FittingOptions& options, bool idle)
    : options_(options), idle_(idle) {
  agents_.reserve(agents.size());
  std::map<Attributes, std::size_t> known;
  auto sorted = by_id(agents);
  const bool by_time =
      std::ranges::any_of(agents, [](const Agent& agent) { return agent.until.has_value(); });
  if (by_time) std::ranges::sort(sorted, outlives);
  for (const auto* agent : sorted) {
    const auto [kind, is_new] = known.try_emplace(agent->attributes, kinds_.size());
    if (is_new) kinds_.push_back({.attributes = agent->attributes});
    auto& members = kinds_[kind->second].members;
    Place place{.devices = devices_.size(),
                .total = static_cast<int>(agent->slots.size()),
                .kind = kind->second,
                .number = members.size()};
    devices_.resize(devices_.size() + agent->slots.size());
    members.push_back(agents_.size());
    fill(place, *agent);
    count(place, 1);
    agents_.push_back(place);
    add_to_index(place);
  }
  if (!by_time) return;
  by_id_.resize(agents_.size());
  std::iota(by_id_.begin(), by_id_.end(), std::size_t{0});
  std::ranges::sort(by_id_, {}, [&](std::size_t at) { return agents_[at].id; });
}

bool Pool::update(std::size_t at, const Agent& agent) {
  auto& place = agents_[at];
  if (!by_id_.empty() || agent.until || static_cast<int>(agent.slots.size()) != place.total ||
      kinds_[place.kind].attributes != agent.attributes)
    return false;
  remove_from_index(place);
  count(place, -1);
  fill(place, agent);
  count(place, 1);
  add_to_index(place);
  return true;
}

void Pool::fill(Place& place, const Agent& agent) {
  place.id = agent.id;
  place.open = agent.enabled && !agent.draining && (!agent.until || options_.now < *agent.until);
  place.zero_max = agent.zero_slot_max;
  place.zero_free = place.open ? std::max(0, agent.zero_slot_max - (idle_ ? 0 : agent.zero_slot_running)) : 0;
  place.usable = place.busy = place.free = place.leaving = 0;
  const auto devices = devices_of(place);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto& slot = agent.slots[i];
    Device device{.id = slot.id, .usable = place.open && slot.enabled, .busy = slot.used && !idle_};
    device.free = device.usable && !device.busy;
    place.usable += device.usable ? 1 : 0;
    place.busy += device.busy ? 1 : 0;
    place.free += device.free ? 1 : 0;
    place.leaving += device.busy && !device.usable ? 1 : 0;
    devices[i] = device;
  }
  std::ranges::sort(devices, {}, &Device::id);
}

/// Adds the agent to the sums, or takes it out of them.
void Pool::count(const Place& place, int sign) {
  slots_ += sign * place.usable;
  free_slots_ += sign * place.free;
  slots_leaving_ += sign * place.leaving;
  auto& counts = kinds_[place.kind].counts;
  (place.open ? counts.agents : counts.agents_unusable) += sign;
  counts.slots += sign * place.usable;
}

Pool Pool::empty(std::span<const Agent> agents, const FittingOptions& options) {
  return Pool(agents, options, true);
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
      all.free_slots_on_one_max = std::max(all.free_slots_on_one_max, kind.by_free.rbegin()->first.first);
  }
  return all;
}

const Pool::Place* Pool::named(std::string_view agent) const {
  if (!by_id_.empty()) {
    const auto at = std::ranges::lower_bound(by_id_, agent, {}, [&](std::size_t i) { return agents_[i].id; });
    return at == by_id_.end() || agents_[*at].id != agent ? nullptr : &agents_[*at];
  }
  const auto found = std::ranges::lower_bound(agents_, agent, {}, &Place::id);
  return found == agents_.end() || found->id != agent ? nullptr : &*found;
}

Pool::Place* Pool::named(std::string_view agent) {
  return const_cast<Place*>(std::as_const(*this).named(agent));
}

bool Pool::has(std::string_view agent) const {
  return named(agent) != nullptr;
}

std::span<Pool::Device> Pool::devices_of(const Place& place) {
  return std::span(devices_).subspan(place.devices, static_cast<std::size_t>(place.total));
}

std::span<const Pool::Device> Pool::devices_of(const Place& place) const {
  return std::span(devices_).subspan(place.devices, static_cast<std::size_t>(place.total));
}

Pool::Device* Pool::device(const Place& place, int id) {
  const auto devices = devices_of(place);
  const auto found = std::ranges::lower_bound(devices, id, {}, &Device::id);
  return found == devices.end() || found->id != id ? nullptr : &*found;
}

Pool::Freedom Pool::freedom(const Place& place) const {
  return {place.free, options_.fitting == Fitting::Best ? 0 : place.total};
}

double Pool::slot_score(int free, int total) const {
  if (options_.fitting == Fitting::Best) return 1 / (1 + static_cast<double>(free));
  return total == 0 ? 0 : static_cast<double>(free) / total;
}

double Pool::zero_score(const Place& place) const {
  if (place.busy > 0) return slot_score(place.free, place.total);
  if (place.zero_max <= 0) return 0;
  if (options_.fitting == Fitting::Best) return 1 / (1 + static_cast<double>(place.zero_free));
  return static_cast<double>(place.zero_free) / place.zero_max;
}

void Pool::add_to_index(const Place& place) {
  auto& kind = kinds_[place.kind];
  if (place.free > 0) kind.by_free[freedom(place)].insert(place.number);
  if (place.free > 0 && place.busy == 0) kind.idle[place.free].insert(place.number);
  kind.counts.free_slots += place.free;
  add_room(place);
}

void Pool::remove_from_index(const Place& place) {
  auto& kind = kinds_[place.kind];
  if (place.free > 0) erase_from(kind.by_free, freedom(place), place.number);
  if (place.free > 0 && place.busy == 0) erase_from(kind.idle, place.free, place.number);
  kind.counts.free_slots -= place.free;
  remove_room(place);
}

void Pool::add_room(const Place& place) {
  if (place.zero_free > 0) kinds_[place.kind].zero[zero_score(place)].insert(place.number);
}

void Pool::remove_room(const Place& place) {
  if (place.zero_free > 0) erase_from(kinds_[place.kind].zero, zero_score(place), place.number);
}

Share Pool::take_any(Place& place, int slots) {
  Share share{.agent = std::string(place.id), .slots = {}};
  if (slots == 0) {
    remove_room(place);
    --place.zero_free;
    add_room(place);
    return share;
  }
  remove_from_index(place);
  share.slots.reserve(static_cast<std::size_t>(slots));
  for (auto& device : devices_of(place)) {
    if (!device.free) continue;
    device.free = false;
    device.busy = true;
    share.slots.push_back(device.id);
    if (static_cast<int>(share.slots.size()) == slots) break;
  }
  place.free -= slots;
  place.busy += slots;
  free_slots_ -= slots;
  add_to_index(place);
  return share;
}

void Pool::give_back(const std::vector<Share>& held) {
  for (const auto& share : held) {
    auto* const place = named(share.agent);
    if (place == nullptr) continue;
    remove_from_index(*place);
    if (share.slots.empty() && place->open)
      place->zero_free = std::min(place->zero_free + 1, place->zero_max);
    for (const int id : share.slots) {
      auto* const found = device(*place, id);
      if (found == nullptr || !found->busy) continue;
      found->busy = false;
      --place->busy;
      if (!found->usable) continue;
      found->free = true;
      ++place->free;
      ++free_slots_;
    }
    add_to_index(*place);
  }
}

void Pool::take(const std::vector<Share>& held) {
  for (const auto& share : held) {
    auto* const place = named(share.agent);
    if (place == nullptr) continue;
    remove_from_index(*place);
    if (share.slots.empty()) place->zero_free = std::max(0, place->zero_free - 1);
    for (const int id : share.slots) {
      auto* const found = device(*place, id);
      if (found == nullptr || !found->free) continue;
      found->free = false;
      found->busy = true;
      --place->free;
      ++place->busy;
      --free_slots_;
    }
    add_to_index(*place);
  }
}

std::vector<int> Pool::free_slots_of(std::string_view agent) const {
  std::vector<int> slots;
  if (const auto* place = named(agent))
    for (const auto& device : devices_of(*place))
      if (device.free) slots.push_back(device.id);
  return slots;
}

int Pool::free_slots_on(std::string_view agent) const {
  const auto* place = named(agent);
  return place == nullptr ? 0 : place->free;
}

std::vector<Pool::Part> Pool::parts(const Queued& request) const {
  std::vector<Part> parts;
  const auto found = find(request);
  for (const auto at : found)
    parts.push_back({.agent = std::string(agents_[at].id),
                     .slots = found.size() == 1 ? request.slots : agents_[at].free});
  return parts;
}

void Pool::hold_for(const Queued& request) {
  // The fullest are nearest to being free; of equals the first, so that the next plan keeps the same ones.
  std::vector<std::size_t> candidates;
  int largest = 0;
  for (std::size_t at = 0; at < agents_.size(); ++at) {
    if (!agents_[at].open || agents_[at].usable == 0 || blocked(request, at)) continue;
    if (!kinds_[agents_[at].kind].has(request->attributes)) continue;
    candidates.push_back(at);
    largest = std::max(largest, agents_[at].usable);
  }
  std::ranges::stable_sort(candidates, std::greater<>(), [&](std::size_t at) { return agents_[at].free; });
  const bool one = largest >= request.slots;
  int size = 0;  // of the whole agents, where one is not enough
  if (!one)
    for (int n = largest; n > 0 && size == 0; --n)
      if (request.slots % n == 0 && std::ranges::count_if(candidates, [&](std::size_t at) {
                                      return agents_[at].usable == n;
                                    }) >= request.slots / n)
        size = n;
  int missing = request.slots;
  for (const auto at : candidates) {
    auto& place = agents_[at];
    if (one ? place.usable < request.slots : size > 0 ? place.usable != size : place.usable > missing)
      continue;
    remove_from_index(place);
    free_slots_ -= place.free;
    place.free = 0;
    for (auto& device : devices_of(place)) device.free = false;
    add_to_index(place);
    missing -= place.usable;
    if (missing <= 0) return;
  }
}

std::optional<std::vector<Share>> Pool::place(const Queued& request) {
  const auto found = find(request);
  if (found.empty()) return std::nullopt;
  std::vector<Share> shares;
  shares.reserve(found.size());
  // One agent gives what is asked for; of several each gives all that it has.
  for (const auto at : found)
    shares.push_back(take_any(agents_[at], found.size() == 1 ? request.slots : agents_[at].free));
  return shares;
}

}  // namespace det::scheduler
