#pragma once

#include "det/pytorch/engine/collector.h"
#include "det/pytorch/engine/context_parts.h"
#include "det/pytorch/engine/engine.h"
#include "det/pytorch/files/checkpoint_files.h"
#include "det/pytorch/files/stage.h"
#include "det/pytorch/ranks/exchange.h"
#include "det/pytorch/ranks/stacks.h"
#include "det/pytorch/ranks/watch.h"
#include "det/pytorch/trial.h"

namespace det::pytorch {

/// What an engine has; its work is in engine.cpp (start, save, end), engine_train.cpp and
/// engine_validate.cpp.
struct Engine::Parts {
  Parts(Environment environment, Ranks* given)
      : context(std::move(environment), given), own(context.parts()), ranks(given) {}

  template <typename Hook, typename... Arguments>
  void call(Hook hook, Arguments&&... arguments) {
    for (auto& [name, callback] : callbacks) ((*callback).*hook)(arguments...);
  }
  /// Around what computes a batch.
  std::optional<Autocast> precision() const {
    return own.amp ? std::optional<Autocast>(std::in_place, own.device) : std::nullopt;
  }
  bool on_gpu() const { return !own.device.is_cpu(); }

  void train_batches(std::int64_t count, Collector& collector);
  void evaluate_batches(Numbers& metrics);
  std::optional<Numbers> evaluate_whole();
  Dict of_this_rank(const Dict& rest) const;
  Dict own_state();
  void note(const std::string& doing) {
    set_doing(doing);
    if (ranks != nullptr) ranks->watch().note(doing);
  }
  void reset_reducers() {
    for (auto& wrapped : own.reducers) wrapped.reducer->reset();
  }
  void reduce_own(bool training, Numbers& metrics);

  TrialContext context;
  TrialContext::Parts& own;
  Ranks* ranks;
  std::unique_ptr<TrialBase> trial;
  Callbacks callbacks;
  CheckpointFiles files;  ///< Collected and not written yet.
  Stage stage;
  std::int64_t trained = 0;
  std::int64_t workloads = 0;
  std::int64_t records = 0;  ///< Of the newest workload.
  bool started = false;
  bool any_stops = false;
};

}  // namespace det::pytorch
