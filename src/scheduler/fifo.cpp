#include "det/scheduler/pool.h"
#include "det/scheduler/queue.h"
#include "det/scheduler/waiting.h"

namespace det::scheduler {

namespace {

/// One pass over the queue, from its head to its tail.
class Pass {
 public:
  Pass(std::span<const Agent> agents, std::span<const Request> requests, const FittingOptions& options)
      : requests_(requests), pool_(agents, options), feasibility_(agents, options), groups_(requests) {}

  void consider(const Request& request) {
    if (const auto& never = feasibility_.why_never(request)) return wait(request, *never);
    if (request.slots == 0) {
      if (!start(request)) wait(request, why_not_now(pool_, request));
      return;
    }
    if (const auto limit = groups_.why_not(request)) return wait(request, *limit);
    if (ahead_ > 0 || !start(request)) {
      auto why = why_not_now(pool_, request);
      why.ahead = ahead_++;
      wait(request, why);
    }
  }

  Plan plan() && { return std::move(plan_); }

 private:
  bool start(const Request& request) {
    auto shares = pool_.place(request);
    if (!shares) return false;
    groups_.started(request);
    plan_.start.push_back({.allocation_id = request.allocation_id, .shares = *std::move(shares)});
    return true;
  }

  void wait(const Request& request, const Why& why) {
    plan_.waiting.push_back({.request = static_cast<std::size_t>(&request - requests_.data()), .why = why});
  }

  std::span<const Request> requests_;
  Pool pool_;
  Feasibility feasibility_;
  GroupLimits groups_;
  std::int64_t ahead_ = 0;  // requests in the line so far
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
