// The master's shell, simulated: the same steps as src/master/ledger/ledger.cpp and the routes.

#include "world.h"

namespace det::simulation {
// Replays what is on the disk, from the newest snapshot point and from the very
// beginning, and holds the two against each other (I-9).
void SimMaster::start() {
  ++incarnation_;
  auto replay = [&](std::size_t begin, cluster::Cluster from) {
    for (std::size_t i = begin; i < world_.disk.size(); ++i) {
      const auto& commit = world_.disk[i];
      if (!commit.event) continue;
      const auto event = json::from_json<cluster::Event>(json::to_json(*commit.event));
      if (!event) world_.broken("I-9", "an event cannot be read back: " + event.error().message());
      if (from.handle(*event, commit.time).refused)
        world_.broken("I-9", "an accepted event is refused when replayed");
      sequence_ = commit.sequence;
    }
    return from;
  };
  sequence_ = 0;
  auto whole = replay(0, cluster::Cluster());
  if (world_.chance(0.3) && !world_.disk.empty()) {
    const auto cut =
        static_cast<std::size_t>(world_.random.below(static_cast<std::int64_t>(world_.disk.size())));
    const auto tail =
        std::vector<Commit>(world_.disk.begin() + static_cast<std::ptrdiff_t>(cut), world_.disk.end());
    cluster::Cluster early;
    for (std::size_t i = 0; i < cut; ++i)
      if (world_.disk[i].event) early.handle(*world_.disk[i].event, world_.disk[i].time);
    auto restored = cluster::Cluster::restore(early.snapshot());
    if (!restored) world_.broken("I-9", "a snapshot cannot be read back: " + restored.error().message());
    const auto again = replay(cut, *std::move(restored));
    if (json::serialize(again.snapshot()) != json::serialize(whole.snapshot()))
      world_.broken("I-9", "snapshot and tail give another cluster than the whole log");
  }
  cluster_ = std::make_unique<cluster::Cluster>(std::move(whole));
  liveness_ = std::make_unique<cluster::Liveness>(world_.now);
  versions_.clear();
  waiting_.clear();
  syncing_ = false;
  std::set<std::string> running;
  for (const auto& [id, allocation] : cluster_->allocations()) running.insert(id);
  const auto epoch = cluster_->epoch() + 1;
  apply(cluster::MasterStarted{epoch, world_.pools()}, {});
  if (world_.mutant == Mutant::RestartForgetsRunningWork) {
    std::vector<cluster::Event> lost;
    for (const auto& [id, allocation] : cluster_->allocations())
      for (const auto& share : allocation.record.shares)
        lost.push_back(cluster::AllocationExited{id, share.agent, {}});
    for (auto& event : lost) apply(std::move(event), {});
  }
  for (const auto& id : running)
    if (cluster_->allocation(id) == nullptr) world_.broken("I-16", "the restart of the master ended " + id);
  for (const auto& [id, experiment] : cluster_->experiments())
    if (experiment.finished())
      world_.after(kMillisecond, [this, id = id, born = incarnation_] {
        if (alive() && born == incarnation_) apply(cluster::CheckpointsCollected{id}, {});
      });
  tick();
}

void SimMaster::crash() {
  cluster_.reset();
  waiting_.clear();
  newest_.clear();
  // What was written but not synced survives as a prefix, or not at all.
  const auto unsynced = static_cast<std::int64_t>(world_.disk.size() - world_.durable);
  const auto kept = world_.durable + static_cast<std::size_t>(world_.random.below(unsynced + 1));
  world_.disk.resize(kept);
  std::erase_if(world_.placed_by, [kept](const auto& placed) { return placed.second >= kept; });
  world_.durable = kept;
  world_.tables = {};
  for (const auto& commit : world_.disk)
    for (const auto& row : commit.rows) row(world_.tables);
}

Answer SimMaster::apply(cluster::Event event, std::vector<Row> also, ExperimentId* submitted) {
  auto outcome = cluster_->handle(event, world_.now);
  if (outcome.refused) return outcome.refused->code() == ErrorCode::Gone ? Answer::Gone : Answer::Refused;
  if (submitted != nullptr) *submitted = outcome.experiment;
  Commit commit{
      .sequence = ++sequence_, .time = world_.now, .event = std::move(event), .rows = std::move(also)};
  for (auto& effect : outcome.effects) {
    if (auto* put = std::get_if<cluster::PutExperiment>(&effect)) {
      put->record.config = {};
      commit.rows.push_back([record = put->record](Tables& t) { t.experiments[record.id] = record; });
    } else if (const auto* search = std::get_if<cluster::PutSearch>(&effect)) {
      KeptSearch kept{cluster_->experiment(search->id)->record().config, search->search};
      commit.rows.push_back([id = search->id, kept](Tables& t) { t.searches[id] = kept; });
    } else if (const auto* trial = std::get_if<cluster::PutTrial>(&effect)) {
      commit.rows.push_back([record = trial->record](Tables& t) { t.trials[record.id] = record; });
    } else if (const auto* checkpoint = std::get_if<cluster::PutCheckpoint>(&effect)) {
      commit.rows.push_back(
          [record = checkpoint->record](Tables& t) { t.checkpoints[record.uuid] = record; });
    } else if (const auto* task = std::get_if<cluster::PutTask>(&effect)) {
      commit.rows.push_back([record = task->record](Tables& t) { t.tasks[record.id] = record; });
    } else if (auto* allocation = std::get_if<cluster::PutAllocation>(&effect)) {
      if (world_.mutant == Mutant::SlotTimeCountedTwice)
        for (auto& share : allocation->record.shares) share.ended.reset();
      commit.rows.push_back([record = allocation->record](Tables& t) { t.allocations[record.id] = record; });
      if (!allocation->record.shares.empty())
        world_.placed_by.try_emplace(allocation->record.id, world_.disk.size());
      if (allocation->record.state == experiment::AllocationState::Pending &&
          !world_.allocations_seen.insert(allocation->record.id).second && world_.durable > 0 &&
          world_.starts.contains(allocation->record.id + "/0"))
        world_.broken("I-3", "the allocation id " + allocation->record.id + " was used before");
    } else if (const auto* wake = std::get_if<cluster::WakeAgent>(&effect)) {
      ++versions_[wake->agent];
    } else if (const auto* collect = std::get_if<cluster::CollectCheckpoints>(&effect)) {
      world_.check_search(collect->id, *cluster_->experiment(collect->id));
      world_.after(world_.between(1, 500) * kMillisecond, [this, id = collect->id, born = incarnation_] {
        if (alive() && born == incarnation_) apply(cluster::CheckpointsCollected{id}, {});
      });
    }
  }
  for (const auto& row : commit.rows) row(world_.tables);
  world_.disk.push_back(std::move(commit));
  // I-3: one allocation a task, and one a slot.
  std::set<std::string> tasks;
  std::set<std::pair<std::string, int>> slots;
  for (const auto& [id, allocation] : cluster_->allocations()) {
    if (!tasks.insert(allocation.record.task_id).second)
      world_.broken("I-3", "a task has two allocations: " + id);
    for (const auto& share : allocation.record.shares)
      for (const auto slot : share.slots)
        if (!allocation.agents_ended.contains(share.agent) && !slots.emplace(share.agent, slot).second)
          world_.broken("I-3", "a slot has two allocations: " + id);
  }
  sync_disk();
  return Answer::Good;
}

void SimMaster::sync_disk() {
  if (syncing_) return;
  syncing_ = true;
  const auto upto = world_.disk.size();
  auto delay = world_.between(100, 5 * kMillisecond);
  if (!world_.calm() && world_.chance(world_.faults.slow_syncs))
    delay = world_.between(50, 3000) * kMillisecond;
  world_.after(delay, [this, upto, born = incarnation_] {
    if (!alive() || born != incarnation_) return;
    syncing_ = false;
    world_.durable = std::max(world_.durable, upto);
    auto waiting = std::move(waiting_);
    waiting_.clear();
    for (auto& [needs, act] : waiting) {
      if (needs <= world_.durable)
        act();
      else
        waiting_.emplace_back(needs, std::move(act));
      if (!alive() || born != incarnation_) return;
    }
    if (world_.durable < world_.disk.size()) sync_disk();
  });
}

void SimMaster::when_durable(std::function<void()> act) {
  if (world_.durable >= world_.disk.size() || world_.mutant == Mutant::AcknowledgeBeforeSync) return act();
  waiting_.emplace_back(world_.disk.size(), std::move(act));
}

// With the mutant, a report of a dead allocation is taken for its trial's live one.
std::string SimMaster::speaker(const std::string& allocation) const {
  if (world_.mutant != Mutant::DeadTokenAccepted || cluster_->allocation(allocation) != nullptr)
    return allocation;
  const auto task = allocation.substr(0, allocation.rfind('.'));
  for (const auto& [id, live] : cluster_->allocations())
    if (live.record.task_id == task) return id;
  return allocation;
}

void SimMaster::sync(const std::string& agent, const api::SyncRequest& request,
                     std::function<void(api::SyncReply)> respond) {
  auto& [session, number] = newest_[agent];
  if (session == request.session && number > request.sequence) return;  // it was overtaken on its way
  session = request.session;
  number = request.sequence;
  liveness_->called(agent, world_.now);
  liveness_->answered(agent, world_.now);
  const auto allotment = Engine::allotment_of(agent);
  if (!allotment.empty() && cluster_->allotment(allotment) == nullptr) return;  // its token is dead
  if (cluster_->joins(agent, request)) {
    cluster::AgentJoined joined{agent, request.resource_pool, request.hostname, request.version,
                                request.slots};
    joined.allotment = allotment;
    apply(std::move(joined), {});
  }
  for (auto& event : cluster_->news(agent, request)) {
    if (world_.mutant == Mutant::DuplicateExitCounted)
      if (const auto* exit = event.as<cluster::AllocationExited>()) {
        // The exit is told to the trial's next allocation, too.
        const auto* allocation = cluster_->allocation(exit->allocation_id);
        const auto trial = allocation->record.trial_id;
        auto again = *exit;
        apply(std::move(event), {});
        const auto* next = cluster_->trial(trial);
        if (next != nullptr && !next->allocation.empty() && next->allocation != again.allocation_id) {
          again.allocation_id = next->allocation;
          apply(std::move(again), {});
        }
        continue;
      }
    apply(std::move(event), {});
  }
  api::SyncReply reply{.epoch = cluster_->epoch(),
                       .sequence = request.sequence,
                       .version = versions_[agent],
                       .lease_milliseconds = cluster::kLeaseSeconds * 1000,
                       .cluster_id = "simulated",
                       .desired = cluster_->desired(agent)};
  for (auto& allocation : reply.desired) {
    if (!allocation.trial_id) continue;
    const auto& trial = *cluster_->trial(allocation.trial_id);
    const auto& experiment = *cluster_->experiment(allocation.experiment_id);
    allocation.environment["checkpoint"] = trial.record.latest_checkpoint;
    allocation.environment["seed"] = std::to_string(trial.record.seed);
    allocation.environment["experiment"] = std::to_string(experiment.record().id.value());
  }
  if (world_.mutant == Mutant::StartSaidOnce)
    std::erase_if(reply.desired, [&](const auto& wanted) {
      const bool has =
          std::any_of(request.allocations.begin(), request.allocations.end(),
                      [&](const auto& report) { return report.allocation_id == wanted.allocation_id; });
      return !has && !told_.insert(wanted.allocation_id).second;
    });
  for (const auto& report : request.allocations)
    if (report.state == api::AllocationState::exited && cluster_->exit_is_known(report.allocation_id, agent))
      reply.acknowledged.push_back(report.allocation_id);
  if (world_.mutant == Mutant::StartBeforeSync) return respond(reply);
  when_durable([respond = std::move(respond), reply = std::move(reply)] { respond(reply); });
}

void SimMaster::operations(const std::string& allocation, Respond respond) {
  const auto* live = cluster_->allocation(speaker(allocation));
  if (live == nullptr) return respond({.answer = Answer::Gone});
  const auto& trial = *cluster_->trial(live->record.trial_id);
  Reply reply{.closed = trial.closed};
  for (const auto& operation : trial.operations) reply.lengths.push_back(operation.batches);
  when_durable([respond = std::move(respond), reply = std::move(reply)] { respond(reply); });
}

void SimMaster::preemption(const std::string& allocation, Respond respond) {
  const auto* live = cluster_->allocation(speaker(allocation));
  if (live == nullptr) return respond({.answer = Answer::Gone});
  Reply reply{.preempt = live->preempt || live->kill, .preemption = live->preemptions};
  when_durable([respond = std::move(respond), reply = std::move(reply)] { respond(reply); });
}

void SimMaster::wish(const std::string& allocation, std::int64_t preemption, Respond respond) {
  const auto* live = cluster_->allocation(speaker(allocation));
  if (live == nullptr) return respond({.answer = Answer::Gone});
  const auto wish = cluster::wish_of(*live, preemption);
  Reply reply{.preempt = wish == cluster::Wish::Leave, .wait = wish == cluster::Wish::Wait};
  when_durable([respond = std::move(respond), reply = std::move(reply)] { respond(reply); });
}

void SimMaster::report_metrics(const std::string& sender, const std::string& group, std::int64_t batches,
                               std::uint64_t value, Respond respond) {
  const auto allocation = speaker(sender);
  const auto* live = cluster_->allocation(allocation);
  if (live == nullptr) return respond({.answer = Answer::Gone});
  const MetricKey key{live->record.trial_id, group, batches};
  const auto run = live->record.run_id;
  const bool doubled = world_.mutant == Mutant::DuplicateMetricStored;
  if (const auto found = world_.tables.metrics.find(key);
      found != world_.tables.metrics.end() && found->second.value != value)
    world_.broken("I-14", fmt::format("trial {} reports other {} metrics at {} batches than before",
                                      live->record.trial_id, group, batches));
  Row row = [key, value, run, doubled](Tables& t) {
    auto& stored = t.metrics[key];
    const bool repeated = stored.copies > 0 && stored.run_id == run && stored.value == value;
    stored.copies = repeated && doubled ? stored.copies + 1 : 1;
    stored.value = value;
    stored.run_id = run;
  };
  std::vector<Row> rows;
  rows.push_back(std::move(row));
  cluster::Event event = cluster::TrialProgressed{allocation, batches, ""};
  if (group == "validation")
    event = cluster::ValidationReported{allocation, batches, static_cast<double>(value % 1000)};
  const bool dead = cluster_->allocation(sender) == nullptr;
  const auto answer = apply(std::move(event), std::move(rows));
  if (dead && answer == Answer::Good)
    world_.broken("I-10", "a report of the dead allocation " + sender + " was accepted");
  when_durable([this, respond = std::move(respond), answer, key] {
    if (answer == Answer::Good) world_.acknowledged_metrics.insert(key);
    respond({.answer = answer});
  });
}

void SimMaster::report(cluster::Event event, Respond respond) {
  bool dead = false;
  std::visit(
      [&](auto& e) {
        if constexpr (requires { e.allocation_id; }) {
          dead = cluster_->allocation(e.allocation_id) == nullptr;
          e.allocation_id = speaker(e.allocation_id);
        }
      },
      event.any());
  std::string uuid;
  if (auto* checkpoint = std::get_if<cluster::CheckpointReported>(&event.any())) {
    checkpoint->record.allocation_id = speaker(checkpoint->record.allocation_id);
    uuid = checkpoint->record.uuid;
    // I-12: what is committed is complete.
    const auto found = world_.storage.find(uuid);
    if (cluster_->allocation(checkpoint->record.allocation_id) != nullptr &&
        (found == world_.storage.end() || !found->second.complete))
      world_.broken("I-12", "checkpoint " + uuid + " is committed and not complete");
  }
  const auto answer = apply(std::move(event), {});
  if (dead && answer == Answer::Good) world_.broken("I-10", "a report of a dead allocation was accepted");
  when_durable([this, respond = std::move(respond), answer, uuid] {
    if (answer == Answer::Good && !uuid.empty()) world_.acknowledged_checkpoints.insert(uuid);
    respond({.answer = answer});
  });
}

void SimMaster::submit(experiment::ExperimentRecord record, Respond respond) {
  ExperimentId id;
  const auto answer = apply(cluster::ExperimentSubmitted{std::move(record), true}, {}, &id);
  when_durable([this, respond = std::move(respond), answer, id] {
    if (answer == Answer::Good) world_.acknowledged_experiments.insert(id);
    respond({.answer = answer, .experiment = id});
  });
}

void SimMaster::command(cluster::Event event, Respond respond) {
  const auto answer = apply(std::move(event), {});
  when_durable([respond = std::move(respond), answer] { respond({.answer = answer}); });
}

void SimMaster::search_events(ExperimentId id,
                              std::function<void(std::vector<search::SearchEvent>)> respond) {
  const auto* live = cluster_->experiment(id);
  if (live == nullptr || live->finished() || experiment::is_stopping(live->record().state)) return;
  const auto& queue = *live->search_events();
  std::vector<search::SearchEvent> events(queue.begin(), queue.end());
  if (world_.mutant == Mutant::SearchEventsShownEarly) return respond(std::move(events));
  when_durable([respond = std::move(respond), events = std::move(events)] { respond(events); });
}

void SimMaster::tick() {
  if (!alive()) return;
  for (auto& event : cluster_->due(world_.now)) apply(std::move(event), {});
  if (world_.engine) world_.engine->check();
  for (const auto& agent : liveness_->silent(cluster_->agents(), world_.now))
    apply(cluster::AgentSilent{agent}, {});
  const auto patience =
      world_.mutant == Mutant::SlotReusedBeforeLease ? world_.now + 38 * kSecond : world_.now;
  for (const auto& agent : liveness_->lost(cluster_->agents(), patience))
    apply(cluster::AgentLost{agent}, {});
  if (world_.mutant == Mutant::CollectionIgnoresPins && world_.chance(0.1)) world_.storage.clear();
  world_.after(kSecond, [this, born = incarnation_] {
    if (born == incarnation_) tick();
  });
}

}  // namespace det::simulation
