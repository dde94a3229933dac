#include "det/search/methods/whole_trials.h"

#include <algorithm>
#include <cmath>

#include "det/search/sampling/sampling.h"

namespace det::search {

namespace {

// Progress is summed in integers: sums of doubles depend on their order and do
// not come back to zero. With 2^30 parts a trial, 2^32 trials fit.
constexpr std::int64_t kPartsPerTrial = std::int64_t{1} << 30;

}  // namespace

Operations WholeTrials::start(Random& random) {
  const auto first =
      options_.concurrent_max > 0 ? std::min(options_.trials, options_.concurrent_max) : options_.trials;
  Operations operations;
  operations.reserve(static_cast<std::size_t>(first) * 3);
  for (std::int64_t i = 0; i < first; ++i) create_next(operations, random);
  return operations;
}

Create WholeTrials::next(Random& random) {
  if (state_.again_trials.empty())
    return create_trial(hyperparameters(state_.created_trials++, random), random);
  auto create = std::move(state_.again_trials.front());
  state_.again_trials.pop_front();
  return create;
}

void WholeTrials::create_next(Operations& operations, Random& random) {
  auto create = next(random);
  const auto id = create.request_id;
  created(create);
  operations.emplace_back(std::move(create));
  if (options_.length > 0) {
    operations.emplace_back(ValidateAfter{.request_id = id, .length = options_.length});
    operations.emplace_back(Close{.request_id = id});
  }
  ++state_.pending_trials;
}

void WholeTrials::created(const Create&) {}

Operations WholeTrials::trial_exited_early(const RequestId& trial, ExitedReason reason, Random&) {
  if (options_.replaces_invalid && says_invalid_hyperparameters(reason)) {
    --state_.created_trials;  // so that its close creates the replacement
    state_.invalid_trials.insert(trial);
    forget_progress(trial);
  }
  return {};
}

Operations WholeTrials::trial_closed(const RequestId& trial, Random& random) {
  --state_.pending_trials;
  DET_ASSERT(state_.pending_trials >= 0);
  forget_progress(trial);
  if (state_.invalid_trials.erase(trial) == 0) ++state_.completed_trials;
  Operations operations;
  if (has_room()) create_next(operations, random);
  return operations;
}

Operations WholeTrials::resized(Random& random) {
  Operations operations;
  while (has_room()) create_next(operations, random);
  return operations;
}

/// None of them is new: they were counted as they were created first.
Operations WholeTrials::run_again(std::vector<Again>& trials, Random& random) {
  for (auto& trial : trials) state_.again_trials.push_back(std::move(trial.create));
  state_.completed_trials -= static_cast<std::int64_t>(trials.size());
  DET_ASSERT(state_.completed_trials >= 0);
  trials.clear();
  return WholeTrials::resized(random);
}

/// For one more trial. With a limit that was lowered, those that are too many close first.
bool WholeTrials::has_room() const {
  return (state_.created_trials < options_.trials || !state_.again_trials.empty()) &&
         (options_.concurrent_max == 0 || state_.pending_trials < options_.concurrent_max);
}

std::int64_t WholeTrials::parts_done(double units) const {
  double fraction = options_.length > 0 ? units / static_cast<double>(options_.length) : units;
  if (options_.step > 0) {
    const auto step = static_cast<double>(options_.step);
    const double steps_max = std::ceil(static_cast<double>(options_.length) / step);
    fraction = std::min(std::floor(units / step), steps_max) / (steps_max + 1);
  }
  return static_cast<std::int64_t>(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(kPartsPerTrial));
}

void WholeTrials::trial_progressed(const RequestId& trial, double units) {
  if (state_.invalid_trials.contains(trial)) return;
  const auto parts = parts_done(units);
  auto& known = state_.trial_parts[trial];
  if (parts <= known) return;  // it trains again what a crash has lost
  parts_ += parts - known;
  known = parts;
}

void WholeTrials::forget_progress(const RequestId& trial) {
  const auto it = state_.trial_parts.find(trial);
  if (it == state_.trial_parts.end()) return;
  parts_ -= it->second;
  state_.trial_parts.erase(it);
}

double WholeTrials::progress() const {
  const auto done = state_.completed_trials * kPartsPerTrial + parts_;
  return static_cast<double>(done) / static_cast<double>(options_.trials * kPartsPerTrial);
}

json::value WholeTrials::snapshot() const {
  auto state = state_;
  state.search_method_type = options_.name;
  return json::to_json(state);
}

Result<void> WholeTrials::restore(const json::value& snapshot) {
  DET_TRY(auto state, json::from_json<State>(snapshot));
  if (state.search_method_type != options_.name)
    return invalid_argument("search_method_type is \"{}\"; the configuration says \"{}\"",
                            state.search_method_type, options_.name);
  if (state.created_trials < 0 || state.created_trials > options_.trials)
    return invalid_argument("created_trials is {}; must be from 0 to {}", state.created_trials,
                            options_.trials);
  if (state.pending_trials < 0)
    return invalid_argument("pending_trials is {}; must not be negative", state.pending_trials);
  if (state.completed_trials < 0 || state.completed_trials > state.created_trials)
    return invalid_argument("completed_trials is {}; must be from 0 to created_trials, {}",
                            state.completed_trials, state.created_trials);
  std::int64_t sum = 0;
  for (const auto& [trial, parts] : state.trial_parts) {
    if (parts < 0 || parts > kPartsPerTrial)
      return invalid_argument("trial_parts.{} is {}; must be from 0 to {}", trial, parts, kPartsPerTrial);
    sum += parts;
  }
  state_ = std::move(state);
  parts_ = sum;
  return {};
}

Result<WholeTrials::Options> whole_trials_options(const config::ExperimentConfig& config) {
  const auto& searcher = config.searcher;
  // With `max_time` a trial may be left to decide by itself when it is done.
  const std::int64_t length_min = config.generation == config::Generation::Time ? 0 : 1;
  if (searcher.max_length.count < length_min)
    return invalid_argument("searcher.max_length is {}; it must be at least {}", searcher.max_length.count,
                            length_min);
  if (searcher.max_concurrent_trials < 0)
    return invalid_argument("searcher.max_concurrent_trials is {}; it must not be negative",
                            searcher.max_concurrent_trials);
  if (auto checked = check_samplable(config.hyperparameters, config.generation); !checked)
    return tl::unexpected(std::move(checked).error());
  const bool steps = config.generation == config::Generation::Steps;
  // Until `max_length` came there was no limit but ours.
  const auto wanted =
      steps || searcher.max_concurrent_trials == 0 ? kTrialsAtOnceMax : searcher.max_concurrent_trials;
  WholeTrials::Options options{.name = searcher.name,
                               .trials = 1,
                               .concurrent_max = std::min(wanted, kTrialsAtOnceMax),
                               .length = searcher.max_length.count,
                               .step = steps ? config.scheduling_unit : 0,
                               .replaces_invalid = false};
  return options;
}

}  // namespace det::search
