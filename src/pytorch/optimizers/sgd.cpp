#include "det/pytorch/optimizers/optimizer_parts.h"

namespace det::pytorch {

namespace {

using torch::optim::SGDOptions;
using torch::optim::SGDParamState;

void step_each(SGD& optimizer, const torch::optim::OptimizerParamGroup& group, const SGDOptions& o) {
  for (const auto& parameter : group.params()) {
    if (!parameter.grad().defined()) continue;
    auto gradient = parameter.grad();
    if (o.weight_decay() != 0) gradient = gradient.add(parameter, o.weight_decay());
    if (o.momentum() != 0) {
      const Unrecorded unrecorded;
      auto& buffer = state_of<SGDParamState>(optimizer, parameter).momentum_buffer();
      if (!buffer.defined())
        buffer = gradient.detach().clone();
      else
        buffer.mul_(o.momentum()).add_(gradient, 1 - o.dampening());
      gradient = o.nesterov() ? gradient.add(buffer, o.momentum()) : buffer;
    }
    parameter.add_(gradient, -o.lr());
  }
}

void step_foreach(const Columns<SGDParamState>& columns, const SGDOptions& o) {
  auto gradients = columns.gradients;
  if (o.weight_decay() != 0) gradients = at::_foreach_add(gradients, columns.parameters, o.weight_decay());
  if (o.momentum() != 0) {
    std::vector<at::Tensor> buffers;
    for (const auto* state : columns.states) buffers.push_back(state->momentum_buffer());
    if (std::ranges::all_of(buffers, [](const at::Tensor& buffer) { return buffer.defined(); })) {
      at::_foreach_mul_(buffers, o.momentum());
      at::_foreach_add_(buffers, gradients, 1 - o.dampening());
    } else {
      for (std::size_t i = 0; i < buffers.size(); ++i) {
        if (buffers[i].defined())
          buffers[i].mul_(o.momentum()).add_(gradients[i], 1 - o.dampening());
        else
          columns.states[i]->momentum_buffer(buffers[i] = gradients[i].detach().clone());
      }
    }
    gradients = o.nesterov() ? at::_foreach_add(gradients, buffers, o.momentum()) : buffers;
  }
  at::_foreach_add_(columns.parameters, gradients, -o.lr());
}

/// The kernel has one answer for all to whether this is their first step.
void step_fused(const Columns<SGDParamState>& columns, const SGDOptions& o) {
  for (const bool first : {false, true}) {
    std::vector<at::Tensor> parameters, gradients, buffers;
    for (std::size_t i = 0; i < columns.states.size(); ++i) {
      auto& buffer = columns.states[i]->momentum_buffer();
      if (o.momentum() != 0 && buffer.defined() == first) continue;
      parameters.push_back(columns.parameters[i]);
      gradients.push_back(columns.gradients[i]);
      if (o.momentum() == 0) continue;
      if (first) buffer = at::empty_like(columns.gradients[i]);
      buffers.push_back(buffer);
    }
    if (!parameters.empty())
      at::_fused_sgd_(parameters, gradients, buffers, o.weight_decay(), o.momentum(), o.lr(), o.dampening(),
                      o.nesterov(), /*maximize=*/false, /*is_first_step=*/first && o.momentum() != 0);
    if (o.momentum() == 0) return;
  }
}

}  // namespace

at::Tensor SGD::step(LossClosure closure) {
  const at::NoGradGuard no_grad;
  auto loss = loss_of(closure);
  for (const auto& group : param_groups_) {
    const auto& o = static_cast<const SGDOptions&>(group.options());
    const auto way = any_sparse(group) ? Kernel::EACH : chosen(kernel(), group);
    if (way == Kernel::EACH) {
      step_each(*this, group, o);
      continue;
    }
    for (const auto& [kind, columns] : columns_of<SGDParamState>(*this, group))
      way == Kernel::FUSED ? step_fused(columns, o) : step_foreach(columns, o);
  }
  return loss;
}

}  // namespace det::pytorch
