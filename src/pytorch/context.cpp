#include "det/pytorch/context.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/cuda.h>

#include <algorithm>

#include "det/pytorch/engine/context_parts.h"

namespace det::pytorch {

namespace {

c10::Device choose_device(const Environment& environment) {
  if (!environment.use_gpu || !torch::cuda::is_available()) return c10::kCPU;
  return c10::Device(c10::kCUDA,
                     static_cast<c10::DeviceIndex>(environment.size > 1 ? environment.local_rank : 0));
}

}  // namespace

TrialContext::TrialContext(Environment environment, Ranks* ranks) : parts_(std::make_unique<Parts>()) {
  parts_->environment = std::move(environment);
  parts_->ranks = ranks;
  parts_->device = choose_device(parts_->environment);
  // Generators and NCCL mean the current one.
  if (parts_->device.is_cuda()) c10::impl::VirtualGuardImpl(c10::kCUDA).setDevice(parts_->device);
}

TrialContext::~TrialContext() = default;

const Environment& TrialContext::environment() const {
  return parts_->environment;
}

std::int64_t TrialContext::get_initial_batch() const {
  return parts_->initial_batch;
}

void TrialContext::set_stop_requested(bool requested) {
  parts_->stop_requested = requested;
}

bool TrialContext::get_stop_requested() const {
  return parts_->stop_requested;
}

DistributedContext TrialContext::distributed() const {
  const auto& e = parts_->environment;
  return {.rank = e.rank,
          .size = e.size,
          .local_rank = e.local_rank,
          .local_size = e.local_size,
          .agents = e.agents,
          .ranks = parts_->ranks};
}

List DistributedContext::allgather(const Value& value) const {
  if (ranks == nullptr) return {value};
  List values;
  for (const auto& bytes : ranks->allgather(to_bytes(value), "context.distributed().allgather()"))
    values.push_back(from_bytes(bytes));
  return values;
}

List DistributedContext::gather(const Value& value) const {
  if (ranks == nullptr) return {value};
  List values;
  for (const auto& bytes : ranks->gather(to_bytes(value), "context.distributed().gather()"))
    values.push_back(from_bytes(bytes));
  return values;
}

Value DistributedContext::broadcast(const Value& value) const {
  if (ranks == nullptr) return value;
  const auto bytes = ranks->broadcast(is_chief() ? to_bytes(value) : "", "context.distributed().broadcast()");
  return is_chief() ? value : from_bytes(bytes);
}

c10::Device TrialContext::device() const {
  return parts_->device;
}

void TrialContext::register_model(std::shared_ptr<torch::nn::Module> model) {
  if (!model) throw UsageError("wrap_model() got an empty module holder; construct the module first");
  if (!parts_->device.is_cpu()) model->to(parts_->device);
  parts_->models.push_back(std::move(model));
}

void TrialContext::register_optimizer(std::shared_ptr<torch::optim::Optimizer> optimizer) {
  if (!optimizer) throw UsageError("wrap_optimizer() got no optimizer");
  if (parts_->ranks != nullptr)
    parts_->exchanges.push_back(std::make_unique<GradientExchange>(optimizer, *parts_->ranks,
                                                                   parts_->environment.gradient_compression));
  parts_->optimizers.push_back(std::move(optimizer));
}

void TrialContext::register_lr_scheduler(std::shared_ptr<torch::optim::LRScheduler> scheduler,
                                         StepMode step_mode, std::int64_t frequency) {
  if (frequency < 1)
    throw UsageError(c10::str("frequency of wrap_lr_scheduler() is ", frequency, "; it must be at least 1"));
  if (parts_->optimizers.empty())
    throw UsageError(
        "wrap_lr_scheduler() needs a scheduler of a wrapped optimizer; call wrap_optimizer() first");
  parts_->schedulers.push_back({std::move(scheduler), step_mode, frequency});
}

void TrialContext::register_reducer(std::shared_ptr<MetricReducer> reducer, std::string name,
                                    bool for_training, bool for_validation) {
  if (!reducer) throw UsageError("wrap_reducer() got no reducer");
  if (name.empty()) throw UsageError("wrap_reducer() needs the name of the metric");
  parts_->reducers.push_back({std::move(reducer), std::move(name), for_training, for_validation});
}

void TrialContext::use_amp() {
  if (parts_->amp || parts_->scaler)
    throw UsageError("call use_amp() only once, and not together with wrap_scaler()");
  parts_->amp = true;
  parts_->scales = !parts_->device.is_cpu();
  if (parts_->scales) parts_->scaler = std::make_shared<GradScaler>();
}

std::shared_ptr<GradScaler> TrialContext::wrap_scaler(GradScaler scaler) {
  if (parts_->scaler || parts_->amp)
    throw UsageError("call wrap_scaler() only once, and not together with use_amp()");
  parts_->scaler = std::make_shared<GradScaler>(std::move(scaler));
  return parts_->scaler;
}

void TrialContext::backward(const at::Tensor& loss, const at::Tensor& gradient, bool retain_graph,
                            bool create_graph) {
  if (!parts_->amp) {
    loss.backward(gradient, retain_graph, create_graph);
  } else {
    const Autocast off(parts_->device, false);
    (parts_->scales ? parts_->scaler->scale(loss) : loss).backward(gradient, retain_graph, create_graph);
  }
  // Whoever unscales and clips by hand does it before the step.
  if (parts_->scaler && !parts_->scales && is_update_batch())
    for (const auto& exchange : parts_->exchanges) exchange->run();
}

void TrialContext::step_optimizer(torch::optim::Optimizer& optimizer, const ClipGrads& clip_grads,
                                  bool auto_zero_grads) {
  const auto frequency = parts_->environment.aggregation_frequency;
  if (frequency > 1) {
    if (!auto_zero_grads)
      throw UsageError(
          c10::str("step_optimizer() with auto_zero_grads = false; must be true while "
                   "optimizations.aggregation_frequency is ",
                   frequency, ", above 1"));
    if (!is_update_batch()) return;
  }
  auto* exchange = parts_->exchange_of(optimizer);
  if (exchange != nullptr && !exchange->done) exchange->run();
  if (frequency > 1) {
    if (parts_->environment.average_aggregated_gradients) {
      const at::NoGradGuard no_grad;
      for (const auto& group : optimizer.param_groups())
        for (const auto& parameter : group.params())
          if (parameter.grad().defined()) parameter.mutable_grad().div_(static_cast<double>(frequency));
    }
  }
  if (clip_grads) {
    if (parts_->scales) parts_->scaler->unscale(optimizer);
    std::vector<at::Tensor> parameters;
    for (const auto& group : optimizer.param_groups())
      parameters.insert(parameters.end(), group.params().begin(), group.params().end());
    clip_grads(parameters);
  }
  if (parts_->scales)
    parts_->scaler->step(optimizer);
  else
    optimizer.step();
  if (exchange != nullptr) exchange->done = false;
  if (auto_zero_grads) optimizer.zero_grad();
}

bool TrialContext::is_update_batch() const {
  if (parts_->batch_index < 0) return true;
  return (parts_->batch_index + 1) % parts_->environment.aggregation_frequency == 0;
}

std::int64_t TrialContext::current_train_batch() const {
  if (parts_->batch_index < 0)
    throw UsageError("the current batch and epoch are known only during train_batch()");
  return parts_->batch_index;
}

std::int64_t TrialContext::current_train_epoch() const {
  return (current_train_batch() + parts_->epoch_ahead) / parts_->epoch_length;
}

bool TrialContext::is_epoch_start() const {
  return (current_train_batch() + parts_->epoch_ahead) % parts_->epoch_length == 0;
}

bool TrialContext::is_epoch_end() const {
  return (current_train_batch() + parts_->epoch_ahead + 1) % parts_->epoch_length == 0;
}

}  // namespace det::pytorch
