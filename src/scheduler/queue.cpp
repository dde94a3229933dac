#include "det/scheduler/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "det/scheduler/waiting.h"

namespace det::scheduler {

std::vector<const Request*> queue_of(std::span<const Request> requests) {
  std::vector<const Request*> queue;
  queue.reserve(requests.size());
  for (const auto& request : requests)
    if (!request.running) queue.push_back(&request);
  std::ranges::sort(queue, {}, [](const Request* r) {
    return std::tuple(r->submitted, r->requested, std::string_view(r->allocation_id));
  });
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
