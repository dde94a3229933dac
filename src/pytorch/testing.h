#pragma once

#include <torch/torch.h>

#include "det/pytorch/engine/engine.h"
#include "det/pytorch/engine/process.h"
#include "det/pytorch/trial.h"

/// For tests: a small trial that touches everything that must survive a pause.
namespace det::pytorch::testing {

inline Environment environment(std::uint64_t seed = 7, std::int64_t aggregation = 1) {
  Environment e;
  e.hparams = Settings::from_json(R"({"global_batch_size":4,"lr":0.05,"sizes":{"hidden":5}})",
                                  "hyperparameter", "hyperparameters");
  e.trial_seed = seed;
  e.per_slot_batch_size = e.global_batch_size = 4;
  e.aggregation_frequency = aggregation;
  e.use_gpu = false;
  return e;
}

/// Counts; its count is saved.
class Counting final : public Callback {
 public:
  void on_training_epoch_start(std::int64_t epoch) override { last_epoch = epoch; }
  void on_training_epoch_end(std::int64_t) override { ++epochs; }
  Value state_dict() override {
    Dict state;
    state["epochs"] = epochs;
    return state;
  }
  void load_state_dict(const Value& state) override { epochs = state.dict().at("epochs").integer(); }

  std::int64_t epochs = 0;
  std::int64_t last_epoch = -1;
};

/// Shuffled data, dropout, momentum, a learning rate that falls every epoch, random augmentation.
class NoisyTrial : public PyTorchTrial<> {
 public:
  explicit NoisyTrial(TrialContext& trial_context) : PyTorchTrial(trial_context) {
    const auto hidden = context.get_hparam<int>("sizes.hidden");
    model_ = context.wrap_model(torch::nn::Sequential(torch::nn::Linear(3, hidden),
                                                      torch::nn::BatchNorm1d(hidden), torch::nn::ReLU(),
                                                      torch::nn::Dropout(0.3), torch::nn::Linear(hidden, 2)));
    newest = model_;
    optimizer_ = context.wrap_optimizer(torch::optim::SGD(
        model_->parameters(), torch::optim::SGDOptions(context.get_hparam<double>("lr")).momentum(0.9)));
    context.wrap_lr_scheduler(StepLR(*optimizer_, 1, 0.7), StepMode::STEP_EVERY_EPOCH);
  }

  struct Data {
    torch::data::Example<> get(std::size_t index, at::Generator generator) const {
      const auto row = static_cast<std::int64_t>(index);
      return {inputs[row] + 0.1 * torch::randn({3}, generator, torch::kFloat), targets[row]};
    }
    std::size_t size() const { return static_cast<std::size_t>(inputs.size(0)); }
    at::Tensor inputs;
    at::Tensor targets;
  };

  static Data data() {
    const auto inputs = torch::arange(42, torch::kFloat).reshape({14, 3}).sin();
    return {inputs, inputs.sum(1).gt(0).to(torch::kLong)};
  }

  DataLoader<> build_training_data_loader() override {
    return DataLoader<>(data(), {.batch_size = 4, .shuffle = true, .workers = workers});
  }
  DataLoader<> build_validation_data_loader() override { return DataLoader<>(data(), {.batch_size = 4}); }

  Metrics train_batch(const Batch& batch, std::int64_t, std::int64_t) override {
    const auto loss = torch::cross_entropy_loss(model_->forward(batch.data), batch.target);
    context.backward(loss);
    context.step_optimizer(optimizer_);
    return {{"loss", loss}, {"noise", torch::rand({}).item<double>()}};
  }
  Metrics evaluate_batch(const Batch& batch) override {
    torch::rand({3});  // must leave training as it is
    return {{"loss", torch::cross_entropy_loss(model_->forward(batch.data), batch.target)}};
  }
  Callbacks build_callbacks() override { return {{"counting", std::make_shared<Counting>()}}; }

  inline static int workers = 0;
  inline static torch::nn::Sequential newest{nullptr};

 private:
  torch::nn::Sequential model_{nullptr};
  std::shared_ptr<torch::optim::SGD> optimizer_;
};

template <typename Trial>
std::unique_ptr<Engine> engine(Environment e) {
  prepare_process(e);
  return std::make_unique<Engine>(
      [](TrialContext& context) -> std::unique_ptr<TrialBase> { return std::make_unique<Trial>(context); },
      std::move(e));
}

}  // namespace det::pytorch::testing
