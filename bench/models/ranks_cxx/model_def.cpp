// The trial of ../ranks in C++.
#include <det/pytorch.h>

#include <chrono>
#include <fstream>

namespace nn = torch::nn;

/// Writes the time per batch, between two batches, to a file.
class Clock {
 public:
  explicit Clock(const det::pytorch::Settings& data)
      : file_(data.get<std::string>("times")),
        first_(data.get<std::int64_t>("first")),
        last_(data.get<std::int64_t>("last")) {}

  void batch(std::int64_t index) {
    const auto now = std::chrono::steady_clock::now();
    if (index == first_) start_ = now;
    if (index == last_)
      std::ofstream(file_) << std::chrono::duration<double>(now - start_).count() /
                                  static_cast<double>(last_ - first_);
  }

 private:
  std::string file_;
  std::int64_t first_;
  std::int64_t last_;
  std::chrono::steady_clock::time_point start_;
};

class RanksTrial final : public det::pytorch::PyTorchTrial<> {
 public:
  explicit RanksTrial(TrialContext& trial_context)
      : PyTorchTrial(trial_context), clock_(context.get_data_config()) {
    model_ = context.wrap_model(nn::Sequential{
        nn::Conv2d(nn::Conv2dOptions(1, 40, 5)), nn::MaxPool2d(2), nn::ReLU(),
        nn::Conv2d(nn::Conv2dOptions(40, 40, 5)), nn::MaxPool2d(2), nn::ReLU(), nn::Flatten(),
        nn::Linear(640, 50), nn::ReLU(), nn::Dropout(0.5), nn::Linear(50, 10), nn::LogSoftmax(1)});
    optimizer_ = context.wrap_optimizer(
        torch::optim::SGD(model_->parameters(), torch::optim::SGDOptions(0.001).momentum(0.9)));
  }

  DataLoader<> build_training_data_loader() override {
    return DataLoader<>(data(2560), {.batch_size = context.get_per_slot_batch_size()});
  }
  DataLoader<> build_validation_data_loader() override { return DataLoader<>(data(64), {.batch_size = 32}); }

  Metrics train_batch(const Batch& batch, std::int64_t, std::int64_t batch_idx) override {
    if (context.distributed().is_chief()) clock_.batch(batch_idx);
    const auto output = model_->forward(batch.data);
    const auto loss = torch::nll_loss(output, batch.target);
    context.backward(loss);
    context.step_optimizer(optimizer_);
    return {{"loss", loss}, {"error", error(output, batch.target)}};
  }
  Metrics evaluate_batch(const Batch& batch) override {
    return {{"validation_error", error(model_->forward(batch.data), batch.target)}};
  }

 private:
  static double error(const torch::Tensor& output, const torch::Tensor& labels) {
    const auto right = output.argmax(1).eq(labels).sum().item<std::int64_t>();
    return 1.0 - static_cast<double>(right) / static_cast<double>(labels.size(0));
  }
  static det::pytorch::TensorDataset data(std::int64_t records) {
    auto generator = at::detail::createCPUGenerator(0);
    return {torch::randn({records, 1, 28, 28}, generator, torch::kFloat),
            torch::randint(0, 10, {records}, generator, torch::kLong)};
  }

  Clock clock_;
  nn::Sequential model_{nullptr};
  std::shared_ptr<torch::optim::SGD> optimizer_;
};

DET_TRIAL(RanksTrial)
