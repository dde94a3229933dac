#pragma once

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <map>

#include "det/pytorch/value.h"

namespace det::pytorch {

/// Computes in 16 bits where that is safe, while it lives: put it around a forward pass, not around
/// `backward`. bfloat16 on a CPU, float16 on a GPU.
class DET_PYTORCH_API Autocast {
 public:
  /// With `enabled` false computes as always, also inside of another.
  explicit Autocast(c10::Device device, bool enabled = true);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType type_;
  bool before_;
};

/// Scales losses, so that gradients of 16 bits do not vanish, and skips steps whose gradients overflowed.
/// What torch.amp.GradScaler is in Python, with the same state.
class DET_PYTORCH_API GradScaler {
 public:
  struct Options {
    double init_scale = 65536;
    double growth_factor = 2;
    double backoff_factor = 0.5;
    std::int64_t growth_interval = 2000;
  };
  GradScaler();
  explicit GradScaler(Options options);

  at::Tensor scale(const at::Tensor& loss);
  /// Divides the gradients by the scale, for whoever clips them; `step` does it where it was not done.
  void unscale(torch::optim::Optimizer& optimizer);
  bool step(torch::optim::Optimizer& optimizer);  ///< False: a gradient was no number, nothing was stepped.
  void update();                                  ///< After the steps of a batch: the scale for the next.
  double get_scale() const;

  Dict state_dict() const;
  void load_state_dict(const Dict& state);

 private:
  void place(c10::Device device);

  Options options_;
  at::Tensor scale_;
  at::Tensor growth_tracker_;
  std::map<torch::optim::Optimizer*, at::Tensor>
      found_inf_;  ///< Of those that were unscaled since the last update.
};

}  // namespace det::pytorch
