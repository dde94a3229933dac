// The tutorial's CNN on Fashion-MNIST, in C++: the same model, data and numbers as examples/mnist_pytorch.
//
//     det experiment create examples/mnist_pytorch_cpp/const.yaml examples/mnist_pytorch_cpp
//
// After 2000 batches the validation error is about 0.18.
#include <det/pytorch.h>

#include "idx.h"

namespace nn = torch::nn;

/// The share of wrong predictions.
double error_rate(const torch::Tensor& output, const torch::Tensor& labels) {
  const auto matches = output.argmax(1).eq(labels).sum().item<std::int64_t>();
  return 1.0 - static_cast<double>(matches) / static_cast<double>(output.size(0));
}

class MnistTrial final : public det::pytorch::PyTorchTrial<> {
 public:
  explicit MnistTrial(TrialContext& trial_context) : PyTorchTrial(trial_context) {
    const auto filters1 = context.get_hparam<int>("n_filters1");
    const auto filters2 = context.get_hparam<int>("n_filters2");
    // Braces: the order of arguments in parentheses, and so of initial values, would be the compiler's
    // choice. Dropout of a matrix is what Python's Dropout2d does to it; LibTorch's Dropout2d takes a matrix
    // for one picture.
    model_ = context.wrap_model(nn::Sequential{
        nn::Conv2d(nn::Conv2dOptions(1, filters1, 5)), nn::MaxPool2d(2), nn::ReLU(),
        nn::Conv2d(nn::Conv2dOptions(filters1, filters2, 5)), nn::MaxPool2d(2), nn::ReLU(), nn::Flatten(),
        nn::Linear(16 * filters2, 50), nn::ReLU(), nn::Dropout(context.get_hparam<double>("dropout")),
        nn::Linear(50, 10), nn::LogSoftmax(1)});
    det::pytorch::reset_parameters(*model_);
    optimizer_ = context.wrap_optimizer(det::pytorch::SGD(
        model_->parameters(),
        torch::optim::SGDOptions(context.get_hparam<double>("learning_rate")).momentum(0.9)));
  }

  DataLoader<> build_training_data_loader() override { return load("train"); }
  DataLoader<> build_validation_data_loader() override { return load("t10k"); }

  Metrics train_batch(const Batch& batch, std::int64_t, std::int64_t) override {
    const auto output = model_->forward(batch.data);
    const auto loss = torch::nll_loss(output, batch.target);
    context.backward(loss);
    context.step_optimizer(optimizer_);
    return {{"loss", loss}, {"train_error", error_rate(output, batch.target)}};
  }

  Metrics evaluate_batch(const Batch& batch) override {
    return {{"validation_error", error_rate(model_->forward(batch.data), batch.target)}};
  }

 private:
  DataLoader<> load(const std::string& part) {
    auto [images, labels] = read_idx(context.get_data_config().get<std::string>("directory"), part);
    return DataLoader<>(det::pytorch::TensorDataset(images, labels),
                        {.batch_size = context.get_per_slot_batch_size()});
  }

  nn::Sequential model_{nullptr};
  std::shared_ptr<det::pytorch::SGD> optimizer_;
};

DET_TRIAL(MnistTrial)
