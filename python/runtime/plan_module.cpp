#include <pybind11/stl.h>

#include "det/trial/plan.h"
#include "runtime.h"

namespace det::python {

using trial::LoopConfig;
using trial::LoopState;

namespace {

/// An action with the fields of all kinds, as the Python contract has it.
struct PythonAction {
  const char* kind = "";
  std::int64_t batches = 0;
  const char* reason = "";
  std::int64_t length = 0;
  bool preempted = false;
};

struct ToPython {
  PythonAction operator()(const trial::Train& train) const {
    return {.kind = "train", .batches = train.batches};
  }
  PythonAction operator()(const trial::Validate&) const { return {.kind = "validate"}; }
  PythonAction operator()(const trial::Checkpoint& checkpoint) const {
    return {.kind = "checkpoint", .reason = name_of(checkpoint.reason)};
  }
  PythonAction operator()(const trial::CompleteOperation& operation) const {
    return {.kind = "complete_operation", .length = operation.length};
  }
  PythonAction operator()(const trial::Wait&) const { return {.kind = "wait"}; }
  PythonAction operator()(const trial::Exit& exit) const {
    return {.kind = "exit", .preempted = exit.preempted};
  }
};

config::CheckpointPolicy policy_from(const std::string& name) {
  if (name == "best") return config::CheckpointPolicy::Best;
  if (name == "all") return config::CheckpointPolicy::All;
  if (name == "none") return config::CheckpointPolicy::None;
  throw py::value_error("checkpoint_policy is \"" + name + "\"; must be best, all or none");
}

const char* name_of(config::CheckpointPolicy policy) {
  switch (policy) {
    case config::CheckpointPolicy::Best: return "best";
    case config::CheckpointPolicy::All: return "all";
    case config::CheckpointPolicy::None: return "none";
  }
  return "";
}

void at_least(const char* name, std::int64_t value, std::int64_t least) {
  if (value < least) throw py::value_error(fmt::format("{} is {}; must be at least {}", name, value, least));
}

LoopConfig make_config(std::int64_t scheduling_unit, std::int64_t min_validation_period,
                       std::int64_t min_checkpoint_period, const std::string& checkpoint_policy,
                       bool perform_initial_validation, bool smaller_is_better) {
  at_least("scheduling_unit", scheduling_unit, 1);
  at_least("min_validation_period", min_validation_period, 0);
  at_least("min_checkpoint_period", min_checkpoint_period, 0);
  return {.checkpoint_policy = policy_from(checkpoint_policy),
          .smaller_is_better = smaller_is_better,
          .perform_initial_validation = perform_initial_validation,
          .min_validation_period = min_validation_period,
          .min_checkpoint_period = min_checkpoint_period,
          .scheduling_unit = scheduling_unit};
}

py::dict to_dict(const LoopState& state) {
  py::dict values;
  values["batches_trained"] = state.batches_trained;
  values["batches_validated"] = state.batches_validated;
  values["batches_checkpointed"] = state.batches_checkpointed;
  values["operations_done"] = state.operations_done;
  values["best"] = state.best;
  values["validation_is_best"] = state.validation_is_best;
  return values;
}

/// A best metric of any kind that survives a JSON file: a number, None, or "NaN".
std::optional<double> best_from(const py::handle& value) {
  if (value.is_none()) return std::nullopt;
  if (py::isinstance<py::str>(value)) return json::to_double(json::value(value.cast<std::string>()));
  return value.cast<double>();
}

LoopState from_dict(const py::dict& values) {
  LoopState state;
  const auto integer = [&](const char* name, std::int64_t& member) {
    if (values.contains(name)) member = values[name].cast<std::int64_t>();
  };
  integer("batches_trained", state.batches_trained);
  integer("batches_validated", state.batches_validated);
  integer("batches_checkpointed", state.batches_checkpointed);
  integer("operations_done", state.operations_done);
  if (values.contains("best")) state.best = best_from(values["best"]);
  if (values.contains("validation_is_best"))
    state.validation_is_best = values["validation_is_best"].cast<bool>();
  return unwrap(LoopState::from_json(state.to_json()));  // checks that it adds up
}

PythonAction next_action(const LoopConfig& config, const LoopState& state,
                         const std::vector<std::int64_t>& lengths, bool closed, bool preempt,
                         bool stop_requested) {
  const trial::Wishes wishes{lengths, closed, preempt, stop_requested};
  return std::visit(ToPython{}, trial::next_action(config, state, wishes));
}

}  // namespace

void bind_plan(py::module_& module) {
  py::class_<LoopConfig>(module, "LoopConfig",
                         "What of the configuration decides the order of a trial's work.")
      .def(py::init(&make_config), py::kw_only(), py::arg("scheduling_unit") = 100,
           py::arg("min_validation_period") = 0, py::arg("min_checkpoint_period") = 0,
           py::arg("checkpoint_policy") = "best", py::arg("perform_initial_validation") = false,
           py::arg("smaller_is_better") = true)
      .def_readonly("scheduling_unit", &LoopConfig::scheduling_unit)
      .def_readonly("min_validation_period", &LoopConfig::min_validation_period)
      .def_readonly("min_checkpoint_period", &LoopConfig::min_checkpoint_period)
      .def_property_readonly("checkpoint_policy",
                             [](const LoopConfig& c) { return name_of(c.checkpoint_policy); })
      .def_readonly("perform_initial_validation", &LoopConfig::perform_initial_validation)
      .def_readonly("smaller_is_better", &LoopConfig::smaller_is_better);

  const LoopState fresh;
  py::class_<LoopState>(module, "LoopState", "How far a trial is; saved in each of its checkpoints.")
      .def(py::init([](std::int64_t trained, std::int64_t validated, std::int64_t checkpointed,
                       std::int64_t done, std::optional<double> best, bool is_best) {
             return LoopState{trained, validated, checkpointed, done, best, is_best};
           }),
           py::kw_only(), py::arg("batches_trained") = fresh.batches_trained,
           py::arg("batches_validated") = fresh.batches_validated,
           py::arg("batches_checkpointed") = fresh.batches_checkpointed,
           py::arg("operations_done") = fresh.operations_done, py::arg("best") = py::none(),
           py::arg("validation_is_best") = fresh.validation_is_best)
      .def_readwrite("batches_trained", &LoopState::batches_trained)
      .def_readwrite("batches_validated", &LoopState::batches_validated)
      .def_readwrite("batches_checkpointed", &LoopState::batches_checkpointed)
      .def_readwrite("operations_done", &LoopState::operations_done)
      .def_readwrite("best", &LoopState::best)
      .def_readwrite("validation_is_best", &LoopState::validation_is_best)
      .def("validate", &LoopState::validate, py::arg("metric"), py::arg("smaller_is_better"),
           py::arg("experiment_best") = py::none())
      .def("to_dict", &to_dict)
      .def_static("from_dict", &from_dict, py::arg("values"))
      .def("__eq__", [](const LoopState& a, const LoopState& b) { return a == b; })
      .def("__repr__",
           [](const LoopState& state) { return "LoopState(" + json::serialize(state.to_json()) + ")"; });

  py::class_<PythonAction>(module, "Action", "What to do next.")
      .def_readonly("kind", &PythonAction::kind)
      .def_readonly("batches", &PythonAction::batches)
      .def_readonly("reason", &PythonAction::reason)
      .def_readonly("length", &PythonAction::length)
      .def_readonly("preempted", &PythonAction::preempted)
      .def("__repr__", [](const PythonAction& action) {
        return fmt::format("Action(kind={:?}, batches={}, reason={:?}, length={}, preempted={})", action.kind,
                           action.batches, action.reason, action.length, action.preempted);
      });

  module.def("next_action", &next_action, py::arg("config"), py::arg("state"), py::arg("lengths"),
             py::arg("closed"), py::arg("preempt"), py::arg("stop_requested"),
             "What a trial does next: see det/trial/plan.h.");
}

}  // namespace det::python
