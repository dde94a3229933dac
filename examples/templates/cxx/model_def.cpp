// Tells two spirals apart: a small network as a trial in C++.
//
// The platform compiles this file and calls these methods. It moves batches to the right device, trains,
// validates, saves checkpoints and resumes; there is no loop to write.
#include <det/pytorch.h>

#include <numbers>

namespace nn = torch::nn;

/// Replace this by your own data set.
struct Spirals {
  Spirals(std::int64_t count, std::uint64_t seed) {
    auto generator = torch::make_generator<at::CPUGeneratorImpl>(seed);
    labels = torch::arange(count) % 2;
    const auto turn = 3 * std::numbers::pi * torch::rand({count}, generator).sqrt();
    const auto angle = turn + std::numbers::pi * labels;
    points = torch::stack({turn * angle.cos(), turn * angle.sin()}, 1) / 10 +
             0.02 * torch::randn({count, 2}, generator);
  }
  torch::data::Example<> get(std::size_t index) const {
    const auto at = static_cast<std::int64_t>(index);
    return {points[at], labels[at]};
  }
  std::size_t size() const { return static_cast<std::size_t>(labels.size(0)); }

  torch::Tensor points, labels;
};

class SpiralTrial final : public det::pytorch::PyTorchTrial<> {
 public:
  explicit SpiralTrial(TrialContext& trial_context) : PyTorchTrial(trial_context) {
    const auto width = context.get_hparam<int>("width");
    model_ = context.wrap_model(nn::Sequential(nn::Linear(2, width), nn::ReLU(), nn::Linear(width, width),
                                               nn::ReLU(), nn::Linear(width, 2)));
    optimizer_ = context.wrap_optimizer(det::pytorch::Adam(
        model_->parameters(), torch::optim::AdamOptions(context.get_hparam<double>("learning_rate"))));
  }

  DataLoader<> build_training_data_loader() override { return load(4000, 1, true); }
  DataLoader<> build_validation_data_loader() override { return load(1000, 2, false); }

  Metrics train_batch(const Batch& batch, std::int64_t, std::int64_t) override {
    const auto loss = torch::cross_entropy_loss(model_->forward(batch.data), batch.target);
    context.backward(loss);
    context.step_optimizer(optimizer_);
    return {{"loss", loss}};
  }

  Metrics evaluate_batch(const Batch& batch) override {
    const auto scores = model_->forward(batch.data);
    return {{"validation_loss", torch::cross_entropy_loss(scores, batch.target)},
            {"accuracy", (scores.argmax(1) == batch.target).to(torch::kFloat).mean()}};
  }

 private:
  DataLoader<> load(std::int64_t count, std::uint64_t seed, bool shuffle) {
    return DataLoader<>(Spirals(count, seed),
                        {.batch_size = context.get_per_slot_batch_size(), .shuffle = shuffle});
  }

  nn::Sequential model_{nullptr};
  std::shared_ptr<det::pytorch::Adam> optimizer_;
};

DET_TRIAL(SpiralTrial)
