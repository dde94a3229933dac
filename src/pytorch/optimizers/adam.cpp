#include <cmath>

#include "det/pytorch/optimizers/optimizer_parts.h"

namespace det::pytorch {

namespace {

/// The options of a group, whichever of the two it is of.
struct AdamRule {
  double lr;
  double beta1;
  double beta2;
  double eps;
  double weight_decay;
  bool amsgrad;
  bool decoupled;  ///< AdamW

  double size(std::int64_t step) const { return lr / (1 - std::pow(beta1, static_cast<double>(step))); }
  double root(std::int64_t step) const {
    return std::pow(1 - std::pow(beta2, static_cast<double>(step)), 0.5);  // as Python's ** computes it
  }
};

template <typename State>
void begin_step(State& state, const at::Tensor& parameter, bool amsgrad) {
  const auto none = [&parameter](at::Tensor& moment) {
    if (!moment.defined()) moment = at::zeros_like(parameter, {}, at::MemoryFormat::Preserve);
  };
  none(state.exp_avg());
  none(state.exp_avg_sq());
  if (amsgrad) none(state.max_exp_avg_sq());
  state.step(state.step() + 1);
}

template <typename State>
void step_each(torch::optim::Optimizer& optimizer, const torch::optim::OptimizerParamGroup& group,
               const AdamRule& rule) {
  for (const auto& whole : group.params()) {
    if (!whole.grad().defined()) continue;
    auto& state = state_of<State>(optimizer, whole);
    begin_step(state, whole, rule.amsgrad);
    const auto parameter = as_real(whole);
    auto gradient = as_real(whole.grad());
    if (rule.weight_decay != 0) {
      if (rule.decoupled)
        parameter.mul_(1 - rule.lr * rule.weight_decay);
      else
        gradient = gradient.add(parameter, rule.weight_decay);
    }
    const auto average = as_real(state.exp_avg());
    at::Tensor denominator;
    {
      const Unrecorded unrecorded;
      auto square = as_real(state.exp_avg_sq());
      average.lerp_(gradient, 1 - rule.beta1);
      square.mul_(rule.beta2).addcmul_(gradient, gradient, 1 - rule.beta2);
      if (rule.amsgrad) {
        auto largest = as_real(state.max_exp_avg_sq());
        square = at::maximum_out(largest, largest, square);
      }
      denominator = square.sqrt().div_(rule.root(state.step())).add_(rule.eps);
    }
    parameter.addcdiv_(average, denominator, -rule.size(state.step()));
  }
}

/// The moments of each parameter, in columns.
struct Moments {
  std::vector<at::Tensor> average;
  std::vector<at::Tensor> square;
  std::vector<at::Tensor> largest;  ///< Empty without amsgrad.
};

template <typename State>
Moments moments_of(const std::vector<State*>& states, bool amsgrad) {
  Moments moments;
  for (auto* state : states) {
    moments.average.push_back(as_real(state->exp_avg()));
    moments.square.push_back(as_real(state->exp_avg_sq()));
    if (amsgrad) moments.largest.push_back(as_real(state->max_exp_avg_sq()));
  }
  return moments;
}

template <typename State>
void step_foreach(const Columns<State>& columns, const AdamRule& rule) {
  const auto moments = moments_of(columns.states, rule.amsgrad);
  auto gradients = columns.gradients;
  if (rule.weight_decay != 0) {
    if (rule.decoupled)
      at::_foreach_mul_(columns.parameters, 1 - rule.lr * rule.weight_decay);
    else
      gradients = at::_foreach_add(gradients, columns.parameters, rule.weight_decay);
  }
  at::_foreach_lerp_(moments.average, gradients, 1 - rule.beta1);
  at::_foreach_mul_(moments.square, rule.beta2);
  at::_foreach_addcmul_(moments.square, gradients, gradients, 1 - rule.beta2);
  if (rule.amsgrad) at::_foreach_maximum_(moments.largest, moments.square);
  const auto denominators = at::_foreach_sqrt(rule.amsgrad ? moments.largest : moments.square);
  std::vector<at::Scalar> roots, sizes;
  for (const auto* state : columns.states) {
    roots.emplace_back(rule.root(state->step()));
    sizes.emplace_back(-rule.size(state->step()));
  }
  at::_foreach_div_(denominators, roots);
  at::_foreach_add_(denominators, rule.eps);
  at::_foreach_addcdiv_(columns.parameters, moments.average, denominators, sizes);
}

template <typename State>
void step_fused(const Columns<State>& columns, const AdamRule& rule) {
  const auto moments = moments_of(columns.states, rule.amsgrad);
  // The kernel reads the number of steps from tensors. Most parameters have made as many as the first.
  std::map<std::int64_t, at::Tensor> known;
  std::vector<at::Tensor> steps;
  for (const auto* state : columns.states) {
    auto& step = known[state->step()];
    if (!step.defined())
      step = at::full({}, static_cast<double>(state->step()),
                      columns.parameters[0].options().dtype(at::kFloat).requires_grad(false));
    steps.push_back(step);
  }
  const auto call = [&](const auto& kernel) {
    kernel(columns.parameters, columns.gradients, moments.average, moments.square, moments.largest, steps,
           rule.lr, rule.beta1, rule.beta2, rule.weight_decay, rule.eps, rule.amsgrad, /*maximize=*/false);
  };
  if (rule.decoupled)
    call([](const auto&... arguments) { at::_fused_adamw_(arguments...); });
  else
    call([](const auto&... arguments) { at::_fused_adam_(arguments...); });
}

template <typename State, typename Options>
void step_all(torch::optim::Optimizer& optimizer, Kernel kernel, bool decoupled) {
  for (const auto& group : optimizer.param_groups()) {
    if (any_sparse(group))
      throw UsageError(
          "a parameter of an Adam optimizer has a sparse gradient; use sparse(false) in its embedding");
    const auto& o = static_cast<const Options&>(group.options());
    const AdamRule rule{.lr = o.lr(),
                        .beta1 = std::get<0>(o.betas()),
                        .beta2 = std::get<1>(o.betas()),
                        .eps = o.eps(),
                        .weight_decay = o.weight_decay(),
                        .amsgrad = o.amsgrad(),
                        .decoupled = decoupled};
    const auto way = chosen(kernel, group);
    if (way == Kernel::EACH) {
      step_each<State>(optimizer, group, rule);
      continue;
    }
    for (const auto& parameter : group.params())
      if (parameter.grad().defined())
        begin_step(state_of<State>(optimizer, parameter), parameter, rule.amsgrad);
    for (const auto& [kind, columns] : columns_of<State>(optimizer, group))
      way == Kernel::FUSED ? step_fused(columns, rule) : step_foreach(columns, rule);
  }
}

}  // namespace

at::Tensor Adam::step(LossClosure closure) {
  const at::NoGradGuard no_grad;
  auto loss = loss_of(closure);
  step_all<torch::optim::AdamParamState, torch::optim::AdamOptions>(*this, kernel(), false);
  return loss;
}

at::Tensor AdamW::step(LossClosure closure) {
  const at::NoGradGuard no_grad;
  auto loss = loss_of(closure);
  step_all<torch::optim::AdamWParamState, torch::optim::AdamWOptions>(*this, kernel(), true);
  return loss;
}

}  // namespace det::pytorch
