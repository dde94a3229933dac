// A tiny model in which every kind of chance matters: shuffling, augmentation, dropout, draws of its own.
#include <det/pytorch.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

struct Augmented {
  torch::data::Example<> get(std::size_t index, at::Generator generator) const {
    const auto row = static_cast<std::int64_t>(index);
    return {inputs[row] + 0.1 * torch::randn({6}, generator, torch::kFloat), targets[row]};
  }
  std::size_t size() const { return static_cast<std::size_t>(inputs.size(0)); }
  torch::Tensor inputs;
  torch::Tensor targets;
};

struct SaysGoodbye final : det::pytorch::Callback {
  void on_trial_shutdown() override { std::puts("goodbye"); }
};

class NoisyTrial final : public det::pytorch::PyTorchTrial<> {
 public:
  explicit NoisyTrial(TrialContext& trial_context) : PyTorchTrial(trial_context) {
    namespace nn = torch::nn;
    pause_ = std::chrono::duration<double>(context.get_hparam<double>("seconds_per_batch"));
    model_ = context.wrap_model(nn::Sequential{nn::Linear(6, 12), nn::BatchNorm1d(12), nn::Tanh(),
                                               nn::Dropout(0.2), nn::Linear(12, 3)});
    optimizer_ =
        context.wrap_optimizer(torch::optim::Adam(model_->parameters(), torch::optim::AdamOptions(0.01)));
    context.wrap_lr_scheduler(det::pytorch::StepLR(*optimizer_, 2, 0.9),
                              det::pytorch::StepMode::STEP_EVERY_EPOCH);
  }
  DataLoader<> build_training_data_loader() override { return load(100, true, 2); }
  DataLoader<> build_validation_data_loader() override { return load(40, false, 0); }
  det::pytorch::Callbacks build_callbacks() override {
    return {{"goodbye", std::make_shared<SaysGoodbye>()}};
  }

  Metrics train_batch(const Batch& batch, std::int64_t, std::int64_t batch_idx) override {
    const auto loss = torch::cross_entropy_loss(model_->forward(batch.data), batch.target);
    context.backward(loss);
    context.step_optimizer(
        optimizer_, [](const auto& parameters) { torch::nn::utils::clip_grad_norm_(parameters, 1.0); });
    if (batch_idx == 13) go_wrong();
    std::printf("line %d batch %lld\n", lines_++, static_cast<long long>(batch_idx));
    std::this_thread::sleep_for(pause_);
    return {{"loss", loss}, {"draw", torch::rand({}).item<double>()}};
  }
  Metrics evaluate_batch(const Batch& batch) override {
    return {{"validation_loss", torch::cross_entropy_loss(model_->forward(batch.data), batch.target)},
            {"draw", torch::rand({}).item<double>()}};
  }

 private:
  static void go_wrong() {
    const char* set = std::getenv("GOES_WRONG");
    const std::string how = set == nullptr ? "" : set;
    if (how == "throws") throw std::runtime_error("record 17 is broken");
    if (how == "crashes") ::raise(SIGSEGV);
    if (how == "exits") std::exit(0);
  }
  DataLoader<> load(std::int64_t records, bool shuffle, int workers) {
    const auto inputs = torch::arange(records * 6, torch::kFloat).reshape({records, 6}).sin();
    return DataLoader<>(
        Augmented{inputs, inputs.sum(1).gt(0).to(torch::kLong)},
        {.batch_size = context.get_per_slot_batch_size(), .shuffle = shuffle, .workers = workers});
  }

  std::chrono::duration<double> pause_{};
  int lines_ = 0;
  torch::nn::Sequential model_{nullptr};
  std::shared_ptr<torch::optim::Adam> optimizer_;
};

DET_TRIAL(NoisyTrial)
