// An engine that gives machines, simulated, and what master/elastic/provisioner.cpp does with it: it grants
// late, never or twice, kills jobs, loses machines, and ends every job at its time limit.

#include <algorithm>

#include "world.h"

namespace det::simulation {

using State = elastic::State;

void Engine::begin() {
  const int slots = 1 << random_.below(3);
  limits_ = {.max_nodes = 4 / slots + static_cast<int>(random_.below(3)) + 1,
             .nodes_per_job = 1 + static_cast<int>(random_.below(2)),
             .slots_per_node = slots,
             .idle_timeout = 5 + random_.below(30),
             .grace_period = 5 + random_.below(10),
             .start_timeout = 60};
  limits_.nodes_per_job = std::min(limits_.nodes_per_job, limits_.max_nodes);
  time_limit_ = (30 + random_.below(60)) * kSecond;
  live();
  provide();
}

bool Engine::odds(double p) {
  return !world_.calm() && random_.unit() < p;
}

/// What time does to jobs.
void Engine::live() {
  for (auto& [id, job] : jobs_) {
    if (job.over) continue;
    if (job.cancelled || (job.begun && (world_.now >= job.ends || odds(0.01)))) {
      end(job);
    } else if (!job.begun && world_.now >= job.starts && !(job.never && !world_.calm())) {
      job.begun = true;
      job.ends = world_.now + time_limit_;
      for (int node = 0; node < job.nodes && !odds(0.05); ++node) {
        const auto name = fmt::format("{}-{}-{}", kPilot, job.allotment, node) + (job.twin ? "b" : "");
        if (world_.agents.contains(name)) continue;
        world_.note("machine comes: " + name);
        auto agent =
            std::make_unique<SimAgent>(world_, name, limits_.slots_per_node, agent::OnDisconnect::Continue);
        agent->start();
        job.agents.push_back(name);
        world_.agents[name] = std::move(agent);
      }
    }
  }
  world_.after(kSecond, [this] { live(); });
}

void Engine::end(Job& job) {
  job.over = true;
  for (const auto& name : job.agents) {
    world_.note("machine goes: " + name);
    world_.agents.at(name)->leave_for_ever();
  }
}

/// One round of the master's provisioner.
void Engine::provide() {
  world_.after(2 * kSecond, [this] { provide(); });
  if (!world_.master->alive() || odds(0.1)) return;  // or the engine does not answer
  const auto& cluster = world_.master->cluster();
  std::map<std::string, Job*> found;
  for (auto& [id, job] : jobs_) {
    const auto* allotment = cluster.allotment(job.allotment);
    const bool ours = allotment != nullptr &&
                      (allotment->engine_id.empty() ? !job.over : allotment->engine_id == std::to_string(id));
    if (ours && found.emplace(job.allotment, &job).second && allotment->state != State::Releasing) continue;
    if (job.over) continue;
    if (++job.unwanted > 3) world_.broken("I-23", "a job that nobody wants is not given back");
    if (world_.mutant != Mutant::OrphansKept) job.cancelled = true;
  }
  std::vector<cluster::Event> events;
  std::vector<std::string> wanted;
  for (const auto& [id, allotment] : cluster.allotments()) {
    const auto at = found.find(id);
    if (at == found.end()) {
      if (allotment.state == State::Releasing || !allotment.engine_id.empty())
        events.push_back(cluster::AllotmentEnded{id, "it is over"});
      else
        wanted.push_back(id);
      continue;
    }
    const auto& job = *at->second;
    const auto name = std::to_string(job.id);
    if (job.over && world_.mutant == Mutant::AllotmentEndIgnored) continue;
    if (job.over)
      events.push_back(cluster::AllotmentEnded{id, "it is over"});
    else if (allotment.engine_id != name ||
             (allotment.state != State::Releasing && job.begun != (allotment.state == State::Running)) ||
             (job.begun && !allotment.ends))
      events.push_back(
          cluster::AllotmentReported{.id = id,
                                     .running = job.begun,
                                     .engine_id = name,
                                     .reason = "job " + name,
                                     .ends = job.begun ? std::optional(job.ends) : std::nullopt});
  }
  for (auto& event : events)
    if (world_.master->alive()) world_.master->command(std::move(event), [](const Reply&) {});
  // What is not durable yet is not asked for: its id may be given again.
  for (const auto& id : wanted)
    if (world_.master->alive() && world_.durable == world_.disk.size()) submit(id);
}

void Engine::submit(const std::string& allotment) {
  const auto* known = world_.master->cluster().allotment(allotment);
  if (known == nullptr) return;
  if (odds(0.1)) {  // refused
    world_.master->command(cluster::AllotmentEnded{allotment, "refused"}, [](const Reply&) {});
    return;
  }
  for (int twin = 0; twin < (odds(0.1) ? 2 : 1); ++twin) {
    const auto id = next_++;
    jobs_[id] = {.id = id,
                 .allotment = allotment,
                 .nodes = known->nodes,
                 .twin = twin > 0,
                 .never = odds(0.1),
                 .starts = world_.now + random_.below(20) * kSecond};
  }
}

// I-22: no more machines than allowed are asked for; I-23: none outlives its need.
void Engine::check() const {
  if (!world_.master->alive()) return;
  int nodes = 0;
  for (const auto& [id, allotment] : world_.master->cluster().allotments()) nodes += allotment.nodes;
  if (nodes > limits_.max_nodes)
    world_.broken("I-22", fmt::format("the pool asked for {} nodes of at most {}", nodes, limits_.max_nodes));
}

bool Engine::at_rest() const {
  return world_.master->cluster().allotments().empty() &&
         std::ranges::all_of(jobs_, [](const auto& entry) { return entry.second.over; });
}

std::string Engine::allotment_of(const std::string& agent) {
  if (!agent.starts_with(kPilot)) return "";
  const auto begin = kPilot.size() + 1;
  return agent.substr(begin, agent.rfind('-') - begin);
}

}  // namespace det::simulation
