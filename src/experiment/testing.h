#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "det/experiment/experiment.h"

/// What the tests of this module share.
namespace det::experiment {

inline constexpr const char* kSingle = "searcher: {name: single, metric: loss, max_length: {batches: 200}}\n";
inline constexpr const char* kRandom =
    "searcher: {name: random, metric: loss, max_trials: 3, max_concurrent_trials: 1, max_length: {batches: "
    "100}}\n";

/// An experiment, with time and ids, and what it asked for last.
struct Bench {
  explicit Bench(const std::string& text, bool activate = true) : experiment(make(text)) {
    experiment.start(activate, context());
    effects = experiment.take_effects();
  }

  static Experiment make(const std::string& text) {
    const bool has_entrypoint = text.find("entrypoint:") != std::string::npos;
    config::Layers layers;
    layers.master["checkpoint_storage"] = {{"type", "shared_fs"}, {"host_path", "/checkpoints"}};
    layers.user_yaml = text + (has_entrypoint ? "" : "entrypoint: m:T\n") +
                       "max_restarts: 1\nhyperparameters: {global_batch_size: "
                       "8}\nreproducibility: {experiment_seed: 1}\n";
    const auto resolved =
        config::resolve(layers, {.now = {}, .pet_name = "bench", .resource_pools = std::nullopt});
    if (!resolved) throw std::runtime_error(join_errors(resolved.error()).message());
    ExperimentRecord record{.id = ExperimentId{1}};
    record.config = resolved->config.document;
    return *Experiment::create(record, resolved->config);
  }

  Experiment::Context context() { return {.now = Time{++clock}, .next_trial_id = next_trial}; }
  const Trial& trial(int id) { return *experiment.trial(TrialId{id}); }
  template <class T>
  int count() const {
    return static_cast<int>(std::count_if(effects.begin(), effects.end(),
                                          [](const auto& e) { return std::holds_alternative<T>(e); }));
  }
  void end(int id, const Exit& exit) {
    experiment.allocation_ended(TrialId{id}, exit, context());
    effects = experiment.take_effects();
  }
  void complete(int id, std::int64_t batches) {
    ASSERT_TRUE(experiment.operation_completed(TrialId{id}, batches, 0.5, context()));
    effects = experiment.take_effects();
  }

  std::int64_t clock = 0;
  std::int64_t next_trial = 1;
  Experiment experiment;
  std::vector<Effect> effects;
};

inline const Exit kClean{};
inline const Exit kCrash{.kind = Exit::Kind::Failed, .reason = "rank 0 exited with status 1"};
inline const Exit kLost{.kind = Exit::Kind::Infrastructure, .reason = "agent a was lost"};
inline const Exit kPreempted{.kind = Exit::Kind::Clean, .preempted = true, .acknowledged = true};

}  // namespace det::experiment
