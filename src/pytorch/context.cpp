#include "det/pytorch/context.h"

#include <ATen/ATen.h>
#include <torch/cuda.h>

#include <algorithm>

#include "det/pytorch/context_parts.h"

namespace det::pytorch {

namespace {

c10::Device choose_device(const Environment& environment) {
  if (!environment.use_gpu || !torch::cuda::is_available()) return c10::kCPU;
  return c10::Device(c10::kCUDA,
                     static_cast<c10::DeviceIndex>(environment.size > 1 ? environment.local_rank : 0));
}

}  // namespace

TrialContext::TrialContext(Environment environment) : parts_(std::make_unique<Parts>()) {
  parts_->environment = std::move(environment);
  parts_->device = choose_device(parts_->environment);
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
          .agents = e.agents};
}

c10::Device TrialContext::device() const {
  return parts_->device;
}

void TrialContext::register_model(std::shared_ptr<torch::nn::Module> model) {
  if (!model) throw UsageError("wrap_model() got an empty module holder");
  if (!parts_->device.is_cpu()) model->to(parts_->device);
  parts_->models.push_back(std::move(model));
}

void TrialContext::register_optimizer(std::shared_ptr<torch::optim::Optimizer> optimizer) {
  if (!optimizer) throw UsageError("wrap_optimizer() got no optimizer");
  parts_->optimizers.push_back(std::move(optimizer));
}

void TrialContext::register_lr_scheduler(std::shared_ptr<torch::optim::LRScheduler> scheduler,
                                         StepMode step_mode, std::int64_t frequency) {
  if (frequency < 1)
    throw UsageError(c10::str("frequency of wrap_lr_scheduler() is ", frequency, "; must be at least 1"));
  if (parts_->optimizers.empty())
    throw UsageError(
        "wrap_lr_scheduler() before wrap_optimizer(): build the scheduler with a wrapped optimizer");
  parts_->schedulers.push_back({std::move(scheduler), step_mode, frequency});
}

void TrialContext::register_reducer(std::shared_ptr<MetricReducer> reducer, std::string name,
                                    bool for_training, bool for_validation) {
  if (!reducer) throw UsageError("wrap_reducer() got no reducer");
  if (name.empty()) throw UsageError("wrap_reducer() needs the name of the metric");
  parts_->reducers.push_back({std::move(reducer), std::move(name), for_training, for_validation});
}

void TrialContext::backward(const at::Tensor& loss, const at::Tensor& gradient, bool retain_graph,
                            bool create_graph) {
  loss.backward(gradient, retain_graph, create_graph);
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
    if (parts_->environment.average_aggregated_gradients) {
      const at::NoGradGuard no_grad;
      for (const auto& group : optimizer.param_groups())
        for (const auto& parameter : group.params())
          if (parameter.grad().defined()) parameter.mutable_grad().div_(static_cast<double>(frequency));
    }
  }
  if (clip_grads) {
    std::vector<at::Tensor> parameters;
    for (const auto& group : optimizer.param_groups())
      parameters.insert(parameters.end(), group.params().begin(), group.params().end());
    clip_grads(parameters);
  }
  optimizer.step();
  if (auto_zero_grads) optimizer.zero_grad();
}

bool TrialContext::is_update_batch() const {
  if (parts_->batch_index < 0) return true;
  return (parts_->batch_index + 1) % parts_->environment.aggregation_frequency == 0;
}

std::int64_t TrialContext::current_train_batch() const {
  if (parts_->batch_index < 0)
    throw UsageError("the context knows the current batch and epoch only while a batch is trained");
  return parts_->batch_index;
}

std::int64_t TrialContext::current_train_epoch() const {
  return current_train_batch() / parts_->epoch_length;
}

bool TrialContext::is_epoch_start() const {
  return current_train_batch() % parts_->epoch_length == 0;
}

bool TrialContext::is_epoch_end() const {
  return (current_train_batch() + 1) % parts_->epoch_length == 0;
}

}  // namespace det::pytorch
