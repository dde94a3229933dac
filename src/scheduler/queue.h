#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "det/scheduler/scheduler.h"

namespace det::scheduler {

/// What is earlier in a queue. `Importance` looks at the priority first.
enum class Order { Position, Importance };

/// The requests that do not run, in order: by the job's position, its submission, that of the allocation, and
/// the allocation id.
std::vector<const Request*> queue_of(std::span<const Request> requests, Order order = Order::Position);
/// Those that run, likewise.
std::vector<const Request*> running_of(std::span<const Request> requests, Order order = Order::Position);

/// Calls `what` with each of them in order. A long queue leads all over the memory, so those that come next
/// are fetched meanwhile.
template <class What>
void each_of(std::span<const Request* const> queue, What what) {
  constexpr std::size_t kAhead = 16, kLine = 64;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (i + kAhead < queue.size())
      for (std::size_t byte = 2 * kLine; byte < 4 * kLine;
           byte += kLine)  // what decides whether it can start
        __builtin_prefetch(reinterpret_cast<const char*>(queue[i + kAhead]) + byte);
    what(*queue[i]);
  }
}

std::int64_t position(const Request& request);
/// Whether a's job comes strictly before b's, by importance, position and submission; not so for two requests
/// of one job, which have the same.
bool job_before(const Request& a, const Request& b);

/// How many slots each group uses, against its slots_max.
///
/// Within a group the first request that has to wait holds back those behind it:
/// a small trial does not overtake a large one of its own experiment.
///
/// Refers to the requests given; they must outlive it.
class GroupLimits {
 public:
  explicit GroupLimits(std::span<const Request> requests);

  /// Why the limit keeps `request` waiting, if it does.
  std::optional<Why> why_not(const Request& request);
  void started(const Request& request);

 private:
  struct Group {
    std::int64_t slots = 0;
    bool held = false;
  };
  std::unordered_map<std::string_view, Group> groups_;  // only looked up: its order decides nothing
};

}  // namespace det::scheduler
