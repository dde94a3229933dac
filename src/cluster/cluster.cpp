#include "det/cluster/cluster.h"

#include <algorithm>

#include "det/cluster/step.h"

namespace det::cluster {
namespace {

struct Position {
  ExperimentId id;
  std::int64_t position = 0;
};
BOOST_DESCRIBE_STRUCT(Position, (), (id, position))

struct Saved {
  std::int64_t epoch = 0, next_experiment = 1, next_trial = 1;
  std::vector<Agent> agents;
  std::vector<Allocation> allocations;
  std::vector<json::value> experiments;
  Pools pools{};
  std::vector<Position> positions{};
  std::vector<task::Saved> tasks{};
  std::int64_t next_allotment = 1;
  std::vector<elastic::Allotment> allotments{};
  std::map<std::string, elastic::Failures> failures{};
  std::map<std::string, std::vector<std::int64_t>> waits{};
};
BOOST_DESCRIBE_STRUCT(Saved, (),
                      (epoch, next_experiment, next_trial, agents, allocations, experiments, pools, positions,
                       tasks, next_allotment, allotments, failures, waits))

// What of a record is worth a row of its own right away; progress in steps of 1 %.
std::string digest(const experiment::ExperimentRecord& r) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", static_cast<int>(r.state), static_cast<int>(r.progress * 100),
                     r.error, r.name, r.description, r.notes, fmt::join(r.labels, ","), r.project_id);
}

}  // namespace

Result<Cluster> Cluster::restore(const json::value& snapshot) {
  DET_TRY(const auto saved, json::from_json<Saved>(snapshot));
  Cluster cluster;
  cluster.epoch_ = saved.epoch;
  cluster.next_experiment_ = saved.next_experiment;
  cluster.next_trial_ = saved.next_trial;
  cluster.pools_ = saved.pools;
  for (const auto& [id, position] : saved.positions) cluster.positions_.emplace(id, position);
  cluster.next_allotment_ = saved.next_allotment;
  cluster.failures_ = saved.failures;
  cluster.waits_ = saved.waits;
  for (const auto& allotment : saved.allotments) cluster.allotments_.emplace(allotment.id, allotment);
  for (const auto& agent : saved.agents) cluster.agents_.put(agent.id, agent);
  for (const auto& allocation : saved.allocations) cluster.allocations_.put(allocation.record.id, allocation);
  for (const auto& task : saved.tasks) cluster.tasks_.put(task.record.id, task::load(task));
  for (const auto& value : saved.experiments) {
    DET_TRY(auto experiment, experiment::Experiment::restore(value));
    const auto id = experiment.record().id;
    for (const auto& [trial, _] : experiment.trials()) cluster.experiment_of_.emplace(trial, id);
    cluster.experiments_.put(id, std::move(experiment));
  }
  cluster.refresh();
  return cluster;
}

json::value Cluster::snapshot() const {
  Saved saved{.epoch = epoch_, .next_experiment = next_experiment_, .next_trial = next_trial_};
  for (const auto& [id, agent] : agents_) saved.agents.push_back(agent);
  for (const auto& [id, allocation] : allocations_) saved.allocations.push_back(allocation);
  for (const auto& [id, experiment] : experiments_) saved.experiments.push_back(experiment.snapshot());
  saved.pools = pools_;
  for (const auto& [id, position] : positions_) saved.positions.push_back({id, position});
  for (const auto& [id, task] : tasks_) saved.tasks.push_back(task::save(task));
  saved.next_allotment = next_allotment_;
  saved.failures = failures_;
  saved.waits = waits_;
  for (const auto& [id, allotment] : allotments_) saved.allotments.push_back(allotment);
  return json::to_json(saved);
}

Outcome Cluster::handle(const Event& event, Time now) {
  Step step{.now = now, .next_trial = next_trial_};
  auto outcome = std::visit([&](const auto& e) { return on(e, step); }, event.any());
  if (outcome.refused) return outcome;
  while (step.place) place(step);
  refresh();
  for (const auto id : step.touched) {
    const auto* experiment = this->experiment(id);
    if (experiment == nullptr) continue;
    const auto text = digest(experiment->record());
    if (auto& written = written_[id]; written != text) {
      written = text;
      step.effects.push_back(PutExperiment{experiment->record()});
    }
  }
  outcome.effects = std::move(step.effects);
  return outcome;
}

