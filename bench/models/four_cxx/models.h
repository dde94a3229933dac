// The four small models of ../four/models.py, in C++.
#pragma once

#include <det/pytorch.h>

namespace four {

namespace nn = torch::nn;
using det::pytorch::TensorDataset;

struct Tiny {
  static constexpr const char* kName = "tiny";
  static constexpr std::int64_t kBatch = 1;
  static constexpr std::int64_t kChunk = 1000;  ///< Batches reported together.
  static nn::Sequential model() { return nn::Sequential(nn::Linear(8, 32), nn::Tanh(), nn::Linear(32, 4)); }
  static TensorDataset data() { return {torch::randn({4096, 8}), torch::randn({4096, 4})}; }
  static at::Tensor loss(const at::Tensor& output, const at::Tensor& target) {
    return torch::mse_loss(output, target);
  }
};

struct Mlp {
  static constexpr const char* kName = "mlp";
  static constexpr std::int64_t kBatch = 64;
  static constexpr std::int64_t kChunk = 100;
  static nn::Sequential model() {
    return nn::Sequential(nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10));
  }
  static TensorDataset data() { return {torch::randn({6400, 784}), torch::randint(0, 10, {6400})}; }
  static at::Tensor loss(const at::Tensor& output, const at::Tensor& target) {
    return torch::cross_entropy_loss(output, target);
  }
};

struct Cnn : Mlp {
  static constexpr const char* kName = "cnn";
  static constexpr std::int64_t kChunk = 5;
  static nn::Sequential model() {
    return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 40, 5)), nn::MaxPool2d(2), nn::ReLU(),
                          nn::Conv2d(nn::Conv2dOptions(40, 40, 5)), nn::MaxPool2d(2), nn::ReLU(),
                          nn::Flatten(), nn::Linear(640, 50), nn::ReLU(), nn::Dropout(0.5),
                          nn::Linear(50, 10));
  }
  static TensorDataset data() { return {torch::randn({2560, 1, 28, 28}), torch::randint(0, 10, {2560})}; }
};

struct LstmNetImpl : nn::Module {
  at::Tensor forward(const at::Tensor& words) {
    return last->forward(std::get<0>(lstm->forward(embedding->forward(words))).select(1, 31));
  }
  nn::Embedding embedding = register_module("embedding", nn::Embedding(1000, 64));
  nn::LSTM lstm = register_module("lstm", nn::LSTM(nn::LSTMOptions(64, 128).batch_first(true)));
  nn::Linear last = register_module("last", nn::Linear(128, 1000));
};
TORCH_MODULE(LstmNet);

struct Lstm : Mlp {
  static constexpr const char* kName = "lstm";
  static constexpr std::int64_t kBatch = 16;
  static constexpr std::int64_t kChunk = 20;
  static LstmNet model() { return {}; }
  static TensorDataset data() { return {torch::randint(0, 1000, {640, 32}), torch::randint(0, 1000, {640})}; }
};

struct Sgd {
  static constexpr const char* kName = "sgd";
  using Optimizer = det::pytorch::SGD;
  static auto options() { return torch::optim::SGDOptions(0.001).momentum(0.9); }
};

struct Adam {
  static constexpr const char* kName = "adam";
  using Optimizer = det::pytorch::Adam;
  static auto options() { return torch::optim::AdamOptions(0.001); }
};

/// A trial of one of the models.
template <typename Model, typename Rule>
class Trial : public det::pytorch::PyTorchTrial<> {
 public:
  explicit Trial(TrialContext& trial_context) : PyTorchTrial(trial_context) {
    model_ = context.wrap_model(Model::model());
    optimizer_ = context.wrap_optimizer(typename Rule::Optimizer(model_->parameters(), Rule::options()));
  }
  DataLoader<> build_training_data_loader() override {
    return DataLoader<>(Model::data(), {.batch_size = Model::kBatch});
  }
  DataLoader<> build_validation_data_loader() override { return build_training_data_loader(); }
  Metrics train_batch(const Batch& batch, std::int64_t, std::int64_t) override {
    const auto loss = Model::loss(model_->forward(batch.data), batch.target);
    context.backward(loss);
    context.step_optimizer(optimizer_);
    return {{"loss", loss}};
  }

 private:
  decltype(Model::model()) model_{nullptr};
  std::shared_ptr<typename Rule::Optimizer> optimizer_;
};

}  // namespace four
