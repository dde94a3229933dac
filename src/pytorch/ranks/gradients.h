#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <memory>
#include <vector>

#include "det/pytorch/ranks/ranks.h"

namespace det::pytorch {

/// Averages the gradients of one optimizer's parameters over all ranks, just before its step. The counterpart
/// of Python's GradientExchange (docs/decisions/0015), and equal to it to the bit.
///
/// Gradients are packed into buckets whose layout follows from the parameters alone. A bucket leaves while
/// the backward pass still runs when the gradients of all its parameters have come, in an order that all
/// ranks share. What a step finds unsent leaves then: parameters without a gradient (on some rank or on all)
/// and further backward passes are all right. A parameter that got no gradient on any rank keeps none.
class GradientExchange {
 public:
  /// `compress`: values travel with 16 bits.
  GradientExchange(std::shared_ptr<torch::optim::Optimizer> optimizer, Ranks& ranks, bool compress);
  ~GradientExchange();
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  const torch::optim::Optimizer* optimizer() const { return optimizer_.get(); }

  void begin_batch(
      bool update);   ///< Gradients travel early only where the optimizer steps at the batch's end.
  void run();         ///< After this every rank has the mean of all ranks' gradients.
  bool done = false;  ///< Whether the gradients are those of all ranks already.
  std::int64_t runs() const { return runs_; }

  void came(std::size_t bucket, const void* parameter);  ///< For the hooks.

 private:
  struct Bucket;
  std::vector<at::Tensor> current() const;
  void lay_out();
  void forget();
  void send(Bucket& bucket);
  void receive(Bucket& bucket);
  void write_back();

  std::shared_ptr<torch::optim::Optimizer> optimizer_;
  Ranks& ranks_;
  bool compress_;
  std::vector<at::Tensor> known_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::size_t next_ = 0;  ///< The first bucket that has not left.
  bool dirty_ = false;    ///< A gradient came after its bucket had left.
  bool armed_ = false;
  std::int64_t runs_ = 0;
};

/// Gives every rank the parameters and buffers of rank 0. Other models on some rank: UsageError that names
/// it.
void equalise(const std::vector<std::shared_ptr<torch::nn::Module>>& models, Ranks& ranks);

}  // namespace det::pytorch
