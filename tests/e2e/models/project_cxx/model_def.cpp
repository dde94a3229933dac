// A model definition of several files, which CMake builds, too.
#include <det/pytorch.h>

#include "wave.h"

namespace nn = torch::nn;

class WavesTrial final : public det::pytorch::PyTorchTrial<> {
 public:
  explicit WavesTrial(TrialContext& trial_context) : PyTorchTrial(trial_context) {
    model_ = context.wrap_model(nn::Sequential{nn::Linear(1, 8), nn::Tanh(), nn::Linear(8, 1)});
    optimizer_ = context.wrap_optimizer(det::pytorch::Adam(model_->parameters(), 0.01));
  }
  DataLoader<> build_training_data_loader() override { return points(64); }
  DataLoader<> build_validation_data_loader() override { return points(16); }
  Metrics train_batch(const Batch& batch, std::int64_t, std::int64_t) override;
  Metrics evaluate_batch(const Batch& batch) override;

 private:
  DataLoader<> points(std::int64_t count) {
    const auto x = torch::linspace(-1, 1, count).unsqueeze(1);
    auto y = torch::empty_like(x);
    for (std::int64_t i = 0; i < count; ++i) y[i] = wave(x[i].item<double>());
    return DataLoader<>(det::pytorch::TensorDataset(x, y),
                        {.batch_size = context.get_per_slot_batch_size(), .shuffle = true});
  }

  nn::Sequential model_{nullptr};
  std::shared_ptr<det::pytorch::Adam> optimizer_;
};

det::pytorch::Metrics WavesTrial::train_batch(const Batch& batch, std::int64_t, std::int64_t) {
  const auto loss = torch::mse_loss(model_->forward(batch.data), batch.target);
  context.backward(loss);
  context.step_optimizer(optimizer_);
  return {{"loss", loss}};
}

det::pytorch::Metrics WavesTrial::evaluate_batch(const Batch& batch) {
  return {{"validation_loss", torch::mse_loss(model_->forward(batch.data), batch.target)}};
}

DET_TRIAL(WavesTrial)
