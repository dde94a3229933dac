#include "det/pytorch/mixed_precision.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

namespace det::pytorch {

Autocast::Autocast(c10::Device device, bool enabled)
    : type_(device.type()), before_(at::autocast::is_autocast_enabled(type_)) {
  at::autocast::increment_nesting();
  at::autocast::set_autocast_enabled(type_, enabled);
}

Autocast::~Autocast() {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(type_, before_);
}

GradScaler::GradScaler() : GradScaler(Options()) {}
GradScaler::GradScaler(Options options) : options_(options) {
  if (!(options_.init_scale > 0) || !(options_.growth_factor > 1) || !(options_.backoff_factor < 1) ||
      options_.growth_interval < 1)
    throw UsageError(
        "GradScaler needs init_scale above 0, growth_factor above 1, backoff_factor below 1, and "
        "growth_interval of at least 1");
}

void GradScaler::place(c10::Device device) {
  if (!scale_.defined()) {
    scale_ = at::full({}, options_.init_scale, at::kFloat);
    growth_tracker_ = at::zeros({}, at::kInt);
  }
  scale_ = scale_.to(device);
  growth_tracker_ = growth_tracker_.to(device);
}

at::Tensor GradScaler::scale(const at::Tensor& loss) {
  place(loss.device());
  return loss * scale_.to(loss.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
}

void GradScaler::unscale(torch::optim::Optimizer& optimizer) {
  if (!scale_.defined()) throw UsageError("GradScaler: call scale() before unscale() and step()");
  if (found_inf_.contains(&optimizer)) return;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const auto& group : optimizer.param_groups())
    for (const auto& parameter : group.params())
      if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  auto found = at::zeros({}, scale_.options());
  if (!gradients.empty())
    at::_amp_foreach_non_finite_check_and_unscale_(gradients, found,
                                                   scale_.to(at::kDouble).reciprocal().to(at::kFloat));
  found_inf_[&optimizer] = found;
}

bool GradScaler::step(torch::optim::Optimizer& optimizer) {
  unscale(optimizer);
  if (found_inf_.at(&optimizer).item<float>() != 0) return false;
  optimizer.step();
  return true;
}

void GradScaler::update() {
  if (found_inf_.empty()) return;
  auto any = at::zeros({}, scale_.options());
  for (const auto& [optimizer, found] : found_inf_) any += found;
  at::_amp_update_scale_(scale_, growth_tracker_, any, options_.growth_factor, options_.backoff_factor,
                         options_.growth_interval);
  found_inf_.clear();
}

double GradScaler::get_scale() const {
  return scale_.defined() ? scale_.item<double>() : options_.init_scale;
}

Dict GradScaler::state_dict() const {
  Dict state;
  state["scale"] = get_scale();
  state["growth_factor"] = options_.growth_factor;
  state["backoff_factor"] = options_.backoff_factor;
  state["growth_interval"] = options_.growth_interval;
  state["_growth_tracker"] =
      growth_tracker_.defined() ? growth_tracker_.item<std::int64_t>() : std::int64_t{0};
  return state;
}

void GradScaler::load_state_dict(const Dict& state) {
  options_ = {.init_scale = state.at("scale").number(),
              .growth_factor = state.at("growth_factor").number(),
              .backoff_factor = state.at("backoff_factor").number(),
              .growth_interval = state.at("growth_interval").integer()};
  scale_ = at::full({}, options_.init_scale, at::kFloat);
  growth_tracker_ = at::full({}, state.at("_growth_tracker").integer(), at::kInt);
}

}  // namespace det::pytorch
