#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "det/scheduler/scheduler.h"

/// Agents and requests for the tests of this module.
namespace det::scheduler::testing {

inline Agent agent(std::string id, int slots, int used = 0, int zero_max = 100, int zero_running = 0) {
  Agent agent{.id = std::move(id), .zero_slot_max = zero_max, .zero_slot_running = zero_running};
  for (int i = 0; i < slots; ++i) agent.slots.push_back({.id = i, .used = i < used});
  return agent;
}

/// Idle agents of these sizes, named a00, a01, … in order.
inline std::vector<Agent> idle_agents(const std::vector<int>& sizes) {
  std::vector<Agent> agents;
  for (const int size : sizes) {
    const auto n = std::to_string(agents.size());
    agents.push_back(agent("a" + std::string(n.size() < 2 ? "0" : "") + n, size));
  }
  return agents;
}

/// What each waiting request's owner is told.
inline std::map<std::string, std::string> waiting_texts(const Plan& plan, std::span<const Request> requests) {
  std::map<std::string, std::string> texts;
  for (const auto& [request, why] : plan.waiting) texts[requests[request].allocation_id] = text(why);
  return texts;
}

inline Request request(std::string id, int slots) {
  return {.allocation_id = id, .group = id, .slots = slots};
}

}  // namespace det::scheduler::testing
