// Experiments that are over and go on.

#include <algorithm>
#include <utility>

#include "det/experiment/parts.h"

namespace det::experiment {
namespace {

bool is_extendable(const std::string& searcher) {
  return searcher == "random" || searcher == "tpe" || searcher == "adaptive_asha" ||
         searcher == "async_halving";
}

/// Whether its search keeps where it stood when the experiment is stopped.
bool can_search_on(const std::string& searcher) {
  return searcher != "single" && searcher != "pbt" && !config::decided_outside(searcher);
}

/// What is kept of a search that is over.
struct Rest {
  json::value search;
  std::vector<Trial> trials;     ///< that ended before they were done
  std::vector<Trial> again;      ///< of those that the search creates again once it has room
  search::Operations postponed;  ///< about trials that the end kept from being created
};
BOOST_DESCRIBE_STRUCT(Rest, (), (search, trials, again, postponed))

/// An earlier release kept the search's snapshot alone.
Result<Rest> rest_of(const json::value& at_end) {
  const auto* object = at_end.if_object();
  if (object != nullptr && object->contains("search_method_state")) return Rest{.search = at_end};
  return json::from_json<Rest>(at_end);
}

/// As good as new, but for what it has trained.
void revive(Trial& trial, const std::map<TrialId, NewestCheckpoint>& checkpoints) {
  const auto checkpoint = checkpoints.find(trial.record.id);
  const bool has_one = checkpoint != checkpoints.end();
  trial = Trial{.record = std::move(trial.record),
                .operations = std::move(trial.operations),
                .closed = trial.closed,
                .checkpoint_batches = has_one ? checkpoint->second.batches : 0};
  trial.record.latest_checkpoint = has_one ? checkpoint->second.uuid : "";
  trial.record.state = State::Active;
  trial.record.restarts = 0;
  trial.record.error.clear();
  trial.record.runner_state.clear();
  trial.record.end_time.reset();
}

/// The search wants nothing more of it, and it has saved what it was asked for.
bool is_done(const Trial& trial) {
  const auto completed = [](const auto& operation) { return operation.completed; };
  return trial.closed && trial.allocation.empty() && std::ranges::all_of(trial.operations, completed) &&
         (trial.operations.empty() || trial.checkpoint_batches >= trial.operations.back().batches);
}

search::Again again_of(const Trial& trial) {
  const auto& record = trial.record;
  return {.create = {.request_id = record.request_id, .trial_seed = record.seed, .hparams = record.hparams},
          .validations = std::ranges::count_if(trial.operations, [](const auto& o) { return o.completed; }),
          .exit = record.state == State::Error ? search::ExitedReason::Errored
                                               : search::ExitedReason::UserCanceled};
}

/// Whether it came to an end of its own, and is all there still.
bool is_over(State state) {
  return state == State::Completed || state == State::Canceled || state == State::Error;
}

}  // namespace

Result<Experiment> Experiment::extend(ExperimentRecord record, const json::value& at_end,
                                      const Reconfiguration& change, Context context) {
  if (record.state != State::Completed || record.archived)
    return failed_precondition(
        "experiment {} is {}; only the search of a completed experiment can be extended", record.id,
        record.archived ? "archived" : verb_state(record.state));
  DET_TRY(auto config, config::from_document(record.config));
  settle_length(config);
  if (!is_extendable(config.searcher.name))
    return failed_precondition(
        "experiment {} has ended, and its search cannot be extended: the searcher {} has nothing left to do",
        record.id, config.searcher.name);
  DET_TRY(auto rest, rest_of(at_end));
  DET_TRY(auto searcher, search::Searcher::restore(config, rest.search));
  record.state = State::Active;
  record.end_time.reset();
  Experiment experiment(std::move(record), std::move(config), std::move(searcher));
  experiment.left_ = std::move(rest.trials);
  if (auto done = experiment.reconfigure(change, context); !done)
    return tl::unexpected(std::move(done).error());
  return experiment;
}

/// Ends a trial since its experiment ends. The search is not told, and may go on with it another time; only
/// somebody outside is, who would wait for it.
void Experiment::stop_trial(Trial& trial, Context context) {
  if (search_events() != nullptr) return end_trial(trial, stopped_state(), context);
  if (is_terminal(trial.record.state)) return;
  trial.record.state = stopped_state();
  trial.record.end_time = context.now;
  changed_.insert(trial.record.id);
}

std::optional<json::value> Experiment::at_end() const {
  const auto& name = config_.searcher.name;
  if (name == "single") return json::to_json(completed_operations());
  if (!can_search_on(name)) return std::nullopt;
  Rest rest{.search = searcher_.snapshot(), .trials = left_, .again = {}, .postponed = postponed_};
  for (const auto& [id, trial] : trials_)
    if (trial.record.state != State::Completed) rest.trials.push_back(trial);
  for (const auto& [id, trial] : again_) rest.again.push_back(trial);
  return json::to_json(rest);
}

std::vector<TrialOperation> Experiment::completed_operations() const {
  std::vector<TrialOperation> done;
  if (trials_.size() == 1)
    for (const auto& operation : trials_.begin()->second.operations)
      if (operation.completed) done.push_back(operation);
  return done;
}

Result<Experiment> Experiment::go_on(ExperimentRecord record, TrialRecord trial,
                                     std::int64_t checkpoint_batches, std::vector<TrialOperation> done,
                                     Context context) {
  if (!is_over(record.state) || record.archived)
    return failed_precondition("experiment {} is {}; only an experiment that has ended can be continued",
                               record.id, record.archived ? "archived" : verb_state(record.state));
  DET_TRY(auto config, config::from_document(record.config));
  settle_length(config);
  if (config.searcher.name != "single")
    return failed_precondition("experiment {} has the searcher {}; it must be single to continue its trial",
                               record.id, config.searcher.name);
  DET_TRY(auto searcher, search::Searcher::make(config));
  record.state = State::Active;
  record.end_time.reset();
  record.progress = 0;
  record.error.clear();
  Experiment experiment(std::move(record), std::move(config), std::move(searcher));
  // A script counts its own way, and nobody knows how far it is.
  if (experiment.runs_script()) done.clear();
  trial.state = State::Active;
  trial.restarts = 0;
  trial.error.clear();
  trial.runner_state.clear();
  trial.end_time.reset();
  const auto id = trial.id;
  const auto trained = done.empty() ? 0 : done.back().batches;
  experiment.again_[""] = Trial{
      .record = std::move(trial), .operations = std::move(done), .checkpoint_batches = checkpoint_batches};
  experiment.perform(experiment.searcher_.start(), context);
  const auto length = config::to_batches(experiment.config_.searcher.max_length,
                                         global_batch_size(experiment.trials_.at(id).record.hparams),
                                         experiment.config_.records_per_epoch);
  if (trained > 0 && length <= trained)
    return failed_precondition(
        "trial {} was trained for {} batches, but searcher.max_length is {}; continue experiment {} with a "
        "greater searcher.max_length",
        id, trained, length, experiment.record_.id);
  return experiment;
}

Result<Experiment> Experiment::go_on_searching(ExperimentRecord record, const json::value& at_end,
                                               const std::map<TrialId, NewestCheckpoint>& checkpoints,
                                               Context context) {
  if (!is_over(record.state) || record.archived)
    return failed_precondition("experiment {} is {}; only an experiment that has ended can be continued",
                               record.id, record.archived ? "archived" : verb_state(record.state));
  DET_TRY(auto config, config::from_document(record.config));
  settle_length(config);
  const auto& name = config.searcher.name;
  if (!can_search_on(name))
    return failed_precondition("experiment {} has the searcher {}, which cannot be continued", record.id,
                               name);
  DET_TRY(auto rest, rest_of(at_end));
  DET_TRY(auto searcher, search::Searcher::restore(config, rest.search));
  record.state = State::Active;
  record.end_time.reset();
  record.error.clear();
  Experiment experiment(std::move(record), std::move(config), std::move(searcher));
  for (auto& trial : rest.again) {
    revive(trial, checkpoints);
    experiment.again_.emplace(trial.record.request_id, std::move(trial));
  }
  std::vector<search::Again> ended;
  std::map<search::RequestId, Trial> as_ended;
  for (auto& trial : rest.trials) {
    const auto request = trial.record.request_id;
    if (experiment.searcher_.is_open(request)) {
      revive(trial, checkpoints);
      experiment.requests_.emplace(request, trial.record.id);
      experiment.changed_.insert(trial.record.id);
      experiment.trials_.emplace(trial.record.id, std::move(trial));
      continue;
    }
    ended.push_back(again_of(trial));
    as_ended.emplace(request, trial);
    revive(trial, checkpoints);
    experiment.again_.emplace(request, std::move(trial));
  }
  const auto operations = experiment.searcher_.run_again(ended);
  for (const auto& refused : ended) {
    experiment.again_.erase(refused.create.request_id);
    experiment.left_.push_back(std::move(as_ended.at(refused.create.request_id)));
  }
  if (experiment.trials_.empty() && operations.empty() && rest.postponed.empty())
    return failed_precondition(
        "experiment {} has nothing to continue: {}", experiment.record_.id,
        experiment.left_.empty()
            ? "all of its trials are complete"
            : fmt::format("the other trials are complete, and the searcher {} cannot rerun failed trials",
                          experiment.config_.searcher.name));
  experiment.perform(rest.postponed, context);
  experiment.perform(operations, context);
  for (auto& [id, trial] : experiment.trials_) {
    if (is_done(trial))
      experiment.end_trial(trial, State::Completed, context);
    else
      experiment.want_slots(trial);
  }
  experiment.record_.progress = experiment.searcher_.progress();
  return experiment;
}

}  // namespace det::experiment
