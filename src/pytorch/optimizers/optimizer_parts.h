#pragma once

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "det/pytorch/errors.h"
#include "det/pytorch/optimizers.h"

/// What the steps of all optimizers need.
namespace det::pytorch {

/// What only the optimizer sees needs no record of its versions, which autograd keeps for its checks.
using Unrecorded = at::AutoDispatchBelowADInplaceOrView;

inline at::Tensor loss_of(const torch::optim::Optimizer::LossClosure& closure) {
  if (!closure) return {};
  const at::AutoGradMode enabled(true);
  return closure();
}

inline Kernel chosen(Kernel kernel, const torch::optim::OptimizerParamGroup& group) {
  if (kernel != Kernel::DEFAULT) return kernel;
  for (const auto& parameter : group.params())
    if (!parameter.is_cuda()) return Kernel::EACH;
  return Kernel::FOREACH;
}

template <typename State>
State& state_of(torch::optim::Optimizer& optimizer, const at::Tensor& parameter) {
  auto& state = optimizer.state()[parameter.unsafeGetTensorImpl()];
  if (!state) state = std::make_unique<State>();
  return static_cast<State&>(*state);
}

/// Complex numbers are stepped as pairs of real ones.
inline at::Tensor as_real(const at::Tensor& tensor) {
  return tensor.is_complex() ? at::view_as_real(tensor) : tensor;
}

inline bool any_sparse(const torch::optim::OptimizerParamGroup& group) {
  return std::ranges::any_of(group.params(), [](const at::Tensor& parameter) {
    return parameter.grad().defined() && parameter.grad().is_sparse();
  });
}

/// Parameters of one device and type with all that belongs to them, in the columns that ATen's kernels take.
template <typename State>
struct Columns {
  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> gradients;
  std::vector<State*> states;
};

template <typename State>
auto columns_of(torch::optim::Optimizer& optimizer, const torch::optim::OptimizerParamGroup& group) {
  std::map<std::pair<std::string, c10::ScalarType>, Columns<State>> found;
  for (const auto& parameter : group.params()) {
    if (!parameter.grad().defined()) continue;
    auto& columns = found[{parameter.device().str(), parameter.scalar_type()}];
    columns.parameters.push_back(as_real(parameter));
    columns.gradients.push_back(as_real(parameter.grad()));
    columns.states.push_back(&state_of<State>(optimizer, parameter));
  }
  return found;
}

}  // namespace det::pytorch