std::vector<Event> Cluster::due(Time now) const {
  std::vector<Event> events;
  for (const auto& [id, allocation] : allocations_)
    if (allocation.preempt_deadline && *allocation.preempt_deadline <= now && !allocation.kill)
      events.push_back(PreemptionExpired{id});
    else if (allocation.idle() && !allocation.leaving() && idle_ends(allocation) <= now)
      events.push_back(IdleExpired{id});
    else if (allocation.keeps_slots_until && *allocation.keeps_slots_until <= now && !allocation.leaving())
      events.push_back(SlotsKept{id});
  for (const auto& [id, task] : tasks_)
    if (task.idle_for_too_long(now)) events.push_back(TaskKilled{id, task.idle_reason()});
  due_of_pools(now, events);
  return events;
}

const Allocation* Cluster::allocation(const std::string& id) const {
  const auto found = allocations_.find(id);
  return found == allocations_.end() ? nullptr : &found->second;
}

const experiment::Experiment* Cluster::experiment(ExperimentId id) const {
  const auto found = experiments_.find(id);
  return found == experiments_.end() ? nullptr : &found->second;
}

const experiment::Trial* Cluster::trial(TrialId id) const {
  const auto found = experiment_of_.find(id);
  return found == experiment_of_.end() ? nullptr : experiments_.at(found->second).trial(id);
}

experiment::Experiment* Cluster::live(ExperimentId id) {
  return experiments_.change(id);
}

Allocation* Cluster::live_allocation(const std::string& id) {
  return allocations_.change(id);
}

Outcome Cluster::refuse(Error error) const {
  return {.refused = std::move(error), .experiment = {}, .effects = {}};
}

// ---- experiments -----------------------------------------------------------

Outcome Cluster::on(const MasterStarted& event, Step& step) {
  epoch_ = event.epoch;
  pools_ = event.pools;
  next_experiment_ = std::max(next_experiment_, event.next_experiment);
  next_trial_ = std::max(next_trial_, event.next_trial);
  agents_.all_changed();
  allocations_.all_changed();
  experiments_.all_changed();
  tasks_.all_changed();
  planner_.all_stale();
  step.place = true;
  return {};
}

namespace {
Result<experiment::Experiment> make_experiment(experiment::ExperimentRecord record, ExperimentId id) {
  DET_TRY(auto config, config::from_document(record.config));
  record.id = id;
  return experiment::Experiment::create(std::move(record), std::move(config));
}
}  // namespace

Outcome Cluster::on(const ExperimentSubmitted& event, Step& step) {
  const ExperimentId id{next_experiment_};
  auto experiment = make_experiment(event.record, id);
  if (!experiment) return refuse(experiment.error());
  const ExperimentId runner_id{next_experiment_ + 1};
  std::optional<experiment::Experiment> runner;
  if (event.search_runner) {
    auto record = *event.search_runner;
    record.forked_from = id;
    auto made = make_experiment(std::move(record), runner_id);
    if (!made) return refuse(made.error());
    runner = *std::move(made);
  }
  next_experiment_ += runner ? 2 : 1;
  experiments_.put(id, *std::move(experiment)).start(event.activate, step.context());
  settle(id, step);
  if (runner) {
    experiments_.put(runner_id, *std::move(runner)).start(true, step.context());
    settle(runner_id, step);
  }
  return {.refused = {}, .experiment = id, .effects = {}};
}

Outcome Cluster::on(const ExperimentCommanded& event, Step& step) {
  auto* experiment = live(event.id);
  if (experiment == nullptr)
    return refuse(Error(ErrorCode::NotFound, fmt::format("experiment {} not found", event.id)));
  const auto context = step.context();
  const auto done = event.verb == Verb::Activate ? experiment->activate(context)
                    : event.verb == Verb::Pause  ? experiment->pause(context)
                    : event.verb == Verb::Cancel ? experiment->cancel(context)
                                                 : experiment->kill(context);
  if (!done) return refuse(done.error());
  settle(event.id, step);
  return {};
}

Outcome Cluster::on(const ExperimentPatched& event, Step& step) {
  auto* experiment = live(event.id);
  if (experiment == nullptr)
    return refuse(Error(ErrorCode::NotFound, fmt::format("experiment {} not found", event.id)));
  if (event.config && event.config->resource_pool && !resource_pools().contains(*event.config->resource_pool))
    return refuse(Error(ErrorCode::NotFound,
                        fmt::format("cannot find resource pool {}", *event.config->resource_pool)));
  if (event.config) {
    if (const auto done = experiment->reconfigure(*event.config, step.context()); !done)
      return refuse(done.error());
    written_.erase(event.id);  // its digest does not see the configuration
    move_where_it_belongs(event.id, step);
    settle(event.id, step);
    // What waits has slots of the kind and number that were wanted before.
    if (event.config->of_resources()) {
      for (const auto& [id, trial] : experiment->trials())
        if (const auto* waits = allocation(trial.allocation); waits != nullptr && waits->idle())
          preempt(trial.allocation, false, step);
    }
    step.place = true;
  }
  auto& record = experiment->mutable_record();
  if (event.name) record.name = *event.name;
  if (event.description) record.description = *event.description;
  if (event.notes) record.notes = *event.notes;
  if (event.labels) record.labels = *event.labels;
  if (event.project_id) record.project_id = *event.project_id;
  step.touched.insert(event.id);
  return {};
}

