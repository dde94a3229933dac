// A ResNet for pictures of CIFAR's shape (He et al. 2015, section 4.2), on pictures that are made up here:
// coloured stripes whose direction is the class.
//
//     det experiment create examples/resnet_cpp/const.yaml examples/resnet_cpp
//
// After 300 batches the accuracy is above 0.9.
#include <det/pytorch.h>

namespace nn = torch::nn;

/// Two convolutions and a way round them.
struct BlockImpl : nn::Module {
  BlockImpl(int in, int out, int stride)
      : first(register_module("first", convolution(in, out, stride))),
        norm1(register_module("norm1", nn::BatchNorm2d(out))),
        second(register_module("second", convolution(out, out, 1))),
        norm2(register_module("norm2", nn::BatchNorm2d(out))) {
    if (stride != 1 || in != out)
      shortcut =
          register_module("shortcut", nn::Conv2d(nn::Conv2dOptions(in, out, 1).stride(stride).bias(false)));
  }
  static nn::Conv2d convolution(int in, int out, int stride) {
    return nn::Conv2d(nn::Conv2dOptions(in, out, 3).stride(stride).padding(1).bias(false));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const auto inner = norm2(second(torch::relu(norm1(first(x)))));
    return torch::relu(inner + (shortcut.is_empty() ? x : shortcut(x)));
  }

  nn::Conv2d first;
  nn::BatchNorm2d norm1;
  nn::Conv2d second;
  nn::BatchNorm2d norm2;
  nn::Conv2d shortcut{nullptr};
};
TORCH_MODULE(Block);

nn::Sequential resnet(int blocks, int width) {
  nn::Sequential net{BlockImpl::convolution(3, width, 1), nn::BatchNorm2d(width), nn::ReLU()};
  int channels = width;
  for (int stage = 0; stage < 3; ++stage) {
    for (int i = 0; i < blocks; ++i) {
      const int out = width << stage;
      net->push_back(Block(channels, out, stage > 0 && i == 0 ? 2 : 1));
      channels = out;
    }
  }
  net->push_back(nn::AdaptiveAvgPool2d(1));
  net->push_back(nn::Flatten());
  net->push_back(nn::Linear(channels, 10));
  return net;
}

/// Stripes in one of ten directions, in colours and with noise that follow from the batch's generator.
struct Stripes {
  torch::data::Example<> get(std::size_t index, at::Generator generator) const {
    const auto label = static_cast<std::int64_t>(index % 10);
    const double angle = M_PI * static_cast<double>(label) / 10;
    const auto axis = torch::arange(32, torch::kFloat);
    const auto across = axis.unsqueeze(0) * std::cos(angle) + axis.unsqueeze(1) * std::sin(angle);
    const auto colour = torch::rand({3, 1, 1}, generator, torch::kFloat) + 0.5;
    const auto phase = torch::rand({1}, generator, torch::kFloat) * 6.28;
    const auto picture = colour * torch::sin(across * 0.9 + phase).unsqueeze(0);
    return {picture + 0.5 * torch::randn({3, 32, 32}, generator, torch::kFloat), torch::tensor(label)};
  }
  std::size_t size() const { return records; }
  std::size_t records;
};

class ResNetTrial final : public det::pytorch::PyTorchTrial<> {
 public:
  explicit ResNetTrial(TrialContext& trial_context) : PyTorchTrial(trial_context) {
    model_ = context.wrap_model(resnet(context.get_hparam<int>("blocks"), context.get_hparam<int>("width")));
    const auto rate = context.get_hparam<double>("learning_rate");
    optimizer_ = context.wrap_optimizer(det::pytorch::SGD(
        model_->parameters(), torch::optim::SGDOptions(rate).momentum(0.9).weight_decay(1e-4)));
    // Warm-up over 20 batches, then a cosine to zero over the first 1000.
    context.wrap_lr_scheduler(
        det::pytorch::LambdaLR(*optimizer_,
                               [](std::int64_t step) {
                                 const double s = static_cast<double>(step);
                                 return step < 20 ? (s + 1) / 20
                                                  : 0.5 * (1 + std::cos(M_PI * std::min(1.0, s / 1000)));
                               }),
        det::pytorch::StepMode::STEP_EVERY_BATCH);
  }

  DataLoader<> build_training_data_loader() override {
    return load(context.get_data_config().get<std::size_t>("records"), true);
  }
  DataLoader<> build_validation_data_loader() override { return load(320, false); }

  Metrics train_batch(const Batch& batch, std::int64_t, std::int64_t) override {
    const auto loss = torch::cross_entropy_loss(model_->forward(batch.data), batch.target);
    context.backward(loss);
    context.step_optimizer(optimizer_);
    return {{"loss", loss}};
  }
  Metrics evaluate_batch(const Batch& batch) override {
    return {{"accuracy", model_->forward(batch.data).argmax(1).eq(batch.target).to(torch::kFloat).mean()}};
  }

 private:
  DataLoader<> load(std::size_t records, bool shuffle) {
    return DataLoader<>(Stripes{records},
                        {.batch_size = context.get_per_slot_batch_size(), .shuffle = shuffle, .workers = 1});
  }

  nn::Sequential model_{nullptr};
  std::shared_ptr<det::pytorch::SGD> optimizer_;
};

DET_TRIAL(ResNetTrial)
