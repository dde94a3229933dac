#pragma once

#include <torch/optim/schedulers/lr_scheduler.h>

#include <functional>

#include "det/pytorch/errors.h"

namespace det::pytorch {

/// When a learning rate scheduler steps. The names are those of Python's LRScheduler.StepMode.
enum class StepMode {
  STEP_EVERY_EPOCH,           ///< After every training epoch.
  STEP_EVERY_BATCH,           ///< After every training batch.
  MANUAL_STEP,                ///< Never: the trial calls step() itself.
  STEP_EVERY_OPTIMIZER_STEP,  ///< After every step of the optimizer.
};

/// How often a scheduler steps after the optimizer's update at training batch `batch` (from 0). Every batch
/// and epoch counts once, at the update that closes it; with `frequency` n only every n-th counts.
DET_PYTORCH_API std::int64_t steps_due(StepMode mode, std::int64_t frequency, std::int64_t batch,
                                       std::int64_t aggregation, std::int64_t epoch_length);

/// Multiplies the learning rate by `gamma` every `step_size` steps, as Python's StepLR does. LibTorch's own
/// decays one step later.
class DET_PYTORCH_API StepLR : public torch::optim::LRScheduler {
 public:
  StepLR(torch::optim::Optimizer& optimizer, std::int64_t step_size, double gamma = 0.1);

 protected:
  std::vector<double> get_lrs() override;

 private:
  std::int64_t step_size_;
  double gamma_;
};

/// Learning rate = initial rate × `factor(step)`, with step from 0: warm-up, cosine, anything. In Python:
/// LambdaLR.
class DET_PYTORCH_API LambdaLR : public torch::optim::LRScheduler {
 public:
  LambdaLR(torch::optim::Optimizer& optimizer, std::function<double(std::int64_t)> factor);

 protected:
  std::vector<double> get_lrs() override;

 private:
  std::vector<double> base_lrs_;
  std::function<double(std::int64_t)> factor_;
};

}  // namespace det::pytorch
