#pragma once

#include "det/config/rules/rules.h"
#include "det/experiment/experiment.h"

/// What the files of Experiment share.
namespace det::experiment {

inline std::int64_t global_batch_size(const json::object& hparams) {
  const auto* size = hparams.if_contains("global_batch_size");
  const auto number = size == nullptr ? std::nullopt : json::to_int64(*size);
  return number.value_or(1);
}

inline bool is_script(const json::object& config) {
  return config::entrypoint_kind(config.if_contains("entrypoint")) == config::EntrypointKind::Command;
}

/// A script without searcher.max_length knows itself how long to train: it is asked for "all of it" once.
inline void settle_length(config::ExperimentConfig& config) {
  if (config.searcher.max_length.count == 0 && is_script(config.document))
    config.searcher.max_length.count = 1;
}

inline const char* verb_state(State state) {
  return state == State::Active   ? "active"
         : state == State::Paused ? "paused"
         : is_stopping(state)     ? "stopping"
                                  : "finished";
}

}  // namespace det::experiment
