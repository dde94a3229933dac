#include "det/trial/plan.h"

#include <fmt/format.h>

#include "runtime.h"

namespace det::python {

using trial::LoopConfig;
using trial::LoopState;

namespace {

/// (kind, batches, reason, length, preempted): the fields of all kinds, as the Python contract has them.
struct ToPython {
  PyObject* operator()(const trial::Train& train) const { return action("train", train.batches); }
  PyObject* operator()(const trial::Validate&) const { return action("validate"); }
  PyObject* operator()(const trial::Checkpoint& checkpoint) const {
    return action("checkpoint", 0, name_of(checkpoint.reason));
  }
  PyObject* operator()(const trial::CompleteOperation& operation) const {
    return action("complete_operation", 0, "", operation.length);
  }
  PyObject* operator()(const trial::Wait&) const { return action("wait"); }
  PyObject* operator()(const trial::Exit& exit) const { return action("exit", 0, "", 0, exit.preempted); }

 private:
  static PyObject* action(const char* kind, std::int64_t batches = 0, const char* reason = "",
                          std::int64_t length = 0, bool preempted = false) {
    return tuple_of(kind, batches, reason, length, preempted);
  }
};

config::CheckpointPolicy policy_from(const std::string& name) {
  if (name == "best") return config::CheckpointPolicy::Best;
  if (name == "all") return config::CheckpointPolicy::All;
  if (name == "none") return config::CheckpointPolicy::None;
  throw_value_error("checkpoint_policy is \"" + name + "\"; must be best, all or none");
}

/// Six arguments, in the order of LoopConfig in determined/_runtime.py.
LoopConfig config_from(Arguments& arguments) {
  const auto at_least = [&](const char* name, std::int64_t least) {
    const auto value = arguments.integer();
    if (value < least) throw_value_error(fmt::format("{} is {}; must be at least {}", name, value, least));
    return value;
  };
  LoopConfig config;
  config.scheduling_unit = at_least("scheduling_unit", 1);
  config.min_validation_period = at_least("min_validation_period", 0);
  config.min_checkpoint_period = at_least("min_checkpoint_period", 0);
  config.checkpoint_policy = policy_from(arguments.text());
  config.perform_initial_validation = arguments.truth();
  config.smaller_is_better = arguments.truth();
  return config;
}

/// Six arguments, in the order of LoopState.
LoopState state_from(Arguments& arguments) {
  LoopState state;
  state.batches_trained = arguments.integer();
  state.batches_validated = arguments.integer();
  state.batches_checkpointed = arguments.integer();
  state.operations_done = arguments.integer();
  state.best = arguments.optional_number();
  state.validation_is_best = arguments.truth();
  return state;
}

void check_config(Arguments& arguments) {
  config_from(arguments);
}

void check_state(Arguments& arguments) {
  unwrap(LoopState::from_json(state_from(arguments).to_json()));
}

/// What `validate` makes of a state: its batches_validated, best and validation_is_best.
PyObject* validate(Arguments& arguments) {
  auto state = state_from(arguments);
  const auto metric = arguments.number();
  const auto smaller_is_better = arguments.truth();
  state.validate(metric, smaller_is_better, arguments.optional_number());
  return tuple_of(state.batches_validated, state.best, state.validation_is_best);
}

PyObject* next_action(Arguments& arguments) {
  const auto config = config_from(arguments);
  const auto state = state_from(arguments);
  const auto lengths = arguments.integers();
  const auto closed = arguments.truth(), preempt = arguments.truth(), stop_requested = arguments.truth();
  const trial::Wishes wishes{lengths, closed, preempt, stop_requested};
  return std::visit(ToPython{}, trial::next_action(config, state, wishes));
}

}  // namespace

const std::vector<PyMethodDef> kPlanMethods = {
    {"check_config", call<check_config>, METH_VARARGS, nullptr},
    {"check_state", call<check_state>, METH_VARARGS, nullptr},
    {"validate", call<validate>, METH_VARARGS, nullptr},
    {"next_action", call<next_action>, METH_VARARGS, nullptr},
};

}  // namespace det::python
