// The twin of model_def.py.
#include <det/pytorch.h>

#include <chrono>
#include <filesystem>
#include <thread>

struct Line {
  torch::data::Example<> get(std::size_t index, at::Generator) const {
    const auto x = torch::full({1}, static_cast<double>(index) / 16);
    return {x, 3 * x};
  }
  std::size_t size() const { return 16; }
};

class Hold final : public det::pytorch::Callback {
 public:
  void on_checkpoint_write_end(const std::filesystem::path& directory) override {
    while (std::filesystem::exists(directory.parent_path() / "hold"))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
};

class HeldTrial final : public det::pytorch::PyTorchTrial<> {
 public:
  explicit HeldTrial(TrialContext& trial_context) : PyTorchTrial(trial_context) {
    model_ = context.wrap_model(torch::nn::Linear(1, 1));
    optimizer_ = context.wrap_optimizer(torch::optim::SGD(model_->parameters(), 0.01));
  }
  det::pytorch::Callbacks build_callbacks() override { return {{"hold", std::make_shared<Hold>()}}; }
  DataLoader<> build_training_data_loader() override { return DataLoader<>(Line(), {.batch_size = 4}); }
  DataLoader<> build_validation_data_loader() override { return DataLoader<>(Line(), {.batch_size = 4}); }

  Metrics train_batch(const Batch& batch, std::int64_t, std::int64_t) override {
    const auto loss = torch::mse_loss(model_->forward(batch.data), batch.target);
    context.backward(loss);
    context.step_optimizer(optimizer_);
    return {{"loss", loss}};
  }
  Metrics evaluate_batch(const Batch& batch) override {
    return {{"validation_loss", torch::mse_loss(model_->forward(batch.data), batch.target)}};
  }

 private:
  torch::nn::Linear model_{nullptr};
  std::shared_ptr<torch::optim::SGD> optimizer_;
};

DET_TRIAL(HeldTrial)
