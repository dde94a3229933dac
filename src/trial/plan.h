#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "det/config/experiment_config.h"

namespace det::trial {

/// What of the configuration decides the order of a trial's work. Periods are in batches, 0: off.
struct LoopConfig {
  config::CheckpointPolicy checkpoint_policy = config::CheckpointPolicy::Best;
  bool smaller_is_better = true;
  bool perform_initial_validation = false;
  std::int64_t min_validation_period = 0;
  std::int64_t min_checkpoint_period = 0;
  std::int64_t scheduling_unit = 100;
};

/// Turns what the searcher counts in (records, epochs) into batches.
struct Units {
  config::Unit unit = config::Unit::Batches;
  std::int64_t global_batch_size = 1;
  std::int64_t records_per_epoch = 0;

  /// How many batches `length` searcher units are, rounded down, at least 1.
  std::int64_t batches(std::int64_t length) const;
};

/// Both fail with a sentence when something is given in records or epochs and
/// what these need (global_batch_size, records_per_epoch) is missing.
Result<LoopConfig> loop_config(const config::ExperimentConfig& config, std::int64_t global_batch_size);
Result<Units> searcher_units(const config::ExperimentConfig& config, std::int64_t global_batch_size);

/// How far a trial is. Saved inside each of its checkpoints, so that a resumed
/// loop goes on exactly where the saved one was.
struct LoopState {
  std::int64_t batches_trained = 0;
  std::int64_t batches_validated = -1;     ///< total at the newest validation, -1: none yet
  std::int64_t batches_checkpointed = -1;  ///< total at the newest checkpoint, -1: none yet
  std::int64_t operations_done = 0;
  std::optional<double> best{};     ///< this trial's best searcher metric; never NaN
  bool validation_is_best = false;  ///< the newest validation's

  void train(std::int64_t batches);  ///< Call after training them.
  /// Call after a validation. It is the best unless this trial or, as far as known, another of its experiment
  /// (`experiment_best`, asked for before this one is reported) did better. A tie is: a trial that goes on
  /// from a checkpoint finds what it reported itself before. NaN never is (docs/decisions/0014).
  void validate(double metric, bool smaller_is_better, std::optional<double> experiment_best = std::nullopt);
  void checkpoint();          ///< Call *before* writing the state into the checkpoint.
  void complete_operation();  ///< Call after the master was told.

  bool validated() const { return batches_validated == batches_trained; }
  bool unsaved() const { return batches_trained > batches_checkpointed && batches_trained > 0; }

  json::object to_json() const;
  static Result<LoopState> from_json(const json::value& saved);

  friend bool operator==(const LoopState&, const LoopState&) = default;
};
BOOST_DESCRIBE_STRUCT(LoopState, (),
                      (batches_trained, batches_validated, batches_checkpointed, operations_done, best,
                       validation_is_best))

struct Train {
  std::int64_t batches = 0;
  friend bool operator==(const Train&, const Train&) = default;
};
struct Validate {
  friend bool operator==(const Validate&, const Validate&) = default;
};
enum class CheckpointReason { Preempt, Stop, Validation, Period, Operation, End };
/// "preempt" and so on: what logs and checkpoints' metadata call it.
const char* name_of(CheckpointReason reason);
struct Checkpoint {
  CheckpointReason reason = CheckpointReason::Operation;
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};
/// Tell the master the metric of the operation that ends at `length`.
struct CompleteOperation {
  std::int64_t length = 0;
  friend bool operator==(const CompleteOperation&, const CompleteOperation&) = default;
};
/// Ask the master for more operations.
struct Wait {
  friend bool operator==(const Wait&, const Wait&) = default;
};
/// End with status 0; when preempted, acknowledge that first.
struct Exit {
  bool preempted = false;
  friend bool operator==(const Exit&, const Exit&) = default;
};
using Action = std::variant<Train, Validate, Checkpoint, CompleteOperation, Wait, Exit>;

/// What the master and the user want of the loop at this moment.
struct Wishes {
  std::span<const std::int64_t>
      lengths;          ///< of all operations, in total batches, completed ones too, ascending
  bool closed = false;  ///< no more operations will come
  bool preempt = false;
  bool stop_requested = false;  ///< by the user's code: finish early and for good
};

/// What a trial does next; the same for every trial type. First match of:
///
///   1. preemption or stop: checkpoint if anything is unsaved, then exit;
///   2. initial validation;
///   3. checkpoint, where the policy wants one after this validation;
///   4. validation, due by min_validation_period;
///   5. checkpoint, due by min_checkpoint_period;
///   6. no operation left: when closed checkpoint if unsaved and exit, else wait;
///   7. the operation's length reached: checkpoint, validate, complete;
///   8. train to the nearest of that length, a period's next multiple, and scheduling_unit batches from here.
///
/// Periods count in multiples from batch 0, not from the last time. So the
/// checkpoint of a preemption moves no later boundary: the interrupted run
/// trains the same chunks and validates at the same places as an undisturbed one.
Action next_action(const LoopConfig& config, const LoopState& state, const Wishes& wishes);

}  // namespace det::trial
