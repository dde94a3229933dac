#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/optim/optimizer.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "det/pytorch/environment.h"
#include "det/pytorch/lr_scheduler.h"
#include "det/pytorch/mixed_precision.h"
#include "det/pytorch/reducer.h"
#include "det/pytorch/value.h"

namespace det::pytorch {

class Ranks;

/// Which of a trial's processes this is, and how to talk with the others. Rank 0 is the chief: it alone
/// reports and saves. One process is rank 0 of 1.
///
/// The calls that exchange values have to be made by every rank, in the same order.
class DET_PYTORCH_API DistributedContext {
 public:
  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::int64_t local_rank = 0;  ///< Counts on this machine.
  std::int64_t local_size = 1;
  std::int64_t agents = 1;
  Ranks* ranks = nullptr;  ///< The runtime's; not for trials.

  std::int64_t get_rank() const { return rank; }
  std::int64_t get_size() const { return size; }
  std::int64_t get_local_rank() const { return local_rank; }
  std::int64_t get_num_agents() const { return agents; }
  bool is_chief() const { return rank == 0; }

  /// One value of each rank, in the order of ranks: numbers, text, tensors, lists and dicts of them.
  List allgather(const Value& value) const;
  /// The same for the chief only; the others get an empty list.
  List gather(const Value& value) const;
  /// The chief's value, on every rank.
  Value broadcast(const Value& value) const;
};

/// What a trial knows and may ask for; given to its constructor and valid as long as the trial. Models,
/// optimizers and schedulers are registered here, so that they are placed, distributed, saved and restored.
///
/// Threads: not safe; for the thread that runs the trial.
class DET_PYTORCH_API TrialContext {
 public:
  /// A trial's process has one; tests and programs without a platform may make their own.
  explicit TrialContext(Environment environment, Ranks* ranks = nullptr);
  ~TrialContext();
  TrialContext(const TrialContext&) = delete;
  TrialContext& operator=(const TrialContext&) = delete;

  /// A hyperparameter of this trial by its dotted name. Missing, of another type, or too large: UsageError.
  template <typename T>
  T get_hparam(const std::string& name) const {
    return environment().hparams.get<T>(name);
  }
  const Settings& get_hparams() const { return environment().hparams; }
  const Settings& get_data_config() const { return environment().data; }
  const Settings& get_experiment_config() const { return environment().config; }
  std::int64_t get_experiment_id() const { return environment().experiment_id; }
  std::int64_t get_trial_id() const { return environment().trial_id; }
  std::uint64_t get_trial_seed() const { return environment().trial_seed; }
  std::int64_t get_global_batch_size() const { return environment().global_batch_size; }
  std::int64_t get_per_slot_batch_size() const { return environment().per_slot_batch_size; }
  /// Batches that were trained before this process started.
  std::int64_t get_initial_batch() const;

  /// Ask the trial to finish early and for good: after the current batches it saves and ends.
  void set_stop_requested(bool requested);
  bool get_stop_requested() const;

  DistributedContext distributed() const;
  /// Where models and batches are: the slot's GPU, or the CPU.
  c10::Device device() const;

  /// Registers a model, moves it to the device and returns it. Any module holder: your own, nn::Sequential, …
  template <typename Impl>
  torch::nn::ModuleHolder<Impl> wrap_model(torch::nn::ModuleHolder<Impl> model) {
    register_model(model.ptr());
    return model;
  }
  template <typename Holder>
    requires std::derived_from<Holder, torch::nn::ModuleHolder<typename Holder::ContainedType>>
  Holder wrap_model(Holder model) {
    register_model(model.ptr());
    return model;
  }
  template <typename Module>
    requires std::derived_from<Module, torch::nn::Module>
  std::shared_ptr<Module> wrap_model(std::shared_ptr<Module> model) {
    register_model(model);
    return model;
  }

