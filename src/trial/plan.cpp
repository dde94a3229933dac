#include "det/trial/plan.h"

#include <algorithm>
#include <cmath>

namespace det::trial {

namespace {

/// `length` as batches; `name` is what the user calls it.
Result<std::int64_t> in_batches(const char* name, const config::Length& length,
                                std::int64_t global_batch_size, std::int64_t records_per_epoch) {
  if (length.count <= 0) return 0;
  const bool epochs = length.unit == config::Unit::Epochs;
  if ((epochs || length.unit == config::Unit::Records) && global_batch_size < 1)
    return invalid_argument(
        "hyperparameters.global_batch_size is {}; it must be at least 1, because {} is in {}",
        global_batch_size, name, epochs ? "epochs" : "records");
  if (epochs && records_per_epoch < 1)
    return invalid_argument("records_per_epoch is {}; it must be at least 1, because {} is in epochs",
                            records_per_epoch, name);
  return std::max<std::int64_t>(1, config::to_batches(length, global_batch_size, records_per_epoch));
}

}  // namespace

std::int64_t Units::batches(std::int64_t length) const {
  const config::Length counted{.unit = unit, .count = length};
  return std::max<std::int64_t>(1, config::to_batches(counted, global_batch_size, records_per_epoch));
}

Result<LoopConfig> loop_config(const config::ExperimentConfig& config, std::int64_t global_batch_size) {
  if (config.scheduling_unit < 1)
    return invalid_argument("scheduling_unit is {}; it must be at least 1", config.scheduling_unit);
  DET_TRY(const auto validation, in_batches("min_validation_period", config.min_validation_period,
                                            global_batch_size, config.records_per_epoch));
  DET_TRY(const auto checkpoint, in_batches("min_checkpoint_period", config.min_checkpoint_period,
                                            global_batch_size, config.records_per_epoch));
  return LoopConfig{
      .checkpoint_policy = config.checkpoint_policy,
      .smaller_is_better = config.searcher.smaller_is_better,
      .perform_initial_validation = config.perform_initial_validation,
      .min_validation_period = validation,
      .min_checkpoint_period = checkpoint,
      .scheduling_unit = config.scheduling_unit,
  };
}

Result<Units> searcher_units(const config::ExperimentConfig& config, std::int64_t global_batch_size) {
  const auto unit = config.searcher.max_length.unit;
  DET_TRY([[maybe_unused]] const auto one, in_batches("searcher.max_length", {.unit = unit, .count = 1},
                                                      global_batch_size, config.records_per_epoch));
  return Units{.unit = unit,
               .global_batch_size = std::max<std::int64_t>(1, global_batch_size),
               .records_per_epoch = config.records_per_epoch};
}

void LoopState::train(std::int64_t batches) {
  batches_trained += batches;
}

void LoopState::validate(double metric, bool smaller_is_better, std::optional<double> experiment_best) {
  const auto beats = [&](const std::optional<double>& other) {
    return other && (smaller_is_better ? *other < metric : *other > metric);
  };
  batches_validated = batches_trained;
  const bool own_best = !std::isnan(metric) && !beats(best);
  validation_is_best = own_best && !beats(experiment_best);
  if (own_best) best = metric;
}

void LoopState::checkpoint() {
  batches_checkpointed = batches_trained;
}

void LoopState::complete_operation() {
  ++operations_done;
}

json::object LoopState::to_json() const {
  auto saved = json::to_json(*this).as_object();
  if (!best) saved["best"] = nullptr;
  return saved;
}

Result<LoopState> LoopState::from_json(const json::value& saved) {
  DET_TRY(const auto state, json::from_json<LoopState>(saved));
  const auto within = [&](std::int64_t batches) { return -1 <= batches && batches <= state.batches_trained; };
  if (state.batches_trained < 0 || !within(state.batches_validated) || !within(state.batches_checkpointed) ||
      state.operations_done < 0)
    return invalid_argument("the saved state of the training loop is inconsistent: {}",
                            json::serialize(saved));
  return state;
}

namespace {

/// Whether a multiple of `period` lies after `last` and not after `now`.
bool period_passed(std::int64_t period, std::int64_t last, std::int64_t now) {
  return period > 0 && now / period > std::max<std::int64_t>(last, 0) / period;
}

std::int64_t to_next_multiple(std::int64_t period, std::int64_t now) {
  return period > 0 ? period - now % period : std::numeric_limits<std::int64_t>::max();
}

bool policy_wants_checkpoint(const LoopConfig& config, const LoopState& state) {
  switch (config.checkpoint_policy) {
    case config::CheckpointPolicy::All: return state.validated();
    case config::CheckpointPolicy::Best: return state.validated() && state.validation_is_best;
    case config::CheckpointPolicy::None: return false;
  }
  return false;
}

}  // namespace

const char* name_of(CheckpointReason reason) {
  switch (reason) {
    case CheckpointReason::Preempt: return "preempt";
    case CheckpointReason::Stop: return "stop";
    case CheckpointReason::Validation: return "validation";
    case CheckpointReason::Period: return "period";
    case CheckpointReason::Operation: return "operation";
    case CheckpointReason::End: return "end";
  }
  return "";
}

Action next_action(const LoopConfig& config, const LoopState& state, const Wishes& wishes) {
  const auto now = state.batches_trained;

  if (wishes.preempt || wishes.stop_requested) {
    if (!state.unsaved()) return Exit{.preempted = wishes.preempt};
    return Checkpoint{wishes.preempt ? CheckpointReason::Preempt : CheckpointReason::Stop};
  }
  if (config.perform_initial_validation && now == 0 && !state.validated()) return Validate{};
  if (state.unsaved() && policy_wants_checkpoint(config, state))
    return Checkpoint{CheckpointReason::Validation};
  if (!state.validated() && period_passed(config.min_validation_period, state.batches_validated, now))
    return Validate{};
  if (state.unsaved() && period_passed(config.min_checkpoint_period, state.batches_checkpointed, now))
    return Checkpoint{CheckpointReason::Period};

  if (std::cmp_greater_equal(state.operations_done, wishes.lengths.size())) {
    if (!wishes.closed) return Wait{};
    if (state.unsaved()) return Checkpoint{CheckpointReason::End};
    return Exit{};
  }
  const auto length = wishes.lengths[static_cast<std::size_t>(state.operations_done)];
  if (now >= length) {
    if (state.unsaved()) return Checkpoint{CheckpointReason::Operation};
    if (!state.validated()) return Validate{};
    return CompleteOperation{length};
  }
  return Train{std::min({length - now, std::max<std::int64_t>(1, config.scheduling_unit),
                         to_next_multiple(config.min_validation_period, now),
                         to_next_multiple(config.min_checkpoint_period, now)})};
}

}  // namespace det::trial
