// Who runs where: requests, placements, preemption, and the end of allocations.

#include <algorithm>
#include <csignal>

#include "det/cluster/cluster.h"
#include "det/cluster/step.h"
#include "det/config/values/entrypoint.h"

namespace det::cluster {
namespace {

using experiment::AllocationState;
using experiment::Exit;

/// The failure of an allocation of which only followers have been heard yet.
constexpr const char* kFollowed = "its ranks lost the connection to each other";

bool is_followed(const api::RankExit& exit) {
  return exit.code == api::kFollowedStatus && exit.signal == 0;
}

std::string describe(const api::RankExit& exit) {
  if (is_followed(exit)) return kFollowed;
  if (!exit.reason.empty()) return fmt::format("rank {}: {}", exit.rank, exit.reason);
  if (exit.signal != 0) return fmt::format("rank {} was terminated by signal {}", exit.rank, exit.signal);
  return fmt::format("rank {} exited with status {}", exit.rank, exit.code);
}

/// The agent's share of the slots is free from now on.
void free_share(Allocation& allocation, const std::string& agent, Time now) {
  allocation.agents_ended.insert(agent);
  for (auto& share : allocation.record.shares)
    if (share.agent == agent) share.ended = now;
}

bool holds_slots(const Allocation& allocation, const std::string& agent) {
  if (allocation.agents_ended.contains(agent)) return false;
  return std::any_of(allocation.record.shares.begin(), allocation.record.shares.end(),
                     [&](const auto& share) { return share.agent == agent; });
}

// What a run that is over means for a task that is no trial.
task::Exit task_exit(const Allocation& allocation, const Exit& exit) {
  if (allocation.exit)
    return {.code = allocation.exit->signal != 0 ? 128 + allocation.exit->signal : allocation.exit->code,
            .signal = allocation.exit->signal,
            .reason = allocation.exit->reason,
            .asked = allocation.signaled || allocation.acknowledged};
  const bool began = allocation.lost && !allocation.failure.empty();
  return {.kind = began ? task::Exit::Kind::Lost : task::Exit::Kind::NeverBegan, .reason = exit.reason};
}

}  // namespace

void Cluster::request(experiment::Experiment& experiment, const experiment::RequestAllocation& wanted,
                      Step& step) {
  const auto& trial = *experiment.trial(wanted.trial);
  Allocation allocation;
  allocation.record = {.id = wanted.allocation_id,
                       .task_id = trial.record.task_id,
                       .experiment_id = experiment.record().id,
                       .trial_id = wanted.trial,
                       .run_id = trial.record.run_id,
                       .requested = step.now};
  const auto& resources = experiment.config().resources;
  const auto* batch_size = trial.record.hparams.if_contains("global_batch_size");
  allocation.slot_counts =
      config::slot_counts(resources, batch_size == nullptr ? 0 : json::to_int64(*batch_size).value_or(0));
  allocation.slots = allocation.slot_counts.empty() ? static_cast<int>(resources.slots_per_trial)
                                                    : allocation.slot_counts.front();
  step.effects.push_back(PutAllocation{allocation.record});
  allocations_.put(wanted.allocation_id, std::move(allocation));
  step.place = true;
}

void Cluster::preempt(const std::string& id, bool may_stay, Step& step) {
  auto* allocation = live_allocation(id);
  if (allocation == nullptr) return;
  DET_ASSERT(allocation->of_trial());  // others cannot give way and come back
  if (allocation->record.state == AllocationState::Pending)
    return end(*allocation, {.kind = Exit::Kind::Stopped, .preempted = true, .reason = "withdrawn"}, step);
  may_stay = may_stay && may_wait(*allocation);
  if (may_stay && allocation->may_stay) allocation->resume = false;
  if (allocation->preempt && (may_stay || !allocation->may_stay)) return;
  if (!allocation->preempt) ++allocation->preemptions;
  allocation->preempt = true;
  allocation->may_stay = may_stay;
  allocation->resume = false;
  const auto seconds = live(allocation->record.experiment_id)->config().preemption_timeout_seconds;
  allocation->preempt_deadline = step.now + seconds.value_or(kPreemptionTimeoutSeconds) * kSecond;
  allocation->record.state = AllocationState::Terminating;
  allocation->record.exit_reason = why_it_gives_way(*allocation);
  step.effects.push_back(PutAllocation{allocation->record});
  step.effects.push_back(WakeAllocation{id});
}

void Cluster::kill(const std::string& id, Step& step) {
  auto* allocation = live_allocation(id);
  if (allocation == nullptr) return;
  if (allocation->record.state == AllocationState::Pending)
    return end(*allocation, {.kind = Exit::Kind::Stopped, .preempted = false, .reason = "withdrawn"}, step);
  allocation->kill = true;
  allocation->signaled = allocation->signaled || allocation->failure.empty();
  allocation->record.state = AllocationState::Terminating;
  step.effects.push_back(PutAllocation{allocation->record});
  step.effects.push_back(WakeAllocation{id});
  wake_agents(*allocation, step);
}

void Cluster::wake_agents(const Allocation& allocation, Step& step) {
  for (const auto& share : allocation.record.shares) step.effects.push_back(WakeAgent{share.agent});
}

/// Why it is asked to give its slots back, in words; empty where its log alone says that.
std::string Cluster::why_it_gives_way(const Allocation& allocation) const {
  if (allocation.for_others) return "gave its slots to other jobs";
  const auto* experiment = this->experiment(allocation.record.experiment_id);
  if (experiment == nullptr) return "";
  switch (experiment->record().state) {
    case experiment::State::Paused: return "the experiment was paused";
    case experiment::State::StoppingCanceled: return "the experiment was canceled";
    default: return "";
  }
}

// The allocation is over: its token is dead from here on, and its id is never used again.
void Cluster::end(Allocation& ended, const Exit& exit, Step& step) {
  const auto allocation = allocations_.take(std::string(ended.record.id));
  auto record = allocation.record;
  record.state = AllocationState::Terminated;
  record.end_time = step.now;
  if (!exit.reason.empty() || !exit.preempted) record.exit_reason = exit.reason;
  step.effects.push_back(PutAllocation{record});
  step.effects.push_back(WakeAllocation{record.id});
  wake_agents(allocation, step);
  step.place = true;
  if (!allocation.of_trial()) {
    const auto wish = tasks_.change(record.task_id)->ended(task_exit(allocation, exit), step.now);
    return settle(record.task_id, wish, step);
  }
  live(record.experiment_id)->allocation_ended(record.trial_id, exit, step.context());
  settle(record.experiment_id, step);
}

void Cluster::end_if_all_ended(Allocation& allocation, Step& step) {
  for (const auto& share : allocation.record.shares)
    if (!allocation.agents_ended.contains(share.agent)) return;
  Exit exit{.kind = Exit::Kind::Clean,
            .preempted = allocation.preempt || allocation.idle(),
            .acknowledged = allocation.acknowledged,
            .reason = allocation.failure};
  if (allocation.lost)
    exit.kind = Exit::Kind::Infrastructure;
  else if (allocation.idle())  // It had saved everything, and is nobody's loss.
    exit = {.kind = Exit::Kind::Stopped, .preempted = true, .reason = allocation.failure};
  else if (!allocation.failure.empty())
    exit.kind = allocation.kill && allocation.failure == "killed" ? Exit::Kind::Stopped : Exit::Kind::Failed;
  end(allocation, exit, step);
}

Outcome Cluster::on(const AllocationStarted& event, Step& step) {
  auto* allocation = live_allocation(event.allocation_id);
  if (allocation == nullptr || !holds_slots(*allocation, event.agent)) return {};
  allocation->agents_running.insert(event.agent);
  if (const auto agent = agents_.find(event.agent); agent != agents_.end())
    if (const auto* allotment = this->allotment(agent->second.allotment))
      failures_.erase(failure_key(allotment->pool, allotment->owner));  // its engine works
  if (allocation->agents_running.size() == allocation->record.shares.size() &&
      allocation->record.state < AllocationState::Running) {
    allocation->record.state = AllocationState::Running;
    step.effects.push_back(PutAllocation{allocation->record});
    if (!allocation->of_trial()) {
      tasks_.change(allocation->record.task_id)->running(step.now);
      settle(allocation->record.task_id, task::Wish::Nothing, step);
    }
  }
  return {};
}

// The first failure takes the rest of the gang with it. A rank that was lost outweighs it: the others
// of a gang fail because one is gone, and they are often heard first.
void Cluster::note_exit(Allocation& allocation, const api::RankExit& exit, Step& step) {
  if (exit.code == 0 && exit.signal == 0) return;
  if (exit.code == api::kLostStatus && exit.signal == 0)
    allocation.lost = true;
  else if (allocation.failure.empty())
    allocation.failure = allocation.kill ? "killed" : describe(exit);
  else if (allocation.failure == kFollowed && exit.signal != SIGTERM)
    allocation.failure = describe(exit);
  if (allocation.kill) return;
  allocation.kill = true;
  step.effects.push_back(WakeAllocation{allocation.record.id});
  wake_agents(allocation, step);
}

Outcome Cluster::on(const RankFailed& event, Step& step) {
  auto* allocation = live_allocation(event.allocation_id);
  if (allocation != nullptr && holds_slots(*allocation, event.agent))
    note_exit(*allocation, event.exit, step);
  return {};
}

Outcome Cluster::on(const AllocationExited& event, Step& step) {
  auto* allocation = live_allocation(event.allocation_id);
  if (allocation == nullptr || !holds_slots(*allocation, event.agent)) return {};
  free_share(*allocation, event.agent, step.now);
  if (auto* agent = agents_.change(event.agent)) agent->last_used = step.now;
  step.place = true;
  if (event.exits.empty() && allocation->failure.empty()) allocation->lost = true;  // it never started
  if (!allocation->of_trial() && !event.exits.empty()) allocation->exit = event.exits.front();
  for (const auto& exit : event.exits) note_exit(*allocation, exit, step);
  end_if_all_ended(*allocation, step);
  return {};
}

Outcome Cluster::on(const PreemptionExpired& event, Step& step) {
  auto* allocation = live_allocation(event.allocation_id);
  if (allocation == nullptr || allocation->kill) return {};
  step.effects.push_back(
      LogNote{allocation->record.task_id, event.allocation_id,
              fmt::format("the {} did not release its slots within preemption_timeout; killing it",
                          allocation->of_trial() ? "trial" : "task")});
  kill(event.allocation_id, step);
  return {};
}

// ---- agents ----------------------------------------------------------------

Outcome Cluster::on(const AgentJoined& event, Step& step) {
  if (!event.allotment.empty() && !allotments_.contains(event.allotment))
    return refuse(Error(ErrorCode::Gone, fmt::format("allotment {} is over", event.allotment)));
  if (!agents_.contains(event.agent)) agents_.put(event.agent, {.registered = step.now});
  auto& agent = *agents_.change(event.agent);
  agent.id = event.agent;
  agent.resource_pool = event.resource_pool;
  agent.hostname = event.hostname;
  agent.version = event.version;
  agent.label = event.label;
  agent.attributes = event.attributes;
  agent.slots = event.slots;
  agent.connected = true;
  agent.silent = false;
  agent.last_used = step.now;
  agent.allotment = event.allotment;
  agent.leaving = false;
  step.place = true;
  if (const auto found = allotments_.find(event.allotment); found != allotments_.end()) {
    auto& allotment = found->second;
    if (!allotment.joined) {
      auto& waits = waits_[allotment.pool];
      waits.push_back((step.now - allotment.requested) / kSecond);
      if (waits.size() > elastic::kWaitsMax) waits.erase(waits.begin());
    }
    agent.leaving = allotment.leaving || allotment.state == elastic::State::Releasing;
    if (!allotment.granted) allotment.granted = step.now;
    if (allotment.state < elastic::State::Running) allotment.state = elastic::State::Running;
    allotment.joined = true;
  }
  return {};
}

Outcome Cluster::on(const AgentSilent& event, Step& step) {
  const auto found = agents_.find(event.agent);
  if (found == agents_.end() || !found->second.connected || found->second.silent) return {};
  agents_.change(event.agent)->silent = true;
  step.place = true;
  return {};
}

Outcome Cluster::on(const AgentLost& event, Step& step) {
  if (!agents_.contains(event.agent) || !agents_.at(event.agent).connected) return {};
  lose_agent(event.agent, fmt::format("agent {} was lost", event.agent), step);
  forget_lost_agents();
  return {};
}

/// What runs on the agent is lost with it, for the reason in `failure`.
void Cluster::lose_agent(const std::string& agent, const std::string& failure, Step& step) {
  refresh();  // another agent of the same event may have taken allocations along
  agents_.change(agent)->connected = false;
  step.place = true;
  std::vector<std::string> hit;
  for (const auto& id : planner_.allocations_on(agent))
    if (holds_slots(allocations_.at(id), agent)) hit.push_back(id);
  for (const auto& id : hit) {
    auto& allocation = *live_allocation(id);
    free_share(allocation, agent, step.now);
    allocation.lost = true;
    allocation.failure = failure;
    allocation.kill = true;
    step.effects.push_back(LogNote{
        allocation.record.task_id, id,
        allocation.failure + (allocation.of_trial() ? "; the trial will run again on another agent" : "")});
    wake_agents(allocation, step);
    end_if_all_ended(allocation, step);
  }
}

// Machines that come and go under ever new names shall not fill the memory. What somebody disabled stays so.
void Cluster::forget_lost_agents() {
  std::vector<std::pair<Time, std::string>> lost;
  for (const auto& [id, agent] : agents_)
    if (!agent.connected && agent.enabled && agent.disabled_slots.empty())
      lost.emplace_back(agent.registered, id);
  if (lost.size() <= kLostAgentsMax) return;
  std::ranges::sort(lost);
  lost.resize(lost.size() - kLostAgentsMax);
  for (const auto& [registered, id] : lost) agents_.take(id);
}

Outcome Cluster::on(const AgentSet& event, Step& step) {
  if (!agents_.contains(event.agent))
    return refuse(Error(ErrorCode::NotFound, fmt::format("agent '{}' not found", event.agent)));
  auto& agent = *agents_.change(event.agent);
  if (event.slot) {
    if (std::none_of(agent.slots.begin(), agent.slots.end(),
                     [&](const auto& slot) { return slot.id == *event.slot; }))
      return refuse(
          Error(ErrorCode::NotFound, fmt::format("agent '{}' has no slot {}", event.agent, *event.slot)));
    if (event.enabled)
      agent.disabled_slots.erase(*event.slot);
    else
      agent.disabled_slots.insert(*event.slot);
  } else {
    agent.enabled = event.enabled;
    agent.draining = !event.enabled && event.drain;
  }
  step.place = true;
  if (event.enabled) return {};
  clear_agent(event.agent, event.slot, event.drain,
              event.slot ? fmt::format("slot {} of agent {} was disabled", *event.slot, event.agent)
                         : fmt::format("agent {} was disabled", event.agent),
              step);
  return {};
}

/// What runs on the agent, or on the slot, gives way and continues elsewhere. With `only_idle` this is what
/// has nothing to do; the rest may finish.
void Cluster::clear_agent(const std::string& agent, std::optional<int> slot, bool only_idle,
                          const std::string& why, Step& step) {
  refresh();
  std::vector<std::string> hit;
  for (const auto& id : planner_.allocations_on(agent)) {
    const auto& allocation = allocations_.at(id);
    for (const auto& share : allocation.record.shares)
      if ((!only_idle || allocation.idle()) && share.agent == agent &&
          (!slot || std::ranges::find(share.slots, *slot) != share.slots.end()))
        hit.push_back(id);
  }
  for (const auto& id : hit) {
    const auto* allocation = this->allocation(id);
    if (allocation == nullptr) continue;
    if (allocation->of_trial())
      preempt(id, false, step);
    else
      move_task(allocation->record.task_id, why, step);
  }
}

// ---- what an agent is told and says ----------------------------------------

std::vector<api::DesiredAllocation> Cluster::desired(const std::string& agent) const {
  std::vector<api::DesiredAllocation> all;
  for (const auto& id : planner_.allocations_on(agent)) {
    const auto& allocation = allocations_.at(id);
    if (!holds_slots(allocation, agent)) continue;
    api::DesiredAllocation entry{.allocation_id = id,
                                 .task_id = allocation.record.task_id,
                                 .token = {},
                                 .experiment_id = allocation.record.experiment_id,
                                 .trial_id = allocation.record.trial_id,
                                 .run_id = static_cast<int>(allocation.record.run_id)};
    int rank = 0;
    for (std::size_t i = 0; i < allocation.record.shares.size(); ++i) {
      const auto& share = allocation.record.shares[i];
      const int count = std::max<int>(1, static_cast<int>(share.slots.size()));
      if (share.agent == agent) {
        entry.slot_ids = share.slots;
        entry.rank_start = rank;
        entry.container_rank = static_cast<int>(i);
      }
      rank += count;
    }
    entry.size = rank;
    entry.kill = allocation.kill;
    if (allocation.of_trial()) {
      const auto& owner = *experiment(allocation.record.experiment_id);
      entry.model_definition = owner.record().model_definition;
      entry.framework = config::is_cxx_entrypoint(owner.config().entrypoint) ? "pytorch-cxx" : "pytorch";
      entry.reuse = owner.config().reuse;
    } else {
      const auto& owner = tasks_.at(allocation.record.task_id).record();
      entry.model_definition = owner.context;
      entry.framework = owner.program_is_ours ? api::kPythonFramework : api::kCommandFramework;
      entry.command = owner.command;
      entry.work_dir = owner.work_dir;
      entry.size = entry.ranks();
    }
    all.push_back(std::move(entry));
  }
  return all;
}

bool Cluster::exit_is_known(const std::string& id, const std::string& agent) const {
  const auto* allocation = this->allocation(id);
  return allocation == nullptr || !holds_slots(*allocation, agent);
}

bool Cluster::joins(const std::string& agent, const api::SyncRequest& request) const {
  const auto found = agents_.find(agent);
  return found == agents_.end() || !found->second.connected || found->second.silent ||
         found->second.slots != request.slots || found->second.resource_pool != request.resource_pool ||
         found->second.version != request.version || found->second.label != request.label ||
         found->second.attributes != request.attributes;
}

std::vector<Event> Cluster::news(const std::string& agent, const api::SyncRequest& request) const {
  std::vector<Event> events;
  for (const auto& report : request.allocations) {
    const auto* known = allocation(report.allocation_id);
    if (known == nullptr || !holds_slots(*known, agent)) continue;
    if (report.state == api::AllocationState::exited)
      events.push_back(AllocationExited{report.allocation_id, agent, report.exits});
    else if (report.state == api::AllocationState::running && !known->agents_running.contains(agent))
      events.push_back(AllocationStarted{report.allocation_id, agent});
    if (report.state != api::AllocationState::exited && !known->kill)
      for (const auto& exit : report.exits)
        if (exit.code != 0 || exit.signal != 0) {
          events.push_back(RankFailed{report.allocation_id, agent, exit});
          break;
        }
  }
  return events;
}

}  // namespace det::cluster
