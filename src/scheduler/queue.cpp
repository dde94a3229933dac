#include "det/scheduler/queue.h"

#include <algorithm>

namespace det::scheduler {

namespace {

std::vector<Queued> in_order(std::span<const Request> requests, Order order, bool running) {
  // Sorted are the keys that mostly decide, and places.
  struct Entry {
    std::int64_t position;
    std::int32_t priority;
    std::uint32_t place;  // in chosen
  };
  std::vector<Queued> chosen;
  std::vector<Entry> entries;
  chosen.reserve(requests.size());
  entries.reserve(requests.size());
  for (const auto& request : requests) {
    if (request.running != running) continue;
    entries.push_back({.position = position(request),
                       .priority = order == Order::Importance ? request.priority : 0,
                       .place = static_cast<std::uint32_t>(chosen.size())});
    chosen.emplace_back(request);
  }
  const auto before = [&](const Entry& a, const Entry& b) {
    if (a.priority != b.priority) return a.priority < b.priority;
    if (a.position != b.position) return a.position < b.position;
    const auto &one = *chosen[a.place].request, &other = *chosen[b.place].request;
    if (one.submitted != other.submitted) return one.submitted < other.submitted;
    if (one.requested != other.requested) return one.requested < other.requested;
    return one.allocation_id < other.allocation_id;
  };
  std::ranges::sort(entries, before);
  std::vector<Queued> sorted;
  sorted.reserve(entries.size());
  for (const auto& entry : entries) sorted.push_back(chosen[entry.place]);
  return sorted;
}

}  // namespace

std::vector<Queued> queue_of(std::span<const Request> requests, Order order) {
  return in_order(requests, order, false);
}

std::vector<Queued> running_of(std::span<const Request> requests, Order order) {
  return in_order(requests, order, true);
}

std::int64_t position(const Request& request) {
  return request.position != 0 ? request.position : request.submitted.microseconds * kPositionsPerMicrosecond;
}

bool job_before(const Request& a, const Request& b) {
  if (a.priority != b.priority) return a.priority < b.priority;
  if (position(a) != position(b)) return position(a) < position(b);
  return a.submitted < b.submitted;
}

Groups::Groups(std::span<const Request> requests) : first_(requests.data()) {
  std::unordered_map<std::string_view, std::uint32_t> known;
  numbers_.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    // Those of one group mostly come one after the other.
    const bool same = i > 0 && requests[i].group == requests[i - 1].group;
    numbers_.push_back(
        same ? numbers_.back()
             : known.try_emplace(requests[i].group, static_cast<std::uint32_t>(known.size())).first->second);
  }
  size_ = known.size();
}

GroupLimits::GroupLimits(std::span<const Request> requests)
    : any_(std::ranges::any_of(requests, [](const Request& r) { return r.slots_max.has_value(); })) {
  if (!any_) return;
  for (const auto& request : requests)
    if (request.running && request.slots > 0) groups_[request.group].slots += request.slots;
}

std::optional<Why> GroupLimits::why_not(const Queued& request) {
  if (request.plain || !request->slots_max) return std::nullopt;
  auto& group = groups_[request->group];
  if (!group.held && group.slots + request.slots <= *request->slots_max) return std::nullopt;
  Why why{.reason = Why::Reason::AboveGroupMax,
          .slots = request.slots,
          .group_max = *request->slots_max,
          .group_used = group.slots};
  if (request.slots > *request->slots_max) return why;  // for ever, so it holds nobody back
  group.held = true;
  why.reason = Why::Reason::GroupMaxInUse;
  return why;
}

void GroupLimits::started(const Queued& request) {
  if (any_) groups_[request->group].slots += request.slots;
}

}  // namespace det::scheduler
