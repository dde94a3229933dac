#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

#include "det/pytorch/context.h"

namespace det::pytorch {

/// Forward and backward pass of a batch as one CUDA graph. A small model on a GPU spends its time on starting
/// kernels; a graph starts all of them at once. On a CPU, with several slots, with mixed precision's scaler
/// and while gradients are aggregated it computes directly: the results are the same.
///
///     GraphedStep step_{context, model_->parameters(), [this](const auto& inputs) {
///       return torch::mse_loss(model_->forward(inputs[0]), inputs[1]);
///     }};
///     …
///     const auto loss = step_.backward({batch.data, batch.target});
///     context.step_optimizer(optimizer_);
class DET_PYTORCH_API GraphedStep {
 public:
  /// Gives the loss. It may not read values of tensors (`item()`), and does the same for every batch.
  using Loss = std::function<at::Tensor(const std::vector<at::Tensor>& inputs)>;

  GraphedStep(TrialContext& context, std::vector<at::Tensor> parameters, Loss loss);
  ~GraphedStep();
  GraphedStep(const GraphedStep&) = delete;
  GraphedStep& operator=(const GraphedStep&) = delete;

  /// What `context.backward(loss(inputs))` does; the loss. A batch of another shape, such as the last one of
  /// an epoch, is computed directly.
  at::Tensor backward(const std::vector<at::Tensor>& inputs);

 private:
  struct Recording;
  bool may_record() const;
  bool fits(const std::vector<at::Tensor>& inputs) const;
  void record(const std::vector<at::Tensor>& inputs);

  TrialContext& context_;
  std::vector<at::Tensor> parameters_;
  Loss loss_;
  std::unique_ptr<Recording> recording_;
};

}  // namespace det::pytorch
