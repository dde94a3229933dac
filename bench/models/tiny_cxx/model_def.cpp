// ../tiny in C++: a trial with almost no work of its own.
#include <det/pytorch.h>

class TinyTrial final : public det::pytorch::PyTorchTrial<> {
 public:
  explicit TinyTrial(TrialContext& trial_context) : PyTorchTrial(trial_context) {
    model_ = context.wrap_model(torch::nn::Linear(8, 2));
    optimizer_ =
        context.wrap_optimizer(det::pytorch::SGD(model_->parameters(), torch::optim::SGDOptions(0.1)));
  }

  DataLoader<> build_training_data_loader() override { return records(); }
  DataLoader<> build_validation_data_loader() override { return records(); }

  Metrics train_batch(const Batch& batch, std::int64_t, std::int64_t) override {
    const auto loss = torch::cross_entropy_loss(model_->forward(batch.data), batch.target);
    context.backward(loss);
    context.step_optimizer(optimizer_);
    return {{"loss", loss}};
  }
  Metrics evaluate_batch(const Batch& batch) override {
    return {{"validation_loss", torch::cross_entropy_loss(model_->forward(batch.data), batch.target)}};
  }

 private:
  static DataLoader<> records() {
    return DataLoader<>(det::pytorch::TensorDataset(torch::ones({16, 8}), torch::zeros({16}, torch::kLong)),
                        {.batch_size = 4});
  }

  torch::nn::Linear model_{nullptr};
  std::shared_ptr<det::pytorch::SGD> optimizer_;
};

DET_TRIAL(TinyTrial)
