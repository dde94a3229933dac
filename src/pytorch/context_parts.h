#pragma once

#include "det/pytorch/context.h"

namespace det::pytorch {

struct WrappedScheduler {
  std::shared_ptr<torch::optim::LRScheduler> scheduler;
  StepMode step_mode = StepMode::MANUAL_STEP;
  std::int64_t frequency = 1;
};

struct WrappedReducer {
  std::shared_ptr<MetricReducer> reducer;
  std::string name;
  bool for_training = true;
  bool for_validation = true;
};

/// What a trial registered, and where it is.
struct TrialContext::Parts {
  Environment environment;
  c10::Device device = c10::kCPU;
  std::vector<std::shared_ptr<torch::nn::Module>> models;
  std::vector<std::shared_ptr<torch::optim::Optimizer>> optimizers;
  std::vector<WrappedScheduler> schedulers;
  std::vector<WrappedReducer> reducers;
  std::int64_t initial_batch = 0;
  std::int64_t batch_index = -1;   ///< -1: none is being trained
  std::int64_t epoch_length = -1;  ///< of this rank; -1: not known yet
  bool stop_requested = false;
};

}  // namespace det::pytorch
