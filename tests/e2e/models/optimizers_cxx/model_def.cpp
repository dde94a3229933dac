// One small model and many optimizers; ../optimizers is its twin.
#include <det/pytorch.h>

namespace nn = torch::nn;
using det::pytorch::Kernel;

template <typename Optimizer, typename Options>
std::shared_ptr<torch::optim::Optimizer> adam(const std::vector<torch::Tensor>& parameters,
                                              const std::string& more, Kernel kernel) {
  auto options = Options(0.01).betas({0.8, 0.95}).amsgrad(more == "amsgrad");
  if (more == "decay") options.weight_decay(0.03);
  return std::make_shared<Optimizer>(parameters, options, kernel);
}

std::shared_ptr<torch::optim::Optimizer> make(const std::string& name,
                                              const std::vector<torch::Tensor>& parameters) {
  const auto comma = name.find(", ");
  const auto kind = name.substr(0, comma);
  const auto more = comma == std::string::npos ? "" : name.substr(comma + 2);
  const auto kernel = more == "foreach" ? Kernel::FOREACH : more == "fused" ? Kernel::FUSED : Kernel::DEFAULT;
  if (kind == "sgd") {
    auto options = torch::optim::SGDOptions(0.05).momentum(0.9);
    if (more.starts_with("nesterov")) options.nesterov(true).weight_decay(0.01);
    return std::make_shared<det::pytorch::SGD>(parameters, options, kernel);
  }
  if (kind == "adam") return adam<det::pytorch::Adam, torch::optim::AdamOptions>(parameters, more, kernel);
  if (kind == "adamw") return adam<det::pytorch::AdamW, torch::optim::AdamWOptions>(parameters, more, kernel);
  if (kind == "rmsprop")
    return std::make_shared<torch::optim::RMSprop>(parameters,
                                                   torch::optim::RMSpropOptions(0.01).momentum(0.5));
  return std::make_shared<torch::optim::Adagrad>(parameters, torch::optim::AdagradOptions(0.05));
}

class OptimizersTrial final : public det::pytorch::PyTorchTrial<> {
 public:
  explicit OptimizersTrial(TrialContext& trial_context) : PyTorchTrial(trial_context) {
    model_ = context.wrap_model(nn::Sequential{nn::Linear(13, 37), nn::Tanh(), nn::Linear(37, 3)});
    optimizer_ =
        context.wrap_optimizer(make(context.get_hparam<std::string>("optimizer"), model_->parameters()));
    context.wrap_lr_scheduler(det::pytorch::StepLR(*optimizer_, 1, 0.7),
                              det::pytorch::StepMode::STEP_EVERY_EPOCH);
  }
  DataLoader<> build_training_data_loader() override { return data(true); }
  DataLoader<> build_validation_data_loader() override { return data(false); }

  Metrics train_batch(const Batch& batch, std::int64_t, std::int64_t) override {
    const auto loss = torch::cross_entropy_loss(model_->forward(batch.data), batch.target);
    context.backward(loss);
    context.step_optimizer(
        optimizer_, [](const auto& parameters) { torch::nn::utils::clip_grad_norm_(parameters, 0.5); });
    return {{"loss", loss}};
  }
  Metrics evaluate_batch(const Batch& batch) override {
    return {{"validation_loss", torch::cross_entropy_loss(model_->forward(batch.data), batch.target)}};
  }

 private:
  DataLoader<> data(bool shuffle) {
    const auto inputs = torch::arange(60 * 13, torch::kFloat).reshape({60, 13}).sin();
    const auto labels = inputs.sum(1).gt(0).to(torch::kLong) + inputs.select(1, 0).gt(0.5).to(torch::kLong);
    return DataLoader<>(det::pytorch::TensorDataset(inputs, labels),
                        {.batch_size = context.get_per_slot_batch_size(), .shuffle = shuffle});
  }

  nn::Sequential model_{nullptr};
  std::shared_ptr<torch::optim::Optimizer> optimizer_;
};

DET_TRIAL(OptimizersTrial)
