#include "det/scheduler/scheduler.h"

#include <algorithm>
#include <map>

#include "det/scheduler/draft.h"

namespace det::scheduler {

namespace {

Plan plan_unlabelled(const Options& options, std::span<const Agent> agents,
                     std::span<const Request> requests) {
  switch (options.policy) {
    case Policy::Fifo: return plan_fifo(agents, requests, options.fitting);
    case Policy::RoundRobin: return plan_round_robin(agents, requests, options.fitting);
    case Policy::FairShare: return plan_fair_share(agents, requests, options.fitting);
    case Policy::Priority: return plan_priority(agents, requests, options.fitting, options.preemption);
  }
  return {};
}

/// Agents and requests of one label, and where the requests stand among all.
struct Part {
  std::vector<Agent> agents;
  std::vector<Request> requests;
  std::vector<std::size_t> places;
};

class Chosen final : public Scheduler {
 public:
  explicit Chosen(const Options& options) : options_(options) {}

  // Labels part a pool in pools that do not know one another.
  Plan plan(std::span<const Agent> agents, std::span<const Request> requests) const override {
    const auto labelled = [](const auto& one) { return !one.label.empty(); };
    if (std::ranges::none_of(agents, labelled) && std::ranges::none_of(requests, labelled))
      return plan_unlabelled(options_, agents, requests);
    std::map<std::string, Part> parts;
    for (const auto& agent : agents) parts[agent.label].agents.push_back(agent);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      auto& part = parts[requests[i].label];
      part.requests.push_back(requests[i]);
      part.places.push_back(i);
    }
    Plan whole;
    for (const auto& [label, part] : parts) {
      auto plan = plan_unlabelled(options_, part.agents, part.requests);
      std::ranges::move(plan.start, std::back_inserter(whole.start));
      std::ranges::move(plan.preempt, std::back_inserter(whole.preempt));
      for (auto& [request, why] : plan.waiting) {
        if (part.agents.empty() && !agents.empty() && why.never()) {
          why.reason = Why::Reason::NoAgentsLabelled;
          why.label = label;
        }
        whole.waiting.push_back({.request = part.places[request], .why = std::move(why)});
      }
    }
    return whole;
  }

 private:
  Options options_;
};

}  // namespace

std::unique_ptr<Scheduler> make_scheduler(const Options& options) {
  return std::make_unique<Chosen>(options);
}

std::unique_ptr<Scheduler> make_fifo(const FittingOptions& options) {
  return make_scheduler({.policy = Policy::Fifo, .fitting = options});
}

std::unique_ptr<Scheduler> make_fifo(Fitting fitting) {
  return make_fifo({.fitting = fitting, .heterogeneous = false});
}

}  // namespace det::scheduler
