#include "det/experiment/experiment.h"

#include <algorithm>

#include "det/experiment/parts.h"

namespace det::experiment {
namespace {

struct Saved {
  ExperimentRecord record;
  std::vector<Trial> trials, again, left;
  search::Operations postponed;
  json::value searcher;
};
BOOST_DESCRIBE_STRUCT(Saved, (), (record, trials, again, left, postponed, searcher))

bool all_completed(const Trial& trial) {
  return std::all_of(trial.operations.begin(), trial.operations.end(),
                     [](const auto& o) { return o.completed; });
}

bool is_asked(const Trial& trial, std::int64_t length) {
  return std::ranges::any_of(trial.operations, [&](const auto& o) { return o.length == length; });
}

/// Nothing to do until the search says more.
bool is_idle(const Trial& trial) {
  return trial.operations.empty() || (all_completed(trial) && !trial.closed);
}

std::string how_often(std::int64_t times) {
  return times == 1 ? "once" : fmt::format("{} times", times);
}

}  // namespace

Experiment::Experiment(ExperimentRecord record, config::ExperimentConfig config, search::Searcher searcher)
    : record_(std::move(record)), config_(std::move(config)), searcher_(std::move(searcher)) {}

Result<Experiment> Experiment::create(ExperimentRecord record, config::ExperimentConfig config) {
  settle_length(config);
  const auto& time = config.searcher.time_metric;
  if (!time.empty() && time != "batches" && time != "records" && time != "epochs" &&
      !is_script(config.document))
    return invalid_argument(
        "searcher.time_metric is \"{}\"; for a trial class, it must be batches, records or epochs (a script "
        "may "
        "use its own metric)",
        time);
  DET_TRY(auto searcher, search::Searcher::make(config));
  return Experiment(std::move(record), std::move(config), std::move(searcher));
}

Result<Experiment> Experiment::restore(const json::value& snapshot) {
  DET_TRY(auto saved, json::from_json<Saved>(snapshot));
  DET_TRY(auto config, config::from_document(saved.record.config));
  settle_length(config);
  DET_TRY(auto searcher, search::Searcher::restore(config, saved.searcher));
  Experiment experiment(std::move(saved.record), std::move(config), std::move(searcher));
  for (auto& trial : saved.trials) {
    experiment.requests_.emplace(trial.record.request_id, trial.record.id);
    experiment.trials_.emplace(trial.record.id, std::move(trial));
  }
  for (auto& trial : saved.again) experiment.again_.emplace(trial.record.request_id, std::move(trial));
  experiment.left_ = std::move(saved.left);
  experiment.postponed_ = std::move(saved.postponed);
  return experiment;
}

json::value Experiment::snapshot() const {
  Saved saved{.record = record_,
              .trials = {},
              .again = {},
              .left = left_,
              .postponed = postponed_,
              .searcher = searcher_.snapshot()};
  for (const auto& [id, trial] : trials_) saved.trials.push_back(trial);
  for (const auto& [id, trial] : again_) saved.again.push_back(trial);
  return json::to_json(saved);
}

const Trial* Experiment::trial(TrialId id) const {
  const auto found = trials_.find(id);
  return found == trials_.end() ? nullptr : &found->second;
}

Trial* Experiment::find(TrialId id) {
  const auto found = trials_.find(id);
  return found == trials_.end() ? nullptr : &found->second;
}

std::vector<Effect> Experiment::take_effects() {
  return std::exchange(effects_, {});
}
std::set<TrialId> Experiment::take_changed_trials() {
  return std::exchange(changed_, {});
}

void Experiment::start(bool activate, Context context) {
  record_.state = activate ? State::Active : State::Paused;
  record_.start_time = context.now;
  perform(searcher_.start(), context);
}

Result<void> Experiment::refuse(const char* verb) const {
  return failed_precondition("experiment {} is {}; it cannot be {}", record_.id, verb_state(record_.state),
                             verb);
}

Result<void> Experiment::activate(Context) {
  if (record_.state == State::Active) return {};
  if (record_.state != State::Paused) return refuse("activated");
  record_.state = State::Active;
  for (auto& [id, trial] : trials_) want_slots(trial);
  return {};
}

Result<void> Experiment::pause(Context) {
  if (record_.state == State::Paused) return {};
  if (record_.state != State::Active) return refuse("paused");
  record_.state = State::Paused;
  searcher_.inactive("PAUSED");
  for (const auto& [id, trial] : trials_)
    if (!trial.allocation.empty()) effects_.push_back(PreemptAllocation{trial.allocation, true});
  return {};
}

Result<void> Experiment::cancel(Context context) {
  if (is_stopping(record_.state) || record_.state == State::Canceled) return {};
  if (finished()) return refuse("canceled");
  stop(State::StoppingCanceled, context);
  return {};
}

Result<void> Experiment::kill(Context context) {
  if (record_.state == State::StoppingKilled || record_.state == State::Canceled) return {};
  if (finished()) return refuse("killed");
  stop(State::StoppingKilled, context);
  return {};
}

Result<void> Experiment::kill_trial(TrialId id, Context context) {
  auto* trial = find(id);
  if (trial == nullptr) return not_found("trial {} not found", id);
  if (is_terminal(trial->record.state)) return {};
  trial->early_exit = search::ExitedReason::UserCanceled;
  trial->record.state = State::StoppingKilled;
  changed_.insert(id);
  if (trial->allocation.empty()) {
    exit_early(*trial, search::ExitedReason::UserCanceled, State::Canceled, context);
  } else {
    effects_.push_back(KillAllocation{trial->allocation});
  }
  return {};
}

Result<void> Experiment::answer_search(std::int64_t event_id, const std::vector<search::SearchWish>& wishes,
                                       Context context) {
  if (auto awaited = searcher_.awaits(event_id); !awaited) return tl::unexpected(std::move(awaited).error());
  if (finished() || is_stopping(record_.state)) return refuse("given new operations");
  std::set<search::RequestId> made;
  for (const auto& wish : wishes) {
    using Kind = search::SearchWish::Kind;
    const bool known = requests_.contains(wish.request_id);
    if (wish.kind == Kind::Create) {
      if (known)
        return invalid_argument("request ID {} was used before; each operation needs a new one",
                                wish.request_id);
      made.insert(wish.request_id);
    } else if ((wish.kind == Kind::ValidateAfter || wish.kind == Kind::Close) && !known &&
               !made.contains(wish.request_id)) {
      return invalid_argument("trial {} not found; create it before its other operations", wish.request_id);
    }
  }
  DET_TRY(const auto operations, searcher_.answer(event_id, wishes));
  perform(operations, context);
  if (is_stopping(record_.state)) stop(record_.state, context);  // who still trains is in the way
  if (!finished()) record_.progress = searcher_.progress();
  return {};
}

Result<void> Experiment::reconfigure(const Reconfiguration& change, Context context) {
  if (finished() && change.of_resources())
    return failed_precondition("experiment {} is finished; its resources cannot be changed", record_.id);
  if (change.of_search() && (finished() || is_stopping(record_.state)))
    return refuse("given new search settings");
  DET_TRY(auto document, reconfigured(record_.config, change));
  DET_TRY(auto config, config::from_document(document));
  settle_length(config);
  search::Operations operations;
  if (change.of_search()) {
    DET_TRY(operations, searcher_.reconfigure(config));
  }
  config_ = std::move(config);
  record_.config = std::move(document);
  if (change.resource_pool) record_.resource_pool = *change.resource_pool;
  if (change.of_search()) {
    perform(operations, context);
    record_.progress = searcher_.progress();
  }
  return {};
}

// Every trial gives its slots back: asked when the state allows to wait for a
// checkpoint, at once when the user said kill.
void Experiment::give_back_all() {
  for (auto& [id, trial] : trials_) {
    if (trial.allocation.empty()) continue;
    if (record_.state == State::StoppingKilled)
      effects_.push_back(KillAllocation{trial.allocation});
    else
      effects_.push_back(PreemptAllocation{trial.allocation});
  }
}

void Experiment::stop(State stopping, Context context) {
  record_.state = stopping;
  give_back_all();
  for (auto& [id, trial] : trials_)
    if (trial.allocation.empty() && !is_terminal(trial.record.state)) stop_trial(trial, context);
  end_if_done(context.now);
}

/// Of a trial that has to end before it is done: where the search ended, it is as far as it has to be.
State Experiment::stopped_state() const {
  return record_.state == State::StoppingCompleted ? State::Completed : State::Canceled;
}

void Experiment::perform(const search::Operations& operations, Context context) {
  for (const auto& operation : operations) {
    if (const auto* create = std::get_if<search::Create>(&operation)) {
      if (is_stopping(record_.state))
        postponed_.push_back(operation);
      else
        create_trial(*create, context);
    } else if (const auto* after = std::get_if<search::ValidateAfter>(&operation)) {
      if (!requests_.contains(after->request_id)) {  // of a trial that a stop kept from being created
        postponed_.push_back(operation);
        continue;
      }
      auto& trial = by_request(after->request_id);
      if (is_asked(trial, after->length)) continue;  // before it ended, and went on
      const config::Length length{.unit = config_.searcher.max_length.unit, .count = after->length};
      const auto batches = runs_script() ? after->length
                                         : config::to_batches(length, global_batch_size(trial.record.hparams),
                                                              config_.records_per_epoch);
      // Lengths that are different in records may be the same in batches; operations are told apart by
      // theirs.
      const auto least = trial.operations.empty() ? 1 : trial.operations.back().batches + 1;
      trial.operations.push_back(
          {.length = after->length, .batches = std::max<std::int64_t>(batches, least)});
      if (trial.closed && !trial.allocation.empty()) trial.lengthened_run = trial.record.run_id;
      effects_.push_back(OperationsChanged{trial.record.id});
      want_slots(trial);
    } else if (const auto* close = std::get_if<search::Close>(&operation)) {
      if (!requests_.contains(close->request_id)) {
        postponed_.push_back(operation);
        continue;
      }
      auto& trial = by_request(close->request_id);
      trial.closed = true;
      effects_.push_back(OperationsChanged{trial.record.id});
      if (!all_completed(trial) || is_terminal(trial.record.state)) continue;
      if (trial.allocation.empty())
        end_trial(trial, State::Completed, context);
      else if (record_.state == State::Active)
        effects_.push_back(ResumeAllocation{trial.allocation});  // to its end
      else if (record_.state == State::Paused)
        effects_.push_back(PreemptAllocation{trial.allocation});
    } else {
      const auto& shutdown = std::get<search::Shutdown>(operation);
      if (record_.state == State::Paused) give_back_all();  // nobody waits to go on any more
      if (!is_stopping(record_.state))
        record_.state = shutdown.failure  ? State::StoppingError
                        : shutdown.cancel ? State::StoppingCanceled
                                          : State::StoppingCompleted;
      if (shutdown.failure && record_.error.empty())
        record_.error = !shutdown.reason.empty()     ? shutdown.reason
                        : search_events() == nullptr ? "every trial of the experiment failed"
                                                     : "the search method reported a failure";
    }
  }
  end_if_done(context.now);
}

void Experiment::create_trial(const search::Create& create, Context context) {
  auto again = again_.find(create.request_id);
  if (again == again_.end()) again = again_.find("");
  if (again != again_.end()) {
    auto trial = std::move(again->second);
    again_.erase(again);
    const auto id = trial.record.id;
    trial.record.request_id = create.request_id;
    trial.record.hparams = create.hparams;
    requests_.emplace(create.request_id, id);
    trials_.emplace(id, std::move(trial));
    changed_.insert(id);
    perform(searcher_.trial_created(create.request_id), context);
    return want_slots(trials_.at(id));
  }
  const TrialId id{context.next_trial_id++};
  Trial trial;
  trial.record = {.id = id,
                  .experiment_id = record_.id,
                  .request_id = create.request_id,
                  .task_id = fmt::format("{}.{}", record_.id, create.request_id),
                  .hparams = create.hparams,
                  .seed = create.trial_seed,
                  .start_time = context.now};
  if (config_.searcher.source_checkpoint_uuid)
    trial.record.warm_start_checkpoint = *config_.searcher.source_checkpoint_uuid;
  if (!create.parent.empty() && requests_.contains(create.parent))
    trial.record.warm_start_checkpoint = by_request(create.parent).record.latest_checkpoint;
  if (!create.checkpoint.empty()) trial.record.warm_start_checkpoint = create.checkpoint;
  requests_.emplace(create.request_id, id);
  trials_.emplace(id, std::move(trial));
  changed_.insert(id);
  perform(searcher_.trial_created(create.request_id), context);
}

bool Experiment::runs_script() const {
  return is_script(record_.config);
}

Trial& Experiment::by_request(const search::RequestId& request) {
  return trials_.at(requests_.at(request));
}

void Experiment::want_slots(Trial& trial) {
  if (record_.state != State::Active || trial.record.state != State::Active || is_idle(trial)) return;
  if (!trial.allocation.empty()) return effects_.push_back(ResumeAllocation{trial.allocation});
  ++trial.record.run_id;
  trial.allocation = fmt::format("{}.{}", trial.record.task_id, trial.record.run_id);
  changed_.insert(trial.record.id);
  effects_.push_back(RequestAllocation{trial.record.id, trial.allocation});
}

/// A trial that waits for the search to promote it keeps no slots from others meanwhile.
void Experiment::rest_if_idle(const Trial& trial) {
  if (trial.allocation.empty() || !is_idle(trial) || is_terminal(trial.record.state)) return;
  effects_.push_back(IdleAllocation{trial.allocation});
}

Result<void> Experiment::operation_completed(TrialId id, std::int64_t batches, double metric,
                                             Context context) {
  auto* trial = find(id);
  if (trial == nullptr) return not_found("trial {} not found", id);
  for (auto& operation : trial->operations) {
    if (operation.batches != batches) continue;
    if (operation.completed) return {};
    operation.completed = true;
    trial->record.batches = std::max(trial->record.batches, batches);
    changed_.insert(id);
    perform(searcher_.validation_completed(trial->record.request_id, metric, operation.length), context);
    rest_if_idle(*trial);
    // Paused when it was all but done: it has nothing to wait for.
    if (record_.state == State::Paused && trial->closed && all_completed(*trial) &&
        !trial->allocation.empty())
      effects_.push_back(PreemptAllocation{trial->allocation});
    return {};
  }
  return invalid_argument("trial {} has no operation that ends at {} batches", id, batches);
}

void Experiment::allocation_ended(TrialId id, const Exit& exit, Context context) {
  auto* trial = find(id);
  if (trial == nullptr || trial->allocation.empty()) return;
  const auto ended = std::exchange(trial->allocation, {});
  trial->record.runner_state.clear();
  changed_.insert(id);
  if (is_terminal(trial->record.state)) return;

  const bool done = trial->closed && all_completed(*trial);
  // The search has stopped it, and it would be started only to be stopped again.
  const bool lost = done && hears_validations() && !is_stopping(record_.state);
  if (trial->early_exit &&
      (exit.kind != Exit::Kind::Infrastructure || trial->record.state == State::StoppingKilled)) {
    const auto reason = *trial->early_exit;
    if (reason == search::ExitedReason::Errored)
      effects_.push_back(
          Note{id, fmt::format("trial {} failed and is not restarted, because it would fail again: {}", id,
                               trial->record.error)});
    exit_early(*trial, reason,
               reason == search::ExitedReason::UserCanceled ? State::Canceled
               : reason == search::ExitedReason::Errored    ? State::Error
                                                            : State::Completed,
               context);
  } else if ((exit.kind == Exit::Kind::Clean && done) || lost) {
    end_trial(*trial, State::Completed, context);
  } else if (is_stopping(record_.state)) {
    stop_trial(*trial, context);
  } else if (exit.kind == Exit::Kind::Clean && trial->lengthened_run == trial->record.run_id) {
    want_slots(*trial);  // it left as it should, before it heard that there is more to do
  } else if (exit.kind == Exit::Kind::Clean && runs_script() && !(exit.preempted && exit.acknowledged)) {
    exit_early(*trial, search::ExitedReason::UserRequestedStop, State::Completed, context);  // it says so
  } else if (exit.kind == Exit::Kind::Failed || (exit.kind == Exit::Kind::Clean && !exit.preempted)) {
    failed(*trial, ended, exit, context);
  } else {
    want_slots(*trial);
  }
  end_if_done(context.now);
}

void Experiment::failed(Trial& trial, const std::string& allocation_id, const Exit& exit, Context context) {
  const std::string reason = exit.kind == Exit::Kind::Clean
                                 ? "the process of the trial exited before its training was complete"
                                 : exit.reason;
  if (trial.record.restarts >= config_.max_restarts || !trial.no_restart.empty()) {
    trial.record.error =
        trial.no_restart.empty()
            ? fmt::format("{}; it was restarted {} (max_restarts)", reason, how_often(trial.record.restarts))
            : fmt::format("{}; trial failed and matched logs to a don't retry policy: {}", reason,
                          trial.no_restart);
    effects_.push_back(Note{trial.record.id, allocation_id,
                            fmt::format("trial {} failed: {}", trial.record.id, trial.record.error)});
    exit_early(trial, search::ExitedReason::Errored, State::Error, context);
    return;
  }
  ++trial.record.restarts;
  effects_.push_back(Note{
      trial.record.id, allocation_id,
      fmt::format("trial {} failed: {}; restarting it from {} (restart {} of {})", trial.record.id, reason,
                  trial.record.latest_checkpoint.empty() ? std::string("the beginning")
                                                         : "checkpoint " + trial.record.latest_checkpoint,
                  trial.record.restarts, config_.max_restarts)});
  want_slots(trial);
}

void Experiment::exit_early(Trial& trial, search::ExitedReason reason, State state, Context context) {
  perform(searcher_.trial_exited_early(trial.record.request_id, reason), context);
  end_trial(trial, state, context);
}

void Experiment::end_trial(Trial& trial, State state, Context context) {
  if (is_terminal(trial.record.state)) return;
  trial.record.state = state;
  trial.record.end_time = context.now;
  changed_.insert(trial.record.id);
  perform(searcher_.trial_closed(trial.record.request_id), context);
}

void Experiment::end_if_done(Time now) {
  if (!is_stopping(record_.state)) return;
  for (const auto& [id, trial] : trials_)
    if (!is_terminal(trial.record.state)) return;
  record_.state = record_.state == State::StoppingCompleted ? State::Completed
                  : record_.state == State::StoppingError   ? State::Error
                                                            : State::Canceled;
  record_.end_time = now;
  if (record_.state == State::Completed) record_.progress = 1;
  effects_.push_back(Ended{});
}

}  // namespace det::experiment
