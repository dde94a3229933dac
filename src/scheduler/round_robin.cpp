#include <algorithm>
#include <string_view>

#include "det/scheduler/draft.h"

namespace det::scheduler {

namespace {

/// The waiting requests of one group, in order, and what it uses.
struct Rotation {
  std::vector<Queued> queue;
  std::size_t next = 0;
  std::int64_t slots_used = 0;
  std::int64_t position = 0;
  std::string_view group;
};

std::vector<Rotation> rotations(std::span<const Request> requests, std::span<const Queued> queue) {
  const Groups groups(requests);
  std::vector<Rotation> sorted(groups.size());
  for (const auto& request : queue) {
    if (request.slots == 0) continue;
    auto& rotation = sorted[groups.of(request)];
    if (rotation.queue.empty()) {
      rotation.position = position(*request.request);
      rotation.group = request->group;
    }
    rotation.queue.push_back(request);
  }
  for (const auto& request : requests)
    if (request.running) sorted[groups.of(request)].slots_used += request.slots;
  std::erase_if(sorted, [](const Rotation& rotation) { return rotation.queue.empty(); });
  std::ranges::sort(sorted, [](const Rotation& a, const Rotation& b) {
    if (a.slots_used != b.slots_used) return a.slots_used < b.slots_used;
    if (a.position != b.position) return a.position < b.position;
    return a.group < b.group;
  });
  return sorted;
}

/// Starts the first of the group that can run one day; false when it does not fit now, or there is none.
bool start_one(Draft& draft, Rotation& rotation) {
  while (rotation.next < rotation.queue.size()) {
    const auto& request = rotation.queue[rotation.next];
    if (draft.settled(request)) {
      ++rotation.next;
      continue;
    }
    if (draft.start(request) == nullptr) return false;
    ++rotation.next;
    return true;
  }
  return false;
}

}  // namespace

// Rounds over the groups, those that use little first. A group whose head does not fit leaves the rounds:
// nothing of it overtakes its head.
Plan plan_round_robin(Draft draft) {
  const auto requests = draft.requests();
  const auto queue = queue_of(requests);
  draft.start_those_without_slots(queue);
  auto all = rotations(requests, queue);
  std::vector<Rotation*> active;
  for (auto& rotation : all) active.push_back(&rotation);
  while (!active.empty())
    std::erase_if(active, [&](Rotation* rotation) { return !start_one(draft, *rotation); });
  for (auto& rotation : all)
    for (std::int64_t ahead = 0; rotation.next < rotation.queue.size(); ++rotation.next) {
      const auto& request = rotation.queue[rotation.next];
      if (!draft.settled(request)) draft.wait(request, ahead++);
    }
  return std::move(draft).plan();
}

}  // namespace det::scheduler