  /// Registers an optimizer and returns the one to use. Its parameters are those of wrapped models.
  template <typename Optimizer>
    requires std::derived_from<Optimizer, torch::optim::Optimizer>
  std::shared_ptr<Optimizer> wrap_optimizer(Optimizer optimizer) {
    return wrap_optimizer(std::make_shared<Optimizer>(std::move(optimizer)));
  }
  template <typename Optimizer>
    requires std::derived_from<Optimizer, torch::optim::Optimizer>
  std::shared_ptr<Optimizer> wrap_optimizer(std::shared_ptr<Optimizer> optimizer) {
    register_optimizer(optimizer);
    return optimizer;
  }

  /// Registers a learning rate scheduler and says when it steps; with `frequency` n only every n-th time.
  /// Build it over an optimizer that `wrap_optimizer` returned.
  template <typename Scheduler>
    requires std::derived_from<Scheduler, torch::optim::LRScheduler>
  std::shared_ptr<Scheduler> wrap_lr_scheduler(Scheduler scheduler, StepMode step_mode,
                                               std::int64_t frequency = 1) {
    auto shared = std::make_shared<Scheduler>(std::move(scheduler));
    register_lr_scheduler(shared, step_mode, frequency);
    return shared;
  }

  /// Registers a metric with a rule of its own.
  template <typename R>
    requires std::derived_from<R, MetricReducer>
  std::shared_ptr<R> wrap_reducer(std::shared_ptr<R> reducer, std::string name, bool for_training = true,
                                  bool for_validation = true) {
    register_reducer(reducer, std::move(name), for_training, for_validation);
    return reducer;
  }

  /// Trains in mixed precision from now on: `train_batch` and `evaluate_batch` run under Autocast, and on a
  /// GPU losses are scaled. Call it in the constructor, once; excludes `wrap_scaler`.
  void use_amp();
  /// Registers a scaler, so that it is saved and restored. The trial scales, unscales, steps and updates.
  std::shared_ptr<GradScaler> wrap_scaler(GradScaler scaler = GradScaler());

  /// Computes gradients, as `loss.backward()` does.
  void backward(const at::Tensor& loss, const at::Tensor& gradient = {}, bool retain_graph = false,
                bool create_graph = false);

  /// Gets all parameters of the optimizer just before its step: `torch::nn::utils::clip_grad_norm_(p, 1.0)`.
  using ClipGrads = std::function<void(const std::vector<at::Tensor>& parameters)>;
  /// Steps an optimizer and clears its gradients. With `optimizations.aggregation_frequency` k it acts on
  /// every k-th batch only, with the mean of the gradients (or their sum, `average_aggregated_gradients:
  /// false`).
  void step_optimizer(torch::optim::Optimizer& optimizer, const ClipGrads& clip_grads = {},
                      bool auto_zero_grads = true);
  template <typename Optimizer>
  void step_optimizer(const std::shared_ptr<Optimizer>& optimizer, const ClipGrads& clip_grads = {},
                      bool auto_zero_grads = true) {
    step_optimizer(*optimizer, clip_grads, auto_zero_grads);
  }
  /// Whether optimizers step at the current batch.
  bool is_update_batch() const;

  // While a batch is trained; else UsageError.
  bool is_epoch_start() const;
  bool is_epoch_end() const;
  std::int64_t current_train_epoch() const;
  std::int64_t current_train_batch() const;

  /// What the runtime keeps here; not for trials.
  struct Parts;
  Parts& parts() { return *parts_; }
  const Environment& environment() const;

 private:
  void register_model(std::shared_ptr<torch::nn::Module> model);
  void register_optimizer(std::shared_ptr<torch::optim::Optimizer> optimizer);
  void register_lr_scheduler(std::shared_ptr<torch::optim::LRScheduler> scheduler, StepMode step_mode,
                             std::int64_t frequency);
  void register_reducer(std::shared_ptr<MetricReducer> reducer, std::string name, bool for_training,
                        bool for_validation);

  std::unique_ptr<Parts> parts_;
};

/// Draws new initial values for every part of a model, as Python's reset_parameters does: what LibTorch's own
/// modules have for that.
DET_PYTORCH_API void reset_parameters(torch::nn::Module& model);

}  // namespace det::pytorch
