#include "det/forecast/world.h"

#include <algorithm>
#include <cmath>

namespace det::forecast {

using experiment::AllocationState;

namespace {

std::int64_t microseconds(double seconds) {
  return static_cast<std::int64_t>(std::llround(seconds * static_cast<double>(kSecond)));
}
double seconds(std::int64_t microseconds) {
  return static_cast<double>(microseconds) / static_cast<double>(kSecond);
}
std::int64_t slots_of(const experiment::AllocationShare& share) {
  return static_cast<std::int64_t>(share.slots.size());
}

}  // namespace

World::World(const Question& question) : question_(question), random_(question.seed) {}

void World::at(Time when, std::function<void()> what) {
  queue_.push({when, order_++, std::move(what)});
}

Result<Forecast> World::run(const std::function<bool()>& give_up) {
  auto pool = question_.pool;
  if (pool.name.empty()) pool.name = "default";
  pool.idle_seconds = 0;  // Nothing here costs a new process anything.
  tell(cluster::MasterStarted{1, {.pools = {pool}, .default_compute = pool.name, .default_aux = pool.name}});
  for (const auto& machine : question_.machines) {
    cluster::AgentJoined joined{.agent = machine.id, .resource_pool = pool.name, .hostname = machine.id};
    joined.label = machine.label;
    joined.attributes = machine.attributes;
    for (int i = 0; i < machine.slots; ++i) joined.slots.push_back({.id = i});
    tell(joined);
  }
  if (auto submitted = submit(); !submitted) return tl::unexpected(std::move(submitted).error());
  while (!queue_.empty()) {
    if (events_ > kEventsMax)
      return fail(ErrorCode::ResourceExhausted,
                  "the simulation took more than {} events; simulate a smaller search", kEventsMax);
    if (give_up && give_up())
      return fail(ErrorCode::ResourceExhausted,
                  "the simulation took too long, after {} events; simulate a smaller search", events_);
    auto next = std::move(const_cast<Planned&>(queue_.top()));
    queue_.pop();
    now_ = next.when;
    next.what();
  }
  return result();
}

Result<void> World::submit() {
  std::int64_t number = 0;
  for (const auto& config : question_.experiments) {
    cluster::ExperimentSubmitted event;
    event.record.config = config.document;
    auto& resources = event.record.config["resources"];
    if (!resources.is_object()) resources = json::object();
    resources.get_object()["resource_pool"] = "";
    event.record.name = config.name;
    event.record.job_id = fmt::format("job-{}", ++number);
    event.record.resource_pool = question_.pool.name.empty() ? "default" : question_.pool.name;
    event.record.start_time = now_;
    auto& tally = tallies_[ExperimentId{number}];
    tally.forecast.name = config.name;
    tally.forecast.searcher = config.searcher.name;
    auto outcome = cluster_.handle(event, now_);
    if (outcome.refused) return tl::unexpected(*std::move(outcome.refused));
    for (const auto& effect : outcome.effects) take(effect);
    now_ = Time{now_.microseconds + 1};  // the order of the queue
  }
  return {};
}

// What is refused has become pointless meanwhile.
void World::tell(const cluster::Event& event) {
  ++events_;
  const auto outcome = cluster_.handle(event, now_);
  for (const auto& effect : outcome.effects) take(effect);
}

void World::take(const cluster::Effect& effect) {
  if (const auto* allocation = std::get_if<cluster::PutAllocation>(&effect)) {
    take(allocation->record);
  } else if (const auto* put = std::get_if<cluster::PutExperiment>(&effect)) {
    take(put->record);
  } else if (const auto* wake = std::get_if<cluster::WakeTrial>(&effect)) {
    const auto* trial = cluster_.trial(wake->trial);
    if (trial == nullptr || !runs_.contains(trial->allocation)) return;
    at(now_, [this, id = trial->allocation] { step(id); });
  } else if (const auto* collect = std::get_if<cluster::CollectCheckpoints>(&effect)) {
    close(collect->id);
    at(now_, [this, id = collect->id] { tell(cluster::CheckpointsCollected{id}); });
  }
}

void World::take(const experiment::AllocationRecord& record) {
  auto& tally = tallies_[record.experiment_id];
  if (record.state == AllocationState::Pending) {
    note_usage(0, 1);
  } else if (record.state == AllocationState::Assigned) {
    std::int64_t slots = 0;
    for (const auto& share : record.shares) slots += slots_of(share);
    note_usage(slots, -1);
    const double waited = seconds(*record.start_time - record.requested);
    if (tally.forecast.runs++ == 0) tally.forecast.first_start = seconds(record.start_time->microseconds);
    tally.waited += waited;
    tally.forecast.wait_max = std::max(tally.forecast.wait_max, waited);
    tally.slots += slots;
    tally.forecast.slots_max = std::max(tally.forecast.slots_max, tally.slots);
    runs_[record.id] = {.trial = record.trial_id, .experiment = record.experiment_id};
    at(Time{now_.microseconds + microseconds(question_.costs.start_seconds)},
       [this, id = record.id] { start(id); });
    if (const auto* live = cluster_.allocation(record.id); live != nullptr && live->keeps_slots_until)
      at(*live->keeps_slots_until, [this, id = record.id] { tell(cluster::SlotsKept{id}); });
  } else if (record.state == AllocationState::Terminating) {
    if (const auto* live = cluster_.allocation(record.id); live != nullptr && live->for_others)
      ++tally.forecast.preemptions;
    at(now_, [this, id = record.id] { give_way(id); });
  } else if (record.state == AllocationState::Terminated) {
    if (!record.start_time) return note_usage(0, -1);
    std::int64_t slots = 0;
    for (const auto& share : record.shares) slots += slots_of(share);
    note_usage(-slots, 0);
    tally.slots -= slots;
    tally.forecast.slot_seconds += seconds(experiment::slot_microseconds(record, now_));
  }
}

void World::take(const experiment::ExperimentRecord& record) {
  if (!experiment::is_terminal(record.state)) return;
  auto& forecast = tallies_[record.id].forecast;
  forecast.completed = record.state == experiment::State::Completed;
  forecast.end = seconds(now_.microseconds);
}

void World::start(const std::string& id) {
  const auto found = runs_.find(id);
  if (found == runs_.end() || found->second.leaving) return;
  const auto* allocation = cluster_.allocation(id);
  if (allocation == nullptr) return;
  const auto shares = allocation->record.shares;
  for (const auto& share : shares) tell(cluster::AllocationStarted{id, share.agent});
  auto& run = runs_.at(id);
  const auto* trial = cluster_.trial(run.trial);
  run.batches = trial->checkpoint_batches;
  run.number = 1;
  step(id);
}

/// What the trial does next, once it runs.
void World::step(const std::string& id) {
  const auto found = runs_.find(id);
  if (found == runs_.end()) return;
  auto& run = found->second;
  const auto* allocation = cluster_.allocation(id);
  if (run.number == 0 || run.leaving || run.training || allocation == nullptr) return;
  if (allocation->preempt || allocation->kill) return leave(id, question_.costs.checkpoint_seconds);
  const auto& trial = *cluster_.trial(run.trial);
  for (const auto& operation : trial.operations) {
    if (operation.completed) continue;
    const auto batches = std::max<std::int64_t>(operation.batches - run.batches, 0);
    run.training = true;
    run.since = now_;
    const double takes =
        static_cast<double>(batches) * seconds_per_batch(id) + question_.costs.validation_seconds;
    at(Time{now_.microseconds + microseconds(takes)},
       [this, id, number = ++run.number, total = operation.batches] { complete(id, number, total); });
    return;
  }
  if (trial.closed) leave(id, question_.costs.checkpoint_seconds);
}

void World::complete(const std::string& id, std::int64_t number, std::int64_t batches) {
  const auto found = runs_.find(id);
  if (found == runs_.end() || found->second.number != number) return;
  auto& run = found->second;
  run.batches = batches;
  run.training = false;
  const auto value = metric(run);
  tell(cluster::ValidationReported{id, batches, value});
  tell(cluster::OperationCompleted{id, batches, value});
  step(id);
}

/// It saves where it is, and goes.
void World::give_way(const std::string& id) {
  const auto found = runs_.find(id);
  if (found == runs_.end() || found->second.leaving) return;
  auto& run = found->second;
  if (run.training) {
    const auto pace = seconds_per_batch(id);
    const auto& trial = *cluster_.trial(run.trial);
    std::int64_t most = run.batches;
    for (const auto& operation : trial.operations) most = std::max(most, operation.batches);
    if (pace > 0)
      run.batches = std::min(most, run.batches + static_cast<std::int64_t>(seconds(now_ - run.since) / pace));
  }
  leave(id, run.number == 0 ? 0 : question_.costs.checkpoint_seconds);
}

void World::leave(const std::string& id, double takes) {
  auto& run = runs_.at(id);
  run.leaving = true;
  run.training = false;
  ++run.number;
  at(Time{now_.microseconds + microseconds(takes)}, [this, id] { exited(id); });
}

void World::exited(const std::string& id) {
  const auto* allocation = cluster_.allocation(id);
  if (allocation == nullptr) return;
  const auto run = runs_.at(id);
  const auto shares = allocation->record.shares;
  if (run.number > 1) {
    cluster::CheckpointReported saved;
    saved.record.uuid = fmt::format("checkpoint-{}", ++checkpoints_);
    saved.record.allocation_id = id;
    saved.record.batches = run.batches;
    tell(saved);
  }
  runs_.erase(id);
  int rank = 0;
  for (const auto& share : shares) tell(cluster::AllocationExited{id, share.agent, {{.rank = rank++}}});
}

double World::seconds_per_batch(const std::string& id) const {
  const auto& allocation = *cluster_.allocation(id);
  const auto& range = cluster_.experiment(allocation.record.experiment_id)->config().resources.slots_range;
  if (!range || !range->keeps_global_batch) return question_.costs.seconds_per_batch;
  return question_.costs.seconds_per_batch * static_cast<double>(range->max) / allocation.slots;
}

double World::metric(const Run& run) {
  const auto& curves = question_.costs.curves;
  if (curves.empty()) {
    const auto [quality, added] = quality_of_.try_emplace(run.trial, 0);
    if (added) quality->second = random_.unit();
    return quality->second;
  }
  const auto [mine, added] = curve_of_.try_emplace(run.trial, 0);
  if (added) mine->second = static_cast<std::size_t>(tallies_[run.experiment].next_curve++) % curves.size();
  const auto& curve = curves[mine->second];
  const auto beyond = std::ranges::upper_bound(curve, run.batches, {}, &Point::batches);
  return beyond == curve.begin() ? beyond->metric : std::prev(beyond)->metric;
}

void World::note_usage(std::int64_t slots, std::int64_t waiting) {
  slots_used_ += slots;
  waiting_ += waiting;
  usage_.push_back({seconds(now_.microseconds), slots_used_, waiting_});
}

/// Reads what only the live experiment knows, before the cluster forgets it.
void World::close(ExperimentId id) {
  auto& tally = tallies_[id];
  for (const auto& [trial, state] : cluster_.experiment(id)->trials()) {
    ++tally.rows[state.record.batches];
    quality_of_.erase(trial);
    curve_of_.erase(trial);
  }
}

Forecast World::result() {
  Forecast whole{.events = events_};
  for (const auto& machine : question_.machines) whole.slots += machine.slots;
  for (auto& [id, tally] : tallies_) {
    auto& forecast = tally.forecast;
    if (const auto* live = cluster_.experiment(id)) {
      close(id);
      for (const auto& [trial, state] : live->trials())
        if (!state.allocation.empty()) {
          forecast.waits_for = cluster_.waiting_reason(state.allocation);
          break;
        }
    }
    for (const auto& [batches, trials] : tally.rows) {
      forecast.rows.push_back({trials, batches});
      forecast.trials += trials;
      forecast.batches += trials * batches;
    }
    if (forecast.runs > 0) forecast.wait_mean = tally.waited / static_cast<double>(forecast.runs);
    whole.end = std::max(whole.end, forecast.end);
    whole.slot_seconds += forecast.slot_seconds;
    whole.experiments.push_back(std::move(forecast));
  }
  // Means over equal parts of the time.
  const double part = whole.end / static_cast<double>(kMoments);
  if (part <= 0) return whole;
  std::size_t next = 0;
  double used = 0, waits = 0;
  for (std::size_t i = 0; i < kMoments; ++i) {
    double from = static_cast<double>(i) * part, slots = 0, waiting = 0;
    const double until = from + part;
    while (from < until) {
      while (next < usage_.size() && usage_[next].seconds <= from) {
        used = static_cast<double>(usage_[next].slots_used);
        waits = static_cast<double>(usage_[next++].waiting);
      }
      const double to = next < usage_.size() ? std::min(until, usage_[next].seconds) : until;
      slots += used * (to - from);
      waiting += waits * (to - from);
      from = to;
    }
    whole.usage.push_back(
        {static_cast<double>(i) * part, std::llround(slots / part), std::llround(waiting / part)});
  }
  return whole;
}

}  // namespace det::forecast
