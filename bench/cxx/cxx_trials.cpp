// How fast is a trial in C++, and how far from a bare loop over the same model? `cxx_trials.py` asks the same
// of Python.
//
// Prints a line for each model: its name, batches a second of processor time of the trial's loop, of the bare
// loop, and their ratio. The two take turns; each figure is the best of all rounds. Usage: cxx_trials
// [seconds per round] [rounds]
#include <malloc.h>
#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "det/pytorch/engine.h"
#include "det/pytorch/trial.h"

namespace det::pytorch {
namespace {

namespace nn = torch::nn;

/// Processor time: what else runs on the machine does not count.
double seconds_used() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

struct Tiny {
  static constexpr const char* kName = "tiny";
  static constexpr std::int64_t kBatch = 1;
  static constexpr std::int64_t kChunk = 1000;  ///< Batches that are reported together.
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

template <typename Model>
struct Training {
  decltype(Model::model()) model = Model::model();
  torch::optim::SGD optimizer{model->parameters(), torch::optim::SGDOptions(0.001).momentum(0.9)};
};

template <typename Model>
class BenchTrial final : public PyTorchTrial<> {
 public:
  explicit BenchTrial(TrialContext& trial_context) : PyTorchTrial(trial_context) {
    model_ = context.wrap_model(Model::model());
    optimizer_ = context.wrap_optimizer(
        torch::optim::SGD(model_->parameters(), torch::optim::SGDOptions(0.001).momentum(0.9)));
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
  std::shared_ptr<torch::optim::SGD> optimizer_;
};

/// The same work with nothing around it, and the loss of every batch kept.
template <typename Model>
class BareLoop {
 public:
  void train(std::int64_t batches) {
    for (std::int64_t i = 0; i < batches; ++i) {
      for (std::size_t j = 0; j < rows_.size(); ++j) rows_[j] = at_ + j;
      at_ = at_ + 2 * rows_.size() > data_.size() ? 0 : at_ + rows_.size();
      const auto batch = data_.get_batch(rows_);
      const auto loss = Model::loss(training_.model->forward(batch.data), batch.target);
      loss.backward();
      training_.optimizer.step();
      training_.optimizer.zero_grad();
      losses_.push_back(*loss.template const_data_ptr<float>());
    }
    losses_.clear();
  }

 private:
  Training<Model> training_;
  TensorDataset data_ = Model::data();
  Indices rows_ = Indices(static_cast<std::size_t>(Model::kBatch));
  std::size_t at_ = 0;
  std::vector<double> losses_;
};

template <typename Loop>
double batches_per_second(Loop& loop, std::int64_t chunk, double seconds) {
  const auto began = seconds_used();
  std::int64_t done = 0;
  double passed = 0;
  while (passed < seconds) {
    loop.train(chunk);
    done += chunk;
    passed = seconds_used() - began;
  }
  return static_cast<double>(done) / passed;
}

template <typename Model>
void measure(double seconds, int rounds) {
  Environment environment;
  environment.trial_seed = 1;
  environment.use_gpu = false;
  Engine::prepare_process(environment);
  Engine engine(
      [](TrialContext& c) -> std::unique_ptr<TrialBase> { return std::make_unique<BenchTrial<Model>>(c); },
      environment);
  engine.start({}, "", false);
  BareLoop<Model> bare;
  const auto chunk = Model::kChunk;
  engine.train(chunk);
  bare.train(chunk);
  double ours = 0;
  double theirs = 0;
  for (int i = 0; i < rounds; ++i) {
    ours = std::max(ours, batches_per_second(engine, chunk, seconds));
    theirs = std::max(theirs, batches_per_second(bare, chunk, seconds));
  }
  std::printf("%s %.1f %.1f %.4f\n", Model::kName, ours, theirs, ours / theirs);
  std::fflush(stdout);
}

}  // namespace
}  // namespace det::pytorch

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.5;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  det::pytorch::measure<det::pytorch::Tiny>(seconds, rounds);
  det::pytorch::measure<det::pytorch::Mlp>(seconds, rounds);
  det::pytorch::measure<det::pytorch::Cnn>(seconds, rounds);
  det::pytorch::measure<det::pytorch::Lstm>(seconds, rounds);
  return 0;
}