Outcome Cluster::on(const ExperimentExtended& event, Step& step) {
  const auto id = event.record.id;
  if (experiments_.contains(id))
    return refuse(Error(ErrorCode::FailedPrecondition, fmt::format("experiment {} has not ended", id)));
  auto extended = experiment::Experiment::extend(event.record, event.search, event.change, step.context());
  if (!extended) return refuse(extended.error());
  experiments_.put(id, *std::move(extended));
  settle(id, step);
  return {};
}

Outcome Cluster::on(const ExperimentContinued& event, Step& step) {
  const auto id = event.record.id;
  if (experiments_.contains(id))
    return refuse(Error(ErrorCode::FailedPrecondition, fmt::format("experiment {} has not ended", id)));
  auto again = experiment::Experiment::go_on(event.record, event.trial, event.checkpoint_batches, event.done,
                                             step.context());
  if (!again) return refuse(again.error());
  experiments_.put(id, *std::move(again));
  settle(id, step);
  return {};
}

Outcome Cluster::on(const SearchContinued& event, Step& step) {
  const auto id = event.record.id;
  if (experiments_.contains(id))
    return refuse(Error(ErrorCode::FailedPrecondition, fmt::format("experiment {} has not ended", id)));
  auto again =
      experiment::Experiment::go_on_searching(event.record, event.at_end, event.checkpoints, step.context());
  if (!again) return refuse(again.error());
  experiments_.put(id, *std::move(again));
  settle(id, step);
  return {};
}

Outcome Cluster::on(const ExperimentTracked& event, Step& step) {
  auto record = event.record;
  record.id = ExperimentId{next_experiment_++};
  step.effects.push_back(PutUnmanaged{record.id, {}, event.external_id});
  step.effects.push_back(PutExperiment{record});
  return {.refused = {}, .experiment = record.id, .effects = {}};
}

Outcome Cluster::on(const TrialTracked& event, Step& step) {
  auto record = event.record;
  record.id = TrialId{next_trial_++};
  record.task_id = fmt::format("{}.{}", record.experiment_id, record.request_id);
  step.effects.push_back(PutUnmanaged{record.experiment_id, record.id, event.external_id});
  step.effects.push_back(PutTrial{record});
  return {.refused = {}, .experiment = record.experiment_id, .effects = {}, .trial = record.id};
}

Outcome Cluster::on(const SearchAnswered& event, Step& step) {
  auto* experiment = live(event.id);
  if (experiment == nullptr)
    return refuse(Error(ErrorCode::NotFound, fmt::format("experiment {} not found", event.id)));
  const auto done = experiment->answer_search(event.event_id, event.wishes, step.context());
  if (!done) return refuse(done.error());
  settle(event.id, step);
  return {};
}

Outcome Cluster::on(const TrialKilled& event, Step& step) {
  const auto found = experiment_of_.find(event.trial);
  if (found == experiment_of_.end())
    return refuse(Error(ErrorCode::NotFound, fmt::format("trial {} not found", event.trial)));
  const auto done = live(found->second)->kill_trial(event.trial, step.context());
  if (!done) return refuse(done.error());
  settle(found->second, step);
  return {};
}

Outcome Cluster::on(const CheckpointsCollected& event, Step&) {
  auto* experiment = live(event.id);
  if (experiment == nullptr || !experiment->finished()) return {};
  for (const auto& [trial, _] : experiment->trials()) experiment_of_.erase(trial);
  experiments_.take(event.id);
  positions_.erase(event.id);
  written_.erase(event.id);
  return {};
}

