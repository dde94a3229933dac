// A language model over characters: an LSTM that learns the text it is given, by default its own source.
//
//     det experiment create examples/lstm_cpp/const.yaml examples/lstm_cpp
//
// From 7 bits a character to about 3 in 600 batches.
#include <det/pytorch.h>

#include <fstream>

namespace nn = torch::nn;

constexpr int kCharacters = 128;

struct ModelImpl : nn::Module {
  explicit ModelImpl(int hidden)
      : embedding(register_module("embedding", nn::Embedding(kCharacters, 16))),
        lstm(register_module("lstm", nn::LSTM(nn::LSTMOptions(16, hidden).batch_first(true)))),
        head(register_module("head", nn::Linear(hidden, kCharacters))) {}
  /// [n, length] characters to [n, length, kCharacters].
  torch::Tensor forward(const torch::Tensor& text) { return head(std::get<0>(lstm(embedding(text)))); }

  nn::Embedding embedding;
  nn::LSTM lstm;
  nn::Linear head;
};
TORCH_MODULE(Model);

/// Every stretch of `length` characters, and the same one character on.
struct Stretches {
  torch::data::Example<> get(std::size_t index) const {
    const auto at = static_cast<std::int64_t>(index);
    return {text.narrow(0, at, length), text.narrow(0, at + 1, length)};
  }
  std::size_t size() const { return static_cast<std::size_t>(text.size(0) - length); }
  torch::Tensor text;
  std::int64_t length;
};

class CharacterTrial final : public det::pytorch::PyTorchTrial<> {
 public:
  explicit CharacterTrial(TrialContext& trial_context) : PyTorchTrial(trial_context) {
    model_ = context.wrap_model(Model(context.get_hparam<int>("hidden")));
    optimizer_ = context.wrap_optimizer(det::pytorch::Adam(
        model_->parameters(), torch::optim::AdamOptions(context.get_hparam<double>("learning_rate"))));
    const auto name = context.get_data_config().get<std::string>("text");
    std::ifstream file(name);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.size() < 1000) throw det::pytorch::InvalidHP(name + " has fewer than 1000 characters");
    text_ = torch::empty({static_cast<std::int64_t>(text.size())}, torch::kLong);
    for (std::size_t i = 0; i < text.size(); ++i)
      text_[static_cast<std::int64_t>(i)] = static_cast<unsigned char>(text[i]) % kCharacters;
  }

  DataLoader<> build_training_data_loader() override { return load(0, text_.size(0) * 9 / 10, true); }
  DataLoader<> build_validation_data_loader() override {
    return load(text_.size(0) * 9 / 10, text_.size(0), false);
  }

  Metrics train_batch(const Batch& batch, std::int64_t, std::int64_t) override {
    const auto loss = loss_of(batch);
    context.backward(loss);
    context.step_optimizer(optimizer_, [this](const auto& parameters) {
      nn::utils::clip_grad_norm_(parameters, context.get_hparam<double>("clip"));
    });
    return {{"loss", loss}};
  }
  Metrics evaluate_batch(const Batch& batch) override {
    return {{"bits_per_character", loss_of(batch) / std::log(2.0)}};
  }

 private:
  DataLoader<> load(std::int64_t from, std::int64_t to, bool shuffle) {
    return DataLoader<>(Stretches{text_.slice(0, from, to), context.get_hparam<std::int64_t>("length")},
                        {.batch_size = context.get_per_slot_batch_size(), .shuffle = shuffle});
  }
  torch::Tensor loss_of(const Batch& batch) {
    return torch::cross_entropy_loss(model_->forward(batch.data).flatten(0, 1), batch.target.flatten());
  }

  Model model_{nullptr};
  std::shared_ptr<det::pytorch::Adam> optimizer_;
  torch::Tensor text_;
};

DET_TRIAL(CharacterTrial)
