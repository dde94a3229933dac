#include "det/scheduler/draft.h"

namespace det::scheduler {

// One pass over the queue. The first that does not fit holds back the rest.
Plan plan_fifo(Draft draft) {
  const auto queue = queue_of(draft.requests());
  draft.start_those_without_slots(queue);
  std::int64_t ahead = 0;  // requests in the line so far
  for (const auto& request : queue)
    if (request.slots != 0 && !draft.settled(request) && (ahead > 0 || draft.start(request) == nullptr))
      draft.wait(request, ahead++);
  return std::move(draft).plan();
}

}  // namespace det::scheduler
