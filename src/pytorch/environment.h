#pragma once

#include <cstdint>
#include <string>

#include "det/pytorch/settings.h"

namespace det::pytorch {

/// The facts of a trial's process: whose trial it is, with which values, at which rank. In Python:
/// EnvContext.
struct Environment {
  Settings config;  ///< the experiment's
  Settings hparams;
  Settings data;  ///< the section `data`; empty where there is none
  std::uint64_t trial_seed = 0;
  std::int64_t experiment_id = 1;
  std::int64_t trial_id = 1;
  std::int64_t run = 1;
  bool test_mode = false;  ///< one batch, one validation batch

  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::int64_t local_rank = 0;
  std::int64_t local_size = 1;
  std::int64_t agents = 1;
  std::int64_t cross_rank = 0;  ///< The number of this machine in the trial.

  std::int64_t per_slot_batch_size = 1;
  std::int64_t global_batch_size = 1;  ///< The effective one: what all slots train on together.
  std::int64_t aggregation_frequency = 1;
  bool average_aggregated_gradients = true;
  bool gradient_compression = false;     ///< Gradients travel between slots with 16 bits.
  bool average_training_metrics = true;  ///< Over the slots; else rank 0's are reported.
  int threads = 1;
  bool use_gpu = true;
};

}  // namespace det::pytorch
