// What a trial's run reports on its way.

#include <algorithm>
#include <cmath>

#include "det/experiment/experiment.h"
#include "det/experiment/parts.h"

namespace det::experiment {

bool better(double candidate, std::optional<double> best, bool smaller_is_better) {
  if (std::isnan(candidate)) return false;
  if (!best || std::isnan(*best)) return true;
  return smaller_is_better ? candidate < *best : candidate > *best;
}

void Experiment::progressed(TrialId id, std::int64_t batches, const std::string& runner_state) {
  auto* trial = find(id);
  if (trial == nullptr) return;
  if (!runner_state.empty()) trial->record.runner_state = runner_state;
  if (batches > 0) {
    trial->record.batches = batches;
    if (hears_validations()) return void(changed_.insert(id));
    double units = static_cast<double>(batches);
    const auto size = static_cast<double>(global_batch_size(trial->record.hparams));
    const auto unit = runs_script() ? config::Unit::Batches : config_.searcher.max_length.unit;
    if (unit == config::Unit::Records) units *= size;
    if (unit == config::Unit::Epochs && config_.records_per_epoch > 0)
      units *= size / static_cast<double>(config_.records_per_epoch);
    searcher_.set_trial_progress(trial->record.request_id, units);
    record_.progress = searcher_.progress();
  }
  changed_.insert(id);
}

bool Experiment::hears_validations() const {
  const auto& name = config_.searcher.name;
  return config_.generation == config::Generation::Time && runs_script() &&
         (name == "adaptive_asha" || name == "async_halving");
}

/// What was asked for up to there has been done, whoever asks for it.
void Experiment::complete_until(Trial& trial, double time) {
  for (auto& operation : trial.operations)
    if (static_cast<double>(operation.length) <= time) operation.completed = true;
}

void Experiment::validated(TrialId id, std::int64_t batches, double metric, std::optional<double> time,
                           Context context) {
  auto* trial = find(id);
  if (trial == nullptr) return;
  trial->record.batches = std::max(trial->record.batches, batches);  // some report nothing else
  auto& best = trial->record.best_metric;
  if (better(metric, best, config_.searcher.smaller_is_better)) best = metric;
  changed_.insert(id);
  if (!time || !hears_validations() || trial->closed || is_terminal(trial->record.state)) return;
  constexpr double kMost = 1e15;
  const auto& request = trial->record.request_id;
  perform(searcher_.validation_completed(request, metric,
                                         static_cast<std::int64_t>(std::clamp(*time, 0.0, kMost))),
          context);
  complete_until(*trial, *time);
  searcher_.set_trial_progress(request, *time);
  record_.progress = searcher_.progress();
  // It does not ask what is left to do, so it is told to end.
  if (trial->closed && !trial->allocation.empty()) effects_.push_back(PreemptAllocation{trial->allocation});
}

void Experiment::checkpointed(TrialId id, const std::string& uuid, std::int64_t batches) {
  auto* trial = find(id);
  if (trial == nullptr) return;
  trial->record.latest_checkpoint = uuid;
  trial->checkpoint_batches = batches;
  changed_.insert(id);
}

void Experiment::exiting_early(TrialId id, search::ExitedReason reason, const std::string& message) {
  auto* trial = find(id);
  if (trial == nullptr || is_terminal(trial->record.state) || trial->early_exit) return;
  trial->early_exit = reason;
  if (reason != search::ExitedReason::Errored) return;
  trial->record.error = message.empty() ? "the trial reported that it cannot run" : message;
  changed_.insert(id);
}

bool would_matter(const Trial& trial, const std::string& policy, const std::string& action,
                  const std::string& agent) {
  if (action == "exclude_node" && !trial.blocked_agents.contains(agent)) return true;
  return !trial.log_policies.contains(policy);
}

void Experiment::log_policy_matched(TrialId id, const std::string& policy, const std::string& action,
                                    const std::string& agent, const std::string& line) {
  auto* trial = find(id);
  if (trial == nullptr || is_terminal(trial->record.state) || !would_matter(*trial, policy, action, agent))
    return;
  auto& matched = trial->record.log_policy_matched;
  if (trial->log_policies.insert(policy).second) matched += (matched.empty() ? "" : ", ") + policy;
  changed_.insert(id);
  std::string follows;
  if (action == "cancel_retries") {
    trial->no_restart = fmt::format("log policy '{}' matched the line: {}", policy, line);
    follows = "; if the trial fails, it is not restarted";
  } else if (action == "exclude_node") {
    trial->blocked_agents.insert(agent);
    follows = fmt::format("; the trial will not run on agent {} again", agent);
  }
  effects_.push_back(Note{id, trial->allocation, fmt::format("log policy '{}' matched{}", policy, follows)});
}

}  // namespace det::experiment
