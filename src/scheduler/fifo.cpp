#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "det/scheduler/pool.h"
#include "det/scheduler/queue.h"
#include "det/scheduler/waiting.h"

namespace det::scheduler {

namespace {

/// One pass over the queue, from its head to its tail.
class Pass {
 public:
  Pass(std::span<const Agent> agents, std::span<const Request> requests, const FittingOptions& options)
      : pool_(agents, options), feasibility_(agents, options), groups_(requests) {}

  void consider(const Request& request) {
    if (const auto& never = feasibility_.why_never(request)) return wait(request, *never);
    if (request.slots == 0) {
      if (!start(request)) wait(request, why_not_now(pool_, request));
      return;
    }
    if (auto limit = groups_.why_not(request)) return wait(request, *std::move(limit));
    if (ahead_ > 0 || !start(request)) wait(request, in_line(request));
  }

  Plan plan() && {
    // In ascending order an entry goes to the end of the map at once; in the queue's order
    // each would be searched for, which takes longer than all the rest of a plan.
    std::ranges::sort(waiting_, {}, &Waiting::id);
    for (auto& [id, why] : waiting_) plan_.waiting.emplace_hint(plan_.waiting.end(), id, std::move(why));
    return std::move(plan_);
  }

 private:
  struct Waiting {
    std::string_view id;
    std::string why;
  };

  bool start(const Request& request) {
    auto shares = pool_.place(request);
    if (!shares) return false;
    groups_.started(request);
    plan_.start.push_back({.allocation_id = request.allocation_id, .shares = *std::move(shares)});
    return true;
  }

  void wait(const Request& request, std::string why) {
    waiting_.push_back({.id = request.allocation_id, .why = std::move(why)});
  }

  /// Takes the next place in the line and says what it waits for. Once there is a
  /// line no slot is taken any more, so requests of one size have one reason.
  std::string in_line(const Request& request) {
    const auto ahead = ahead_text(ahead_++);
    if (!request.blocked_agents.empty()) return why_not_now(pool_, request) + ahead;
    auto& known = reasons_[request.slots];
    if (known.empty()) known = why_not_now(pool_, request);
    return known + ahead;
  }

  Pool pool_;
  Feasibility feasibility_;
  GroupLimits groups_;
  std::unordered_map<int, std::string> reasons_;  // by slots; only looked up
  std::int64_t ahead_ = 0;                        // requests in the line so far
  std::vector<Waiting> waiting_;
  Plan plan_;
};

class Fifo final : public Scheduler {
 public:
  explicit Fifo(const FittingOptions& options) : options_(options) {}

  Plan plan(std::span<const Agent> agents, std::span<const Request> requests) const override {
    Pass pass(agents, requests, options_);
    for (const auto* request : queue_of(requests)) pass.consider(*request);
    return std::move(pass).plan();
  }

 private:
  FittingOptions options_;
};

}  // namespace

std::unique_ptr<Scheduler> make_fifo(const FittingOptions& options) {
  return std::make_unique<Fifo>(options);
}

std::unique_ptr<Scheduler> make_fifo(Fitting fitting) {
  return make_fifo({.fitting = fitting, .heterogeneous = false});
}

}  // namespace det::scheduler
