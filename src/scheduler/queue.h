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

/// A request, and beside it what a plan asks about most: one that only waits is never looked up, so that a
/// long queue does not lead all over the memory.
struct Queued {
  const Request* request = nullptr;
  int slots = 0;
  int priority = 0;
  bool single_agent = false;
  bool preemptible = true;
  bool plain = true;  ///< any agent will do, and its group has no limit

  Queued(const Request& request)  // NOLINT: what is said of one can be asked of a request alone
      : request(&request),
        slots(request.slots),
        priority(request.priority),
        single_agent(request.single_agent),
        preemptible(request.preemptible),
        plain(!request.slots_max && request.attributes.empty() && request.blocked_agents.empty()) {}
  const Request* operator->() const { return request; }
};

/// The requests that do not run, in order: by the job's position, its submission, that of the allocation, and
/// the allocation id.
std::vector<Queued> queue_of(std::span<const Request> requests, Order order = Order::Position);
/// Those that run, likewise.
std::vector<Queued> running_of(std::span<const Request> requests, Order order = Order::Position);

std::int64_t position(const Request& request);
/// Whether a's job comes strictly before b's, by importance, position and submission; not so for two requests
/// of one job, which have the same.
bool job_before(const Request& a, const Request& b);

/// Numbers for the groups, from 0: in the order in which the requests name them, which decides nothing.
///
/// Refers to the requests given; they must outlive it.
class Groups {
 public:
  explicit Groups(std::span<const Request> requests);
  std::size_t of(const Queued& request) const {
    return numbers_[static_cast<std::size_t>(request.request - first_)];
  }
  std::size_t size() const { return size_; }

 private:
  const Request* first_;
  std::vector<std::uint32_t> numbers_;  ///< of each request's
  std::size_t size_ = 0;
};

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
  std::optional<Why> why_not(const Queued& request);
  void started(const Queued& request);

 private:
  struct Group {
    std::int64_t slots = 0;
    bool held = false;
  };
  bool any_ = false;                                    // whether there are limits at all
  std::unordered_map<std::string_view, Group> groups_;  // only looked up: its order decides nothing
};

}  // namespace det::scheduler