// Carries out what the experiment wants, until it wants nothing more.
void Cluster::settle(ExperimentId id, Step& step) {
  auto& experiment = *live(id);
  step.touched.insert(id);
  for (auto effects = experiment.take_effects(); !effects.empty(); effects = experiment.take_effects()) {
    for (const auto& effect : effects) {
      if (const auto* wanted = std::get_if<experiment::RequestAllocation>(&effect)) {
        request(experiment, *wanted, step);
      } else if (const auto* give_way = std::get_if<experiment::PreemptAllocation>(&effect)) {
        preempt(give_way->allocation_id, give_way->may_stay, step);
      } else if (const auto* rest = std::get_if<experiment::IdleAllocation>(&effect)) {
        idle(rest->allocation_id, step);
      } else if (const auto* again = std::get_if<experiment::ResumeAllocation>(&effect)) {
        resume(again->allocation_id, step);
      } else if (const auto* stop = std::get_if<experiment::KillAllocation>(&effect)) {
        kill(stop->allocation_id, step);
      } else if (const auto* changed = std::get_if<experiment::OperationsChanged>(&effect)) {
        step.effects.push_back(WakeTrial{changed->trial});
      } else if (const auto* note = std::get_if<experiment::Note>(&effect)) {
        const auto* trial = experiment.trial(note->trial);
        step.effects.push_back(LogNote{trial->record.task_id, note->allocation_id, note->text});
      } else {
        if (auto rest = experiment.at_end()) step.effects.push_back(PutSearch{id, *std::move(rest)});
        step.effects.push_back(CollectCheckpoints{id});
      }
    }
  }
  if (experiment.search_events() != nullptr) step.effects.push_back(WakeSearch{id});
  for (const auto trial : experiment.take_changed_trials()) {
    experiment_of_.emplace(trial, id);
    step.effects.push_back(PutTrial{experiment.trial(trial)->record});
  }
}

// ---- what trials report ----------------------------------------------------

namespace {
Error gone(const std::string& allocation_id) {
  return Error(ErrorCode::Gone, fmt::format("allocation {} has ended", allocation_id));
}
}  // namespace

// Other tasks have tokens, too, and nothing of what follows is theirs to say.
/// Not to be changed: most reports say nothing that the schedulers would have to look at again.
Result<const Allocation*> Cluster::trial_that_reports(const std::string& allocation_id) const {
  const auto* allocation = this->allocation(allocation_id);
  if (allocation == nullptr) return tl::unexpected(gone(allocation_id));
  if (!allocation->of_trial())
    return fail(ErrorCode::PermissionDenied, "allocation {} does not belong to a trial", allocation_id);
  return allocation;
}

Outcome Cluster::on(const OperationCompleted& event, Step& step) {
  const auto reporter = trial_that_reports(event.allocation_id);
  if (!reporter) return refuse(reporter.error());
  const auto* allocation = *reporter;
  const auto id = allocation->record.experiment_id;
  const auto done =
      live(id)->operation_completed(allocation->record.trial_id, event.batches, event.metric, step.context());
  if (!done) return refuse(done.error());
  settle(id, step);
  return {};
}

Outcome Cluster::on(const TrialProgressed& event, Step& step) {
  const auto reporter = trial_that_reports(event.allocation_id);
  if (!reporter) return refuse(reporter.error());
  const auto* allocation = *reporter;
  live(allocation->record.experiment_id)
      ->progressed(allocation->record.trial_id, event.batches, event.runner_state);
  settle(allocation->record.experiment_id, step);
  return {};
}

Outcome Cluster::on(const ValidationReported& event, Step& step) {
  const auto reporter = trial_that_reports(event.allocation_id);
  if (!reporter) return refuse(reporter.error());
  const auto* allocation = *reporter;
  live(allocation->record.experiment_id)
      ->validated(allocation->record.trial_id, event.batches, event.metric, event.time, step.context());
  settle(allocation->record.experiment_id, step);
  return {};
}

Outcome Cluster::on(const CheckpointReported& event, Step& step) {
  const auto reporter = trial_that_reports(event.record.allocation_id);
  if (!reporter) return refuse(reporter.error());
  const auto* allocation = *reporter;
  auto record = event.record;
  record.experiment_id = allocation->record.experiment_id;
  record.trial_id = allocation->record.trial_id;
  record.task_id = allocation->record.task_id;
  step.effects.push_back(PutCheckpoint{record});
  live(record.experiment_id)->checkpointed(record.trial_id, record.uuid, record.batches);
  settle(record.experiment_id, step);
  return {};
}

Outcome Cluster::on(const EarlyExitReported& event, Step& step) {
  const auto reporter = trial_that_reports(event.allocation_id);
  if (!reporter) return refuse(reporter.error());
  const auto* allocation = *reporter;
  live(allocation->record.experiment_id)
      ->exiting_early(allocation->record.trial_id, event.reason, event.message);
  settle(allocation->record.experiment_id, step);
  return {};
}

Outcome Cluster::on(const LogPolicyMatched& event, Step& step) {
  const auto reporter = trial_that_reports(event.allocation_id);
  if (!reporter) return refuse(reporter.error());
  const auto* allocation = *reporter;
  live_allocation(event.allocation_id);  // its trial may avoid an agent from now on
  live(allocation->record.experiment_id)
      ->log_policy_matched(allocation->record.trial_id, event.policy, event.action, event.agent, event.line);
  settle(allocation->record.experiment_id, step);
  return {};
}

}  // namespace det::cluster
