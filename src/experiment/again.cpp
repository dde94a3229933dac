// Experiments that are over and go on.

#include <utility>

#include "det/experiment/parts.h"

namespace det::experiment {
namespace {

bool is_extendable(const std::string& searcher) {
  return searcher == "random" || searcher == "tpe" || searcher == "adaptive_asha" ||
         searcher == "async_halving";
}

/// Whether it came to an end of its own, and is all there still.
bool is_over(State state) {
  return state == State::Completed || state == State::Canceled || state == State::Error;
}

}  // namespace

bool Experiment::can_be_extended() const {
  return is_extendable(config_.searcher.name);
}

Result<Experiment> Experiment::extend(ExperimentRecord record, const json::value& search,
                                      const Reconfiguration& change, Context context) {
  if (record.state != State::Completed || record.archived)
    return failed_precondition("experiment {} is {}; only the search of a completed one can be extended",
                               record.id, record.archived ? "archived" : verb_state(record.state));
  DET_TRY(auto config, config::from_document(record.config));
  settle_length(config);
  if (!is_extendable(config.searcher.name))
    return failed_precondition(
        "experiment {} is over, and its search cannot be extended: a {} search that is over has nothing more "
        "to do",
        record.id, config.searcher.name);
  DET_TRY(auto searcher, search::Searcher::restore(config, search));
  record.state = State::Active;
  record.end_time.reset();
  Experiment experiment(std::move(record), std::move(config), std::move(searcher));
  if (auto done = experiment.reconfigure(change, context); !done)
    return tl::unexpected(std::move(done).error());
  return experiment;
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
    return failed_precondition("experiment {} is {}; only one that is over can be continued", record.id,
                               record.archived ? "archived" : verb_state(record.state));
  DET_TRY(auto config, config::from_document(record.config));
  settle_length(config);
  if (config.searcher.name != "single")
    return failed_precondition(
        "experiment {} has the searcher {}; only those with searcher.name single can be "
        "continued",
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
  experiment.again_ = Trial{
      .record = std::move(trial), .operations = std::move(done), .checkpoint_batches = checkpoint_batches};
  experiment.perform(experiment.searcher_.start(), context);
  const auto length = config::to_batches(experiment.config_.searcher.max_length,
                                         global_batch_size(experiment.trials_.at(id).record.hparams),
                                         experiment.config_.records_per_epoch);
  if (trained > 0 && length <= trained)
    return failed_precondition(
        "trial {} was trained for {} batches, and searcher.max_length says {}; continue experiment {} with a "
        "greater "
        "one",
        id, trained, length, experiment.record_.id);
  return experiment;
}

}  // namespace det::experiment
