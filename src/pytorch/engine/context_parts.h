#pragma once

#include "det/pytorch/context.h"
#include "det/pytorch/ranks/gradients.h"

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
  Ranks* ranks = nullptr;  ///< Absent in a trial of one process.
  std::vector<std::shared_ptr<torch::nn::Module>> models;
  std::vector<std::shared_ptr<torch::optim::Optimizer>> optimizers;
  std::vector<WrappedScheduler> schedulers;
  std::vector<WrappedReducer> reducers;
  std::int64_t initial_batch = 0;
  std::int64_t batch_index = -1;   ///< -1: none is being trained
  std::int64_t epoch_length = -1;  ///< of this rank; -1: not known yet
  /// Of rank 0: shares differ by a batch, and learning rates changed apart would set weights apart.
  std::int64_t chiefs_epoch_length = -1;
  // Batches to add to the number of a batch, so that its epoch follows from these lengths.
  std::int64_t epoch_ahead = 0, chiefs_epoch_ahead = 0;
  bool stop_requested = false;
  bool amp = false;                    ///< batches run under Autocast
  bool scales = false;                 ///< the runtime scales losses
  std::shared_ptr<GradScaler> scaler;  ///< the runtime's or the trial's
  std::vector<std::unique_ptr<GradientExchange>>
      exchanges;  ///< One for each optimizer, where there are ranks.

  GradientExchange* exchange_of(const torch::optim::Optimizer& optimizer) const {
    for (const auto& exchange : exchanges)
      if (exchange->optimizer() == &optimizer) return exchange.get();
    return nullptr;
  }
  /// Gives every rank the buffers of rank 0's models, such as the statistics of batch normalisation.
  void spread_buffers() {
    if (ranks == nullptr) return;
    std::vector<at::Tensor> buffers;
    for (const auto& model : models)
      for (const auto& buffer : model->buffers()) buffers.push_back(buffer);
    if (!buffers.empty()) ranks->spread(buffers);
  }
};

}  // namespace det::pytorch
