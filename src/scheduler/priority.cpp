#include <algorithm>
#include <optional>

#include "det/scheduler/preemption.h"

namespace det::scheduler {

namespace {

/// Requests of one class, with slots or without, from the most to the least important.
class Line {
 public:
  Line(Draft& draft, std::span<const Queued> running, bool preemption)
      : draft_(draft), running_(running), preempts_(preemption) {}

  void consider(const Queued& request) {
    if (draft_.settled(request)) return;
    // While a more important one waits, only what can be asked to give way again may start.
    const bool behind = waiting_priority_ && *waiting_priority_ < request.priority;
    const bool may_start = !behind || (preempts_ && request.preemptible);
    if (may_start) {
      if (const auto* shares = draft_.start(request)) {
        if (preemption_) preemption_->started(*shares);
        return;
      }
    }
    auto why = why_not_now(draft_.pool(), request);
    why.ahead = ahead_++;
    if (!may_start) {
      why.reason = Why::Reason::BehindPriority;
      why.priority = *waiting_priority_;
    } else if (preempts_) {
      if (!preemption_) preemption_.emplace(draft_, running_);
      if (const auto asked = preemption_->make_room(request)) {
        why.reason = Why::Reason::BeingFreed;
        why.giving_way = *asked;
      }
    }
    draft_.wait(request, why);
    if (!waiting_priority_) waiting_priority_ = request.priority;
  }

 private:
  Draft& draft_;
  std::span<const Queued> running_;
  bool preempts_;
  std::optional<Preemption> preemption_;  // made when somebody has to wait
  std::optional<int> waiting_priority_;   // of the most important one that waits
  std::int64_t ahead_ = 0;
};

}  // namespace

Plan plan_priority(Draft draft, bool preemption) {
  const auto requests = draft.requests();
  const auto queue = queue_of(requests, Order::Importance);
  for (const bool without_slots : {true, false}) {
    std::vector<Queued> running;
    if (preemption) running = running_of(requests, Order::Importance);
    std::erase_if(running, [&](const Queued& r) { return (r.slots == 0) != without_slots; });
    Line line(draft, running, preemption);
    for (const auto& request : queue)
      if ((request.slots == 0) == without_slots) line.consider(request);
  }
  return std::move(draft).plan();
}

}  // namespace det::scheduler
