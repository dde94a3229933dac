#include "det/master/unmanaged/unmanaged.h"

#include "det/logging/log.h"

#include "det/checkpoint/storage.h"
#include "det/http/offload.h"
#include "det/master/objects.h"

namespace det::master {
namespace {

using experiment::State;

constexpr const char* kSilent = "its process has not reported for 5 minutes";

Error over(ExperimentId id) {
  return Error(ErrorCode::FailedPrecondition, fmt::format("experiment {} is being deleted", id));
}

}  // namespace

Unmanaged::Unmanaged(Ledger& ledger, store::Store& store, asio::thread_pool& pool)
    : ledger_(ledger), store_(store), pool_(pool) {}

void Unmanaged::load(Time now) {
  for (const auto& row : store_.unmanaged()) {
    if (row.trial) {
      experiment_of_.emplace(row.trial, row.experiment);
      if (!row.external_id.empty())
        trials_named_.emplace(std::pair(row.experiment, row.external_id), row.trial);
      continue;
    }
    names_.emplace(row.experiment, row.external_id);
    if (!row.external_id.empty()) named_[row.external_id] = row.experiment;
    const auto record = store_.experiment(row.experiment);
    if (record && record->state == State::Active)
      open_.emplace(row.experiment, made_open(*record, store_.trials(row.experiment), now));
    else if (record && (record->state == State::Deleting || record->state == State::DeleteFailed))
      named_.erase(row.external_id);
  }
}

std::optional<ExperimentId> Unmanaged::named(const std::string& external_id) const {
  const auto found = named_.find(external_id);
  return found == named_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<TrialId> Unmanaged::named(ExperimentId experiment, const std::string& external_id) const {
  const auto found = trials_named_.find({experiment, external_id});
  return found == trials_named_.end() ? std::nullopt : std::optional(found->second);
}

std::string Unmanaged::name_of(ExperimentId id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? "" : found->second;
}

// ---- what is in memory -----------------------------------------------------

Unmanaged::Open Unmanaged::made_open(experiment::ExperimentRecord record,
                                     std::vector<experiment::TrialRecord> trials, Time now) {
  const auto searcher = searcher_metric(record.config);
  Open experiment{.record = std::move(record),
                  .metric = searcher.name,
                  .smaller_is_better = searcher.smaller_is_better,
                  .since = now};
  for (auto& trial : trials) {
    const auto id = trial.id;
    experiment.trials.emplace(id, Trial{.record = std::move(trial), .heard = now});
  }
  return experiment;
}

asio::awaitable<Result<Unmanaged::Open*>> Unmanaged::open(ExperimentId id) {
  if (!has(id)) co_return not_found("unmanaged experiment '{}' not found", id);
  if (open_.find(id) == open_.end()) {
    struct Stored {
      std::optional<experiment::ExperimentRecord> record;
      std::vector<experiment::TrialRecord> trials;
    };
    auto read = [this, id] { return Stored{store_.experiment(id), store_.trials(id)}; };
    auto stored = co_await http::offload(pool_, std::move(read));
    if (!stored.record) co_return not_found("experiment '{}' not found", id);
    const auto state = stored.record->state;
    if (state == State::Deleting || state == State::DeleteFailed || state == State::Deleted)
      co_return tl::unexpected(over(id));
    // Somebody else may have been quicker; then it is theirs that counts.
    open_.emplace(id, made_open(*std::move(stored.record), std::move(stored.trials), ledger_.now()));
  }
  co_return &open_.at(id);
}

asio::awaitable<Result<Unmanaged::Found>> Unmanaged::open(TrialId id) {
  const auto of = experiment_of_.find(id);
  if (of == experiment_of_.end()) co_return not_found("unmanaged trial '{}' not found", id);
  const auto experiment = co_await open(of->second);
  if (!experiment) co_return tl::unexpected(experiment.error());
  const auto trial = (*experiment)->trials.find(id);
  if (trial == (*experiment)->trials.end()) co_return not_found("trial '{}' not found", id);
  co_return Found{*experiment, &trial->second};
}

asio::awaitable<Result<Unmanaged::Found>> Unmanaged::alive(TrialId id) {
  const auto found = co_await open(id);
  if (!found) co_return tl::unexpected(found.error());
  auto& record = found->trial->record;
  found->trial->heard = ledger_.now();
  auto answer = *found;
  if (record.state == State::Error && record.error == kSilent) {
    record.state = State::Active;
    record.error.clear();
    record.end_time.reset();
    answer.revived = true;
  }
  co_return answer;
}

experiment::ExperimentRecord* Unmanaged::open_record(ExperimentId id) {
  const auto found = open_.find(id);
  return found == open_.end() ? nullptr : &found->second.record;
}

bool Unmanaged::active(TrialId id) const {
  const auto of = experiment_of_.find(id);
  const auto experiment = of == experiment_of_.end() ? open_.end() : open_.find(of->second);
  if (experiment == open_.end()) return false;
  const auto trial = experiment->second.trials.find(id);
  return trial != experiment->second.trials.end() && trial->second.record.state == State::Active;
}

std::optional<TrialId> Unmanaged::needs(const std::string& checkpoint) const {
  for (const auto& [id, experiment] : open_)
    for (const auto& [trial_id, trial] : experiment.trials)
      if (trial.record.state == State::Active && trial.record.latest_checkpoint == checkpoint)
        return trial_id;
  return std::nullopt;
}

void Unmanaged::forget(ExperimentId id) {
  if (const auto name = names_.find(id); name != names_.end()) {
    const auto of = named_.find(name->second);
    if (of != named_.end() && of->second == id) named_.erase(of);
  }
  open_.erase(id);
}

// ---- what follows ----------------------------------------------------------

void Unmanaged::note(const Trial& trial, std::string text, Changes& changes) {
  changes.push_back(store::AddOwnLogs{{{.id = 0,
                                        .task_id = trial.record.task_id,
                                        .source = "master",
                                        .stdtype = "stdout",
                                        .level = "INFO",
                                        .log = std::move(text),
                                        .timestamp = ledger_.now()}}});
}

/// The experiment is what its trials make it; its row, where that changed.
void Unmanaged::settle(Open& experiment, Time now, Changes& changes) {
  auto& record = experiment.record;
  const auto before = std::tuple(record.state, static_cast<int>(record.progress * 100), record.error);
  State state = State::Completed;
  std::string error;
  double progress = 0;
  for (const auto& [id, trial] : experiment.trials) {
    const auto of = trial.record.state;
    progress += of == State::Completed ? 1 : trial.progress;
    if (of == State::Active) state = State::Active;
    if (state == State::Active) continue;
    if (of == State::Error) {
      state = State::Error;
      error = fmt::format("trial {}: {}", id, trial.record.error);
    } else if (of == State::Canceled && state != State::Error) {
      state = State::Canceled;
    }
  }
  if (experiment.trials.empty()) state = State::Active;
  record.progress = experiment.trials.empty() ? 0 : progress / static_cast<double>(experiment.trials.size());
  record.state = state;
  record.error = state == State::Error ? error : "";
  if (state == State::Active)
    record.end_time.reset();
  else if (!record.end_time)
    record.end_time = now;
  if (before != std::tuple(record.state, static_cast<int>(record.progress * 100), record.error))
    changes.push_back(store::PutExperiment{record});
}

asio::awaitable<void> Unmanaged::write(ExperimentId id, std::optional<TrialId> trial, Changes changes) {
  const auto found = open_.find(id);
  std::string log;
  if (found != open_.end()) {
    if (trial) {
      const auto& record = found->second.trials.at(*trial).record;
      changes.push_back(store::PutTrial{record});
      log = Ledger::task_log_key(record.task_id);
    }
    settle(found->second, ledger_.now(), changes);
  }
  co_await ledger_.write(std::move(changes));
  ledger_.ring(Ledger::experiment_key(id));
  ledger_.ring(Ledger::experiments_key());
  if (!trial) co_return;
  ledger_.ring(log);  // who follows learns from it that no more will come
  ledger_.ring(Ledger::metric_key(*trial));
}

void Unmanaged::end(Trial& trial, State state, const std::string& why, Changes& changes) {
  auto& record = trial.record;
  record.state = state;
  record.end_time = ledger_.now();
  record.error = why;
  record.runner_state.clear();
  if (state == State::Completed) trial.progress = 1;
  note(trial,
       why.empty() ? fmt::format("trial {} has ended", record.id)
                   : fmt::format("trial {}: {}", record.id, why),
       changes);
}

// ---- from outside ----------------------------------------------------------

asio::awaitable<Result<ExperimentId>> Unmanaged::create(experiment::ExperimentRecord record,
                                                        std::string external_id, std::string by) {
  const auto key = "experiment " + external_id;
  while (!external_id.empty()) {
    if (const auto known = named(external_id)) {
      co_await ledger_.durable();
      co_return *known;
    }
    if (being_made_.insert(key).second) break;
    co_await ledger_.wait(key, std::chrono::milliseconds(1'000));
  }
  record.state = State::Active;
  auto kept = record;
  cluster::Event event = cluster::ExperimentTracked{std::move(record), external_id};
  const auto done = co_await ledger_.handle(std::move(event), std::move(by));
  if (done) {
    kept.id = done->experiment;
    names_[kept.id] = external_id;
    if (!external_id.empty()) named_[external_id] = kept.id;
    open_.emplace(kept.id, made_open(std::move(kept), {}, ledger_.now()));
  }
  being_made_.erase(key);
  ledger_.ring(key);
  if (!done) co_return tl::unexpected(done.error());
  co_return done->experiment;
}

asio::awaitable<Result<TrialId>> Unmanaged::create_trial(ExperimentId id, json::object hparams,
                                                         std::string external_id, std::string by) {
  const auto key = fmt::format("trial {} {}", id, external_id);
  while (!external_id.empty()) {
    if (const auto known = named(id, external_id)) {
      co_await ledger_.durable();
      co_return *known;
    }
    if (being_made_.insert(key).second) break;
    co_await ledger_.wait(key, std::chrono::milliseconds(1'000));
  }
  const auto found = co_await open(id);
  Result<TrialId> result = TrialId{};
  if (!found) {
    result = tl::unexpected(found.error());
  } else if ((*found)->record.archived) {
    result = failed_precondition("experiment {} is archived; unarchive it before you add a trial", id);
  } else {
    experiment::TrialRecord record{.experiment_id = id,
                                   .request_id = checkpoint::new_uuid(),
                                   .task_id = "",
                                   .state = State::Active,
                                   .hparams = std::move(hparams)};
    record.start_time = ledger_.now();
    auto kept = record;
    cluster::Event event = cluster::TrialTracked{std::move(record), external_id};
    const auto done = co_await ledger_.handle(std::move(event), std::move(by));
    if (!done) {
      result = tl::unexpected(done.error());
    } else {
      kept.id = done->trial;
      kept.task_id = fmt::format("{}.{}", id, kept.request_id);
      experiment_of_.emplace(kept.id, id);
      if (!external_id.empty()) trials_named_.emplace(std::pair(id, external_id), kept.id);
      result = kept.id;
      if (const auto at = open_.find(id); at != open_.end()) {
        at->second.trials.emplace(kept.id, Trial{.record = kept, .heard = ledger_.now()});
        Changes nothing;
        co_await write(id, std::nullopt, std::move(nothing));
      }
    }
  }
  being_made_.erase(key);
  ledger_.ring(key);
  co_return result;
}

asio::awaitable<Result<Unmanaged::Run>> Unmanaged::start(TrialId id, bool resume) {
  const auto known = co_await open(id);
  if (!known) co_return tl::unexpected(known.error());
  if (known->experiment->record.archived)
    co_return failed_precondition("experiment {} is archived; unarchive it before you resume trial {}",
                                  known->experiment->record.id, id);
  struct Past {
    std::optional<experiment::CheckpointRecord> checkpoint;
    std::vector<experiment::MetricRecord> validations;
  };
  auto read = [this, id, resume] {
    Past read_past;
    if (!resume) return read_past;
    for (auto& checkpoint : store_.checkpoints_of_trial(id))
      if (checkpoint.state == experiment::CheckpointState::Completed)
        read_past.checkpoint = std::move(checkpoint);
    read_past.validations = store_.metrics({.trial = id, .group = "validation"});
    return read_past;
  };
  const auto past = co_await http::offload(pool_, std::move(read));
  const auto& latest = past.checkpoint;
  const auto found = co_await open(id);  // again: what it pointed to may be gone
  if (!found) co_return tl::unexpected(found.error());
  auto& trial = *found->trial;
  auto& record = trial.record;
  Run run{.id = ++record.run_id};
  if (latest) {
    run.checkpoint = latest->uuid;
    run.steps = latest->batches;
  }
  record.restarts = run.id - 1;
  record.state = State::Active;
  record.error.clear();
  record.end_time.reset();
  record.batches = run.steps;
  record.latest_checkpoint = run.checkpoint;
  trial.heard = ledger_.now();
  trial.newest.clear();
  trial.progress = 0;
  record.best_metric.reset();
  for (const auto& validation : past.validations)
    if (const auto value = value_of(validation, found->experiment->metric);
        value && validation.batches <= run.steps)
      if (!record.best_metric || better(*value, *record.best_metric, found->experiment->smaller_is_better))
        record.best_metric = *value;
  Changes changes;
  if (run.id > 1) changes.push_back(store::RewindTrial{id, run.id, run.steps});
  note(trial,
       run.checkpoint.empty() ? fmt::format("run {} of trial {} starts from the beginning", run.id, id)
                              : fmt::format("run {} of trial {} resumes from checkpoint {} at step {}",
                                            run.id, id, run.checkpoint, run.steps),
       changes);
  co_await write(record.experiment_id, id, std::move(changes));
  co_return run;
}

// ---- time ------------------------------------------------------------------

asio::awaitable<void> Unmanaged::tick(Time now) {
  std::vector<std::pair<ExperimentId, TrialId>> silent;
  std::vector<ExperimentId> done;
  for (auto& [id, experiment] : open_) {
    // Nobody ever made a trial in it: whoever meant to is gone.
    const bool empty = experiment.trials.empty() && now - experiment.since > kSilence;
    if (const auto name = names_.find(id); name != names_.end() && name->second.starts_with(kMlflow)) {
      if (experiment.record.state != State::Active) done.push_back(id);
      continue;
    }
    if (experiment.record.state != State::Active || empty) done.push_back(id);
    for (auto& [trial_id, trial] : experiment.trials)
      if (trial.record.state == State::Active && now - trial.heard > kSilence)
        silent.emplace_back(id, trial_id);
  }
  for (const auto& [id, trial_id] : silent) {
    const auto found = open_.find(id);
    if (found == open_.end()) continue;
    auto& trial = found->second.trials.at(trial_id);
    if (now - trial.heard <= kSilence) continue;
    logging::warn("trial {} of unmanaged experiment {}: {}", trial_id, id, kSilent);
    Changes changes;
    end(trial, State::Error, kSilent, changes);
    co_await write(id, trial_id, std::move(changes));
  }
  for (const auto id : done) {
    const auto empty = open_.find(id);
    if (empty == open_.end() || !empty->second.trials.empty()) continue;
    auto& record = empty->second.record;
    record.state = State::Error;
    record.error = "no trial was created in it for 5 minutes";
    record.end_time = now;
    Changes changes;
    changes.push_back(store::PutExperiment{record});
    co_await ledger_.write(std::move(changes));
  }
  if (done.empty()) co_return;
  co_await ledger_.durable();  // what is read again later must be what was last said
  for (const auto id : done) {
    const auto found = open_.find(id);
    if (found != open_.end() && found->second.record.state != State::Active) open_.erase(found);
  }
}

}  // namespace det::master
