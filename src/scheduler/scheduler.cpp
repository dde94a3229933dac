#include "det/scheduler/scheduler.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "det/scheduler/draft.h"

namespace det::scheduler {

namespace {

Plan plan_unlabelled(const Options& options, std::span<const Agent> agents,
                     std::span<const Request> requests) {
  return plan_by_policy(Draft(agents, requests, options.fitting), options);
}

/// Agents and requests that know no others: of one label, or of one reservation; and where the requests stand
/// among all.
struct Part {
  std::vector<Agent> agents;
  std::vector<Request> requests;
  std::vector<std::size_t> places;
};

class Chosen final : public Scheduler {
 public:
  explicit Chosen(const Options& options) : options_(options) {}

  // Reservations and labels part a pool in pools that do not know one another.
  Plan plan(std::span<const Agent> agents, std::span<const Request> requests) const override {
    const bool any = std::ranges::any_of(agents, [](const Agent& a) { return !a.reserved_for.empty(); });
    return any ? plan_reserved(agents, requests) : plan_unreserved(agents, requests);
  }

 private:
  /// Those that wait get what is reserved for them, or else take part in the plan of all others; what runs on
  /// reserved agents does not.
  Plan plan_reserved(std::span<const Agent> agents, std::span<const Request> requests) const {
    std::map<std::string_view, std::vector<Agent>> reserved;
    std::set<std::string_view> ids;
    Part rest;
    for (const auto& agent : agents) {
      if (agent.reserved_for.empty()) {
        rest.agents.push_back(agent);
      } else {
        reserved[agent.reserved_for].push_back(agent);
        ids.insert(agent.id);
      }
    }
    Plan whole;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto& request = requests[i];
      if (request.running && !request.held.empty() && ids.contains(request.held.front().agent)) continue;
      if (const auto own = reserved.find(request.reservation); !request.running && own != reserved.end()) {
        auto alone = request;
        alone.label.clear();  // it was asked for for this request
        alone.slots_max.reset();
        auto plan = plan_fifo(Draft(own->second, std::span(&alone, 1), options_.fitting));
        if (!plan.start.empty()) {
          whole.start.push_back(std::move(plan.start.front()));
          continue;
        }
      }
      rest.requests.push_back(request);
      rest.places.push_back(i);
    }
    auto plan = plan_unreserved(rest.agents, rest.requests);
    std::ranges::move(plan.start, std::back_inserter(whole.start));
    whole.preempt = std::move(plan.preempt);
    whole.resize = std::move(plan.resize);
    for (auto& [request, why] : plan.waiting)
      whole.waiting.push_back({.request = rest.places[request], .why = std::move(why)});
    return whole;
  }

  Plan plan_unreserved(std::span<const Agent> agents, std::span<const Request> requests) const {
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
      std::ranges::move(plan.resize, std::back_inserter(whole.resize));
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

  Options options_;
};

}  // namespace

Plan plan_by_policy(Draft draft, const Options& options) {
  switch (options.policy) {
    case Policy::Fifo: return plan_fifo(std::move(draft));
    case Policy::RoundRobin: return plan_round_robin(std::move(draft));
    case Policy::FairShare: return plan_fair_share(std::move(draft));
    case Policy::Priority: return plan_priority(std::move(draft), options.preemption);
  }
  return {};
}

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
