#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "det/pytorch/callback.h"
#include "det/pytorch/context.h"
#include "det/pytorch/data_feed.h"
#include "det/pytorch/device.h"
#include "det/pytorch/metrics.h"
#include "det/pytorch/reducer.h"
#include "det/pytorch/trial_classes.h"

namespace det::pytorch {

/// What the runtime calls of a trial. Derive from PyTorchTrial, not from this.
class DET_PYTORCH_API TrialBase {
 public:
  virtual ~TrialBase() = default;

  /// How the metrics of validation batches become those of a validation.
  virtual Reducers evaluation_reducer() { return Reducer::AVG; }
  /// Hooks, by name.
  virtual Callbacks build_callbacks() { return {}; }

 private:
  friend class Engine;
  virtual std::int64_t open_training(Share share) = 0;  ///< Batches of this rank in one epoch.
  virtual void open_validation(Share share) = 0;
  /// At this rank's batch `batch`, where a run was that had `saved`.
  virtual void start_training(std::int64_t batch, const std::optional<SequencePosition>& saved) = 0;
  virtual const DataOrder& training_order() const = 0;
  virtual void close_training() = 0;
  virtual Metrics train_next(std::int64_t epoch, std::int64_t batch) = 0;
  virtual void start_validation(bool whole) = 0;  ///< This rank's share, or the whole set.
  virtual std::optional<Metrics> validate_whole() = 0;
  virtual std::optional<Metrics> validate_next(std::int64_t batch) = 0;  ///< Nothing after the last.
  virtual std::int64_t training_records() const = 0;    ///< That this rank took since training was opened.
  virtual std::int64_t validation_records() const = 0;  ///< The same since `start_validation`.
};

/// A trial in C++: derive from it, and say how to build data, how to train a batch and how to evaluate one.
///
///     class MnistTrial final : public det::pytorch::PyTorchTrial<> {
///      public:
///       explicit MnistTrial(det::pytorch::TrialContext& context);   // wraps models and optimizers
///       DataLoader<> build_training_data_loader() override;
///       DataLoader<> build_validation_data_loader() override;
///       Metrics train_batch(const Batch& batch, std::int64_t epoch_idx, std::int64_t batch_idx) override;
///       Metrics evaluate_batch(const Batch& batch) override;
///     };
///     DET_TRIAL(MnistTrial)
///
/// The loop, the reports, the checkpoints, pauses and restarts are the platform's. `Batch` is what the data
/// loaders give: by default `torch::data::Example<>`, with `data` and `target`.
template <typename BatchType = torch::data::Example<>>
class PyTorchTrial : public TrialBase {
 public:
  using Batch = BatchType;
  template <typename B = BatchType>
  using DataLoader = det::pytorch::DataLoader<B>;
  using Metrics = det::pytorch::Metrics;
  using TrialContext = det::pytorch::TrialContext;

  explicit PyTorchTrial(TrialContext& trial_context) : context(trial_context) {}

  virtual DataLoader<Batch> build_training_data_loader() = 0;
  virtual DataLoader<Batch> build_validation_data_loader() = 0;

  /// Trains on one batch: forward, `context.backward(loss)`, `context.step_optimizer(optimizer)`. `batch_idx`
  /// counts this slot's batches since the start of training. Models are in training mode.
  virtual Metrics train_batch(const Batch& batch, std::int64_t epoch_idx, std::int64_t batch_idx) = 0;

  /// The metrics of one validation batch; reduced by `evaluation_reducer`. Gradients are off, models in
  /// evaluation mode; random numbers drawn here leave training as it is.
  virtual Metrics evaluate_batch(const Batch& /*batch*/) {
    throw UsageError("the trial must override evaluate_batch or evaluate_full_dataset");
  }
  /// The metrics of the whole validation set. Override it in place of `evaluate_batch`. `next` gives one
  /// batch after the other, then nothing. On several slots rank 0 alone evaluates.
  using NextBatch = std::function<std::optional<Batch>()>;
  virtual std::optional<Metrics> evaluate_full_dataset(const NextBatch& /*next*/) { return std::nullopt; }

 protected:
  TrialContext& context;

 private:
  std::int64_t open_training(Share share) override {
    training_ = std::make_unique<DataFeed<Batch>>(build_training_data_loader(), share);
    return training_->rank_batches();
  }
  void open_validation(Share share) override {
    validation_loader_.emplace(build_validation_data_loader());
    validation_share_ = share;
    start_validation(false);
  }
  void start_training(std::int64_t batch, const std::optional<SequencePosition>& saved) override {
    training_->begin(batch, saved);
  }
  const DataOrder& training_order() const override { return training_->order(); }
  void close_training() override { training_.reset(); }
  Metrics train_next(std::int64_t epoch, std::int64_t batch_idx) override {
    auto batch = training_->next();
    if (!context.device().is_cpu()) to_device(batch, context.device());
    return train_batch(batch, epoch, batch_idx);
  }
  void start_validation(bool whole) override {
    auto share = validation_share_;
    if (whole) share.replicas = 1, share.rank = 0;
    validation_.reset();
    validation_ = std::make_unique<DataFeed<Batch>>(*validation_loader_, share);
  }
  std::optional<Batch> next_validation_batch() {
    if (validation_->finished()) return std::nullopt;
    std::optional<Batch> batch = validation_->next();
    if (!context.device().is_cpu()) to_device(*batch, context.device());
    return batch;
  }
  std::optional<Metrics> validate_whole() override {
    return evaluate_full_dataset([this] { return next_validation_batch(); });
  }
  std::optional<Metrics> validate_next(std::int64_t) override {
    auto batch = next_validation_batch();
    if (!batch) return std::nullopt;
    return evaluate_batch(*batch);
  }

  std::int64_t training_records() const override { return training_ ? training_->records() : 0; }
  std::int64_t validation_records() const override { return validation_ ? validation_->records() : 0; }

  std::unique_ptr<DataFeed<Batch>> training_;
  std::optional<DataLoader<Batch>> validation_loader_;
  Share validation_share_;
  std::unique_ptr<DataFeed<Batch>> validation_;
};

/// Makes a trial class known by its name. DET_TRIAL does it.
class DET_PYTORCH_API Registration {
 public:
  Registration(const char* name, MakeTrial make);
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  const char* name_;
};

}  // namespace det::pytorch

#define DET_TRIAL_CONCAT_(a, b) a##b
#define DET_TRIAL_CONCAT(a, b) DET_TRIAL_CONCAT_(a, b)
/// Ends a model definition: makes `Class` a trial that the configuration can name (`entrypoint:
/// model_def.cpp:Class`). In a namespace, write the qualified name; the entry point then is its last part.
#define DET_TRIAL(Class)                                                                                \
  static const ::det::pytorch::Registration DET_TRIAL_CONCAT(det_trial_registration_, __LINE__)(        \
      #Class, [](::det::pytorch::TrialContext& context) -> std::unique_ptr<::det::pytorch::TrialBase> { \
        return std::make_unique<Class>(context);                                                        \
      });
