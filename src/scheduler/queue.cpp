#include "det/scheduler/queue.h"

#include <algorithm>

namespace det::scheduler {

namespace {

std::vector<const Request*> in_order(std::span<const Request> requests, Order order, bool running) {
  // The keys that mostly decide lie beside the places, so that sorting does not jump through memory.
  struct Entry {
    std::int64_t position;
    std::int32_t priority;
    std::uint32_t place;
  };
  std::vector<Entry> entries;
  entries.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i)
    if (const auto& request = requests[i]; request.running == running)
      entries.push_back({.position = position(request),
                         .priority = order == Order::Importance ? request.priority : 0,
                         .place = static_cast<std::uint32_t>(i)});
  const auto before = [&](const Entry& a, const Entry& b) {
    if (a.priority != b.priority) return a.priority < b.priority;
    if (a.position != b.position) return a.position < b.position;
    const auto &one = requests[a.place], &other = requests[b.place];
    if (one.submitted != other.submitted) return one.submitted < other.submitted;
    if (one.requested != other.requested) return one.requested < other.requested;
    return one.allocation_id < other.allocation_id;
  };
  std::ranges::sort(entries, before);
  std::vector<const Request*> sorted;
  sorted.reserve(entries.size());
  for (const auto& entry : entries) sorted.push_back(&requests[entry.place]);
  return sorted;
}

}  // namespace

std::vector<const Request*> queue_of(std::span<const Request> requests, Order order) {
  return in_order(requests, order, false);
}

std::vector<const Request*> running_of(std::span<const Request> requests, Order order) {
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

GroupLimits::GroupLimits(std::span<const Request> requests) {
  for (const auto& request : requests)
    if (request.running && request.slots > 0) groups_[request.group].slots += request.slots;
}

std::optional<Why> GroupLimits::why_not(const Request& request) {
  if (!request.slots_max) return std::nullopt;
  auto& group = groups_[request.group];
  if (!group.held && group.slots + request.slots <= *request.slots_max) return std::nullopt;
  Why why{.reason = Why::Reason::AboveGroupMax,
          .slots = request.slots,
          .group_max = *request.slots_max,
          .group_used = group.slots};
  if (request.slots > *request.slots_max) return why;  // for ever, so it holds nobody back
  group.held = true;
  why.reason = Why::Reason::GroupMaxInUse;
  return why;
}

void GroupLimits::started(const Request& request) {
  groups_[request.group].slots += request.slots;
}

}  // namespace det::scheduler
