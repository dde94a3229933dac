#include "det/scheduler/resizing.h"

#include <algorithm>
#include <limits>

#include "det/scheduler/queue.h"

namespace det::scheduler {

namespace {

/// So many running requests are considered for one that waits, the last in the queue first.
constexpr std::size_t kConsideredMax = 64;

bool has_choice(const Request& request) {
  return request.slot_counts.size() > 1;
}

/// Has slots that it may be asked to exchange for others.
bool is_resizable(const Request& request) {
  return has_choice(request) && request.resizable && request.preemptible && !request.releasing &&
         !request.held.empty();
}

Queued on(const Request& request, int slots) {
  Queued queued(request);
  queued.slots = slots;
  return queued;
}

/// Looks for requests that would fit if others ran on fewer slots.
class Shrinking {
 public:
  Shrinking(std::span<const Agent> agents, std::span<const Request> requests, const FittingOptions& options,
            Plan& plan)
      : requests_(requests), pool_(agents, options), plan_(plan) {
    for (const auto& start : plan.start) pool_.take(start.shares);
    const auto running = running_of(requests);
    for (auto at = running.rbegin(); at != running.rend(); ++at) {
      const auto& request = *at->request;
      if (request.releasing) {
        pool_.give_back(request.held);
        if (has_choice(request)) returning_.push_back(&request);
      } else if (is_resizable(request) && request.slots > request.fewest_slots() &&
                 candidates_.size() < kConsideredMax) {
        candidates_.push_back(&request);
      }
    }
  }

  /// Whether somebody waits whom it helps that others run on fewer slots, now or as soon as they have left.
  bool make_room() {
    const auto first = std::ranges::find_if(plan_.waiting, [](const Plan::Waiting& one) {
      return one.why.reason == Why::Reason::TooFewFree && one.why.slots > 0;
    });
    if (first == plan_.waiting.end()) return false;
    const auto& waiting = requests_[first->request];
    const auto before = returning_.size();
    for (auto at = candidates_.begin(); !fits(waiting) && at != candidates_.end(); ++at) add(**at);
    if (!fits(waiting)) return false;
    // Those that were added early may hold slots elsewhere.
    const std::vector<const Request*> added(returning_.begin() + static_cast<std::ptrdiff_t>(before),
                                            returning_.end());
    for (const auto* request : added) {
      remove(*request);
      if (!fits(waiting)) add(*request);
    }
    for (const auto* request : added)
      if (std::ranges::find(returning_, request) != returning_.end())
        plan_.resize.push_back({.allocation_id = request->allocation_id, .slots = request->fewest_slots()});
    first->why.reason = Why::Reason::BeingFreed;
    first->why.giving_way = static_cast<int>(returning_.size());
    return true;
  }

 private:
  void add(const Request& request) {
    pool_.give_back(request.held);
    returning_.push_back(&request);
  }
  void remove(const Request& request) {
    pool_.take(request.held);
    std::erase(returning_, &request);
  }

  /// Whether it fits beside those that come back on their fewest slots, in the order of the queue.
  bool fits(const Request& waiting) {
    auto line = returning_;
    line.push_back(&waiting);
    std::ranges::sort(line, [](const Request* a, const Request* b) {
      if (job_before(*a, *b) != job_before(*b, *a)) return job_before(*a, *b);
      return a->allocation_id < b->allocation_id;
    });
    std::vector<std::vector<Share>> taken;
    bool all = true;
    for (const auto* request : line) {
      auto shares = pool_.place(on(*request, request->fewest_slots()));
      all = all && shares.has_value();
      if (shares) taken.push_back(*std::move(shares));
    }
    for (const auto& shares : taken) pool_.give_back(shares);
    return all;
  }

