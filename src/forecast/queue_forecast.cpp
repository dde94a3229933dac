#include "det/forecast/queue_forecast.h"

#include <algorithm>
#include <limits>
#include <set>

namespace det::forecast {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// A plan may answer to what the plan before it did; at one moment so often at most.
constexpr int kPlansAtOnce = 1000;

class Queue {
 public:
  explicit Queue(const QueueQuestion& question) : options_(question.options) {
    std::map<std::string, std::int64_t> slots;  // by job
    for (const auto& request : question.requests) slots[request.group] += std::max(1, request.slots);
    for (const auto& agent : question.agents) state_.put_agent(agent);
    for (auto request : question.requests) {
      request.asked = request.releasing = false;
      request.resizable = false;
      const auto work = question.work.find(request.group);
      auto& job = jobs_[request.group];
      ++job.requests;
      if (!request.running) waiting_.insert(request.allocation_id);
      const auto wide = std::max(1, request.slots);
      left_[request.allocation_id] = work == question.work.end()
                                         ? kNever
                                         : work->second * wide / static_cast<double>(slots[request.group]);
      if (request.running) ends_[request.allocation_id] = left_[request.allocation_id] / wide;
      state_.put_request(std::move(request));
    }
  }

  std::map<std::string, JobOutlook> run(const std::function<bool()>& give_up) {
    while (!waiting_.empty() && !(give_up && give_up())) {
      for (int i = 0; i < kPlansAtOnce && carry_out(state_.plan(options_)); ++i) {
      }
      const auto next = std::ranges::min_element(ends_, {}, &Ends::value_type::second);
      if (next == ends_.end() || next->second == kNever) break;
      now_ = next->second;
      end(next->first);
    }
    // Those that run have an end, whoever waits for what.
    for (const auto& [id, end] : ends_)
      if (auto& job = jobs_[state_.request(id)->group]; end != kNever) {
        job.last = std::max(job.last, end);
        --job.requests;
      }
    std::map<std::string, JobOutlook> outlooks;
    for (const auto& [group, job] : jobs_)
      outlooks[group] = {.start = job.start,
                         .end = job.requests == 0 ? std::optional(job.last) : std::nullopt};
    return outlooks;
  }

 private:
  struct Job {
    int requests = 0;  ///< that are not over
    std::optional<double> start;
    double last = 0;
  };
  using Ends = std::map<std::string, double>;

  /// Whether there was anything to do that another plan may answer.
  bool carry_out(const scheduler::Plan& plan) {
    for (const auto& placement : plan.start) start(placement);
    for (const auto& id : plan.preempt) give_way(id);
    return !plan.preempt.empty();
  }

  void use(const std::vector<scheduler::Share>& shares, bool used) {
    for (const auto& share : shares) {
      auto agent = *state_.agent(share.agent);
      if (share.slots.empty()) agent.zero_slot_running += used ? 1 : -1;
      for (auto& slot : agent.slots)
        if (std::ranges::find(share.slots, slot.id) != share.slots.end()) slot.used = used;
      state_.put_agent(std::move(agent));
    }
  }

  void start(const scheduler::Placement& placement) {
    auto request = *state_.request(placement.allocation_id);
    auto& job = jobs_[request.group];
    if (!job.start) job.start = now_;
    waiting_.erase(request.allocation_id);
    int slots = 0;
    for (const auto& share : placement.shares) slots += static_cast<int>(share.slots.size());
    request.slots = slots;
    request.running = true;
    request.held = placement.shares;
    ends_[request.allocation_id] = now_ + left_[request.allocation_id] / std::max(1, slots);
    state_.put_request(std::move(request));
    use(placement.shares, true);
  }

  void give_way(const std::string& id) {
    auto request = *state_.request(id);
    use(request.held, false);
    left_[id] = (ends_[id] - now_) * std::max(1, request.slots);
    ends_.erase(id);
    request.slots = request.fewest_slots();
    request.running = false;
    waiting_.insert(id);
    request.held.clear();
    state_.put_request(std::move(request));
  }

  void end(std::string id) {
    const auto request = *state_.request(id);
    use(request.held, false);
    auto& job = jobs_[request.group];
    --job.requests;
    job.last = std::max(job.last, now_);
    ends_.erase(id);
    state_.remove_request(id);
  }

  scheduler::PoolState state_;
  scheduler::Options options_;
  double now_ = 0;
  std::map<std::string, double> left_;  ///< slot-seconds that each request has still to use
  Ends ends_;                           ///< of those that run
  std::set<std::string> waiting_;       ///< for slots
  std::map<std::string, Job> jobs_;
};

}  // namespace

std::map<std::string, JobOutlook> queue_forecast(const QueueQuestion& question,
                                                 const std::function<bool()>& give_up) {
  return Queue(question).run(give_up);
}

}  // namespace det::forecast
