#include "det/scheduler/queue.h"

#include <fmt/format.h>

#include <algorithm>

#include "det/scheduler/waiting.h"

namespace det::scheduler {

std::vector<const Request*> queue_of(std::span<const Request> requests) {
  // The times lie beside the pointers, so that sorting does not jump through memory.
  struct Entry {
    Time submitted, requested;
    const Request* request;
  };
  std::vector<Entry> entries;
  entries.reserve(requests.size());
  for (const auto& request : requests)
    if (!request.running) entries.push_back({request.submitted, request.requested, &request});
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    if (a.submitted != b.submitted) return a.submitted < b.submitted;
    if (a.requested != b.requested) return a.requested < b.requested;
    return a.request->allocation_id < b.request->allocation_id;
  });
  std::vector<const Request*> queue;
  queue.reserve(entries.size());
  for (const auto& entry : entries) queue.push_back(entry.request);
  return queue;
}

GroupLimits::GroupLimits(std::span<const Request> requests) {
  for (const auto& request : requests)
    if (request.running && request.slots > 0) groups_[request.group].slots += request.slots;
}

std::optional<std::string> GroupLimits::why_not(const Request& request) {
  if (!request.slots_max) return std::nullopt;
  auto& group = groups_[request.group];
  if (!group.held && group.slots + request.slots <= *request.slots_max) return std::nullopt;
  const auto needs = slots_text(request.slots);
  if (request.slots > *request.slots_max)  // for ever, so it holds nobody back
    return fmt::format("needs {}; its job may use at most {} (resources.max_slots)", needs,
                       *request.slots_max);
  group.held = true;
  return fmt::format("needs {}; its job uses {} of the {} that it may use (resources.max_slots)", needs,
                     group.slots, slots_text(*request.slots_max));
}

void GroupLimits::started(const Request& request) {
  groups_[request.group].slots += request.slots;
}

}  // namespace det::scheduler
