#include "det/pytorch/graphed_step.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "det/pytorch/engine/context_parts.h"
#include "det/pytorch/gpu/gpu_parts.h"

namespace det::pytorch {

namespace {

constexpr int kWarmBatches = 3;  ///< As torch.cuda.make_graphed_callables does.

}  // namespace

struct GraphedStep::Recording {
  std::unique_ptr<GpuGraph> graph;
  int warmed = 0;
  bool done = false;
  std::vector<at::Tensor> inputs;     ///< What the graph reads.
  at::Tensor loss;                    ///< What it writes.
  std::vector<at::Tensor> gradients;  ///< Of each parameter; undefined where it has none.
};

GraphedStep::GraphedStep(TrialContext& context, std::vector<at::Tensor> parameters, Loss loss)
    : context_(context), parameters_(std::move(parameters)), loss_(std::move(loss)) {}

GraphedStep::~GraphedStep() = default;

bool GraphedStep::may_record() const {
  const auto& parts = context_.parts();
  return parts.device.is_cuda() && gpu_parts() != nullptr && parts.ranks == nullptr && !parts.scaler &&
         parts.environment.aggregation_frequency == 1 &&
         std::ranges::none_of(parameters_, [](const auto& one) { return one.grad().defined(); });
}

bool GraphedStep::fits(const std::vector<at::Tensor>& inputs) const {
  return std::ranges::equal(inputs, recording_->inputs, [](const auto& a, const auto& b) {
    return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() && a.device() == b.device();
  });
}

void GraphedStep::record(const std::vector<at::Tensor>& inputs) {
  auto& r = *recording_;
  for (const auto& input : inputs) r.inputs.push_back(input.clone());
  r.graph->record([&] {
    r.loss = loss_(r.inputs);
    context_.backward(r.loss);
  });
  for (const auto& parameter : parameters_) r.gradients.push_back(parameter.grad());
  r.loss = r.loss.detach();
  r.done = true;
}

at::Tensor GraphedStep::backward(const std::vector<at::Tensor>& inputs) {
  const auto directly = [&] {
    auto loss = loss_(inputs);
    context_.backward(loss);
    return loss;
  };
  if (!may_record()) return directly();
  if (!recording_) recording_ = std::make_unique<Recording>(Recording{.graph = gpu_parts()->graph()});
  auto& r = *recording_;
  if (r.warmed < kWarmBatches) {
    ++r.warmed;
    at::Tensor loss;
    r.graph->warm([&] { loss = directly(); });
    return loss;
  }
  if (!r.done) record(inputs);
  if (!fits(inputs)) return directly();
  for (std::size_t i = 0; i < inputs.size(); ++i) r.inputs[i].copy_(inputs[i]);
  r.graph->replay();
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].mutable_grad() = r.gradients[i];
  return r.loss;
}

}  // namespace det::pytorch