  std::span<const Request> requests_;
  Pool pool_;  ///< as it is when those have left that are leaving
  Plan& plan_;
  std::vector<const Request*> candidates_;  ///< the last in the queue first
  std::vector<const Request*> returning_;   ///< leave, and come back on other slots
};

/// Gives slots that are left to requests that can use more, those with the fewest first.
class Growing {
 public:
  Growing(Pool& pool, std::span<const Request> requests, const GroupCaps& caps, const Plan& plan)
      : pool_(pool), caps_(caps) {
    std::unordered_map<std::string_view, const Request*> waiting;
    for (const auto& request : requests) {
      if (request.running)
        used_[request.group] += request.slots;
      else
        waiting.emplace(request.allocation_id, &request);
    }
    for (const auto& start : plan.start) {
      const auto& request = *waiting.at(start.allocation_id);
      used_[request.group] += request.slots;
      if (has_choice(request)) starting_.push_back(&request);
    }
  }

  const std::vector<const Request*>& starting() const { return starting_; }

  struct Grown {
    const Request* request = nullptr;
    std::vector<Share> shares;
    std::size_t count = 0;  ///< of its slot_counts
    bool done = false;
    int slots() const { return request->slot_counts[count]; }
  };

  void grow(std::vector<Grown>& all) {
    while (true) {
      Grown* next = nullptr;
      for (auto& one : all)
        if (!one.done && (next == nullptr || one.slots() < next->slots())) next = &one;
      if (next == nullptr) return;
      next->done = !to_more(*next);
    }
  }

 private:
  /// The next number of slots that fits, if any does.
  bool to_more(Grown& one) {
    const auto& request = *one.request;
    auto& used = used_[request.group];
    auto cap = std::int64_t{request.slots_max.value_or(std::numeric_limits<int>::max())};
    if (const auto of_group = caps_.find(request.group); of_group != caps_.end())
      cap = std::min(cap, of_group->second);
    pool_.give_back(one.shares);
    for (auto count = one.count + 1; count < request.slot_counts.size(); ++count) {
      const int slots = request.slot_counts[count];
      if (used - one.slots() + slots > cap) break;
      auto shares = pool_.place(on(request, slots));
      if (!shares) continue;
      used += slots - one.slots();
      one.shares = *std::move(shares);
      one.count = count;
      return true;
    }
    pool_.take(one.shares);
    return false;
  }

  Pool& pool_;
  const GroupCaps& caps_;
  std::unordered_map<std::string_view, std::int64_t> used_;
  std::vector<const Request*> starting_;
};

void grow_those_that_start(Growing& growing, Plan& plan) {
  std::unordered_map<std::string_view, Placement*> placements;
  for (auto& start : plan.start) placements.emplace(start.allocation_id, &start);
  std::vector<Growing::Grown> all;
  for (const auto* request : growing.starting())
    all.push_back({.request = request, .shares = placements.at(request->allocation_id)->shares});
  growing.grow(all);
  for (auto& one : all) placements.at(one.request->allocation_id)->shares = std::move(one.shares);
}

void grow_those_that_run(Growing& growing, std::span<const Request> requests, Plan& plan) {
  std::vector<Growing::Grown> all;
  for (const auto& queued : running_of(requests)) {
    const auto& request = *queued.request;
    if (has_choice(request) && request.releasing) return;  // first it has to be there again
    const auto& counts = request.slot_counts;
    const auto at = std::ranges::find(counts, request.slots);
    if (is_resizable(request) && at != counts.end())
      all.push_back({.request = &request,
                     .shares = request.held,
                     .count = static_cast<std::size_t>(at - counts.begin())});
  }
  growing.grow(all);
  for (const auto& one : all)
    if (one.slots() > one.request->slots)
      plan.resize.push_back({.allocation_id = one.request->allocation_id, .slots = one.slots()});
}

}  // namespace

void resize(Pool& pool, std::span<const Agent> agents, std::span<const Request> requests,
            const FittingOptions& options, const GroupCaps& caps, Plan& plan) {
  if (std::ranges::none_of(requests, has_choice)) return;
  if (Shrinking(agents, requests, options, plan).make_room()) return;
  Growing growing(pool, requests, caps, plan);
  grow_those_that_start(growing, plan);
  if (std::ranges::none_of(plan.waiting, [](const Plan::Waiting& one) { return one.why.in_line(); }))
    grow_those_that_run(growing, requests, plan);
}

}  // namespace det::scheduler
