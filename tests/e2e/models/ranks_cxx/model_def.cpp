// A trial of several ranks in which every kind of chance matters, and which stops at a chosen moment to be
// disturbed.
//
// At the moment that the hyperparameter "hold" names, each rank writes a file into the directory of signals
// and waits there until a file "go" appears: the first time only, so a second run passes by.
#include <det/pytorch.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace fs = std::filesystem;
namespace nn = torch::nn;

class Moments {
 public:
  Moments(fs::path signals, std::string hold, std::int64_t rank)
      : signals_(std::move(signals)), hold_(std::move(hold)), held_("held-" + std::to_string(rank)) {}

  void at(const std::string& name) const {
    if (hold_ != name || fs::exists(signals_ / held_)) return;
    std::ofstream(signals_ / held_).put('\n');
    for (int i = 0; i < 6000 && !fs::exists(signals_ / "go"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

 private:
  fs::path signals_;
  std::string hold_;
  std::string held_;
};

struct Pictures {
  torch::data::Example<> get(std::size_t index, at::Generator generator) const {
    const auto row = static_cast<std::int64_t>(index);
    auto image = images[row];
    if (noise)
      image = image.roll(static_cast<std::int64_t>(index % 3)) +
              0.1 * torch::randn({16}, generator, torch::kFloat);
    return {image, labels[row]};
  }
  std::size_t size() const { return static_cast<std::size_t>(images.size(0)); }
  torch::Tensor images;
  torch::Tensor labels;
  bool noise = false;
};

/// A state of each rank's own, which changes what it trains; and the moments outside of batches.
class Memory final : public det::pytorch::Callback {
 public:
  Memory(Moments moments, std::int64_t rank)
      : drawn(static_cast<double>(rank)), moments_(std::move(moments)) {}

  void on_training_workload_end(const det::pytorch::Numbers&,
                                const std::vector<std::vector<double>>&) override {
    drawn += torch::rand({}).item<double>();
  }
  void on_training_epoch_end(std::int64_t) override { moments_.at("epoch end"); }
  void on_checkpoint_write_end(const fs::path&) override { moments_.at("checkpoint"); }
  det::pytorch::Value state_dict() override { return drawn; }
  void load_state_dict(const det::pytorch::Value& state) override { drawn = state.number(); }

  double drawn;

 private:
  Moments moments_;
};

class RanksTrial final : public det::pytorch::PyTorchTrial<> {
 public:
  explicit RanksTrial(TrialContext& trial_context)
      : PyTorchTrial(trial_context),
        rank_(context.distributed().get_rank()),
        moments_(context.get_data_config().get<std::string>("signals"),
                 context.get_hparam<std::string>("hold"), rank_),
        memory_(std::make_shared<Memory>(moments_, rank_)) {
    model_ = context.wrap_model(nn::Sequential{nn::Linear(16, 8), nn::BatchNorm1d(8), nn::ReLU(),
                                               nn::Dropout(0.3), nn::Linear(8, 2)});
    optimizer_ =
        context.wrap_optimizer(det::pytorch::Adam(model_->parameters(), torch::optim::AdamOptions(0.01)));
    torch::manual_seed(static_cast<std::uint64_t>(100 + rank_));  // every rank draws its own dropout
  }

  det::pytorch::Callbacks build_callbacks() override { return {{"memory", memory_}}; }
  DataLoader<> build_training_data_loader() override {
    return DataLoader<>(
        pictures(57, true),
        {.batch_size = context.get_per_slot_batch_size(), .shuffle = true, .drop_last = true});
  }
  DataLoader<> build_validation_data_loader() override {
    return DataLoader<>(pictures(30, false), {.batch_size = 4});
  }

  Metrics train_batch(const Batch& batch, std::int64_t, std::int64_t batch_idx) override {
    if (rank_ == context.get_hparam<std::int64_t>("fails_on_rank") && batch_idx == 6)
      throw std::range_error("so it goes");
    if (batch_idx == 10) moments_.at("mid-epoch");
    const auto loss =
        torch::cross_entropy_loss(model_->forward(batch.data) + 0.01 * memory_->drawn, batch.target);
    context.backward(loss);
    context.step_optimizer(optimizer_);
    return {{"loss", loss}};
  }

  Metrics evaluate_batch(const Batch& batch) override {
    moments_.at("validation");
    const auto loss = torch::cross_entropy_loss(model_->forward(batch.data), batch.target);
    return {{"validation_loss", loss}, {"agree", agree()}};
  }

 private:
  static Pictures pictures(std::int64_t count, bool noise) {
    auto images = torch::rand({count, 16}, at::detail::createCPUGenerator(static_cast<std::uint64_t>(count)),
                              torch::kFloat);
    auto labels = images.narrow(1, 0, 8).sum(1).gt(images.narrow(1, 8, 8).sum(1)).to(torch::kLong);
    return {std::move(images), std::move(labels), noise};
  }

  /// Whether all ranks have the same model, in all bits. Every rank evaluates four batches.
  double agree() {
    torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> all;
    for (const auto& parameter : model_->parameters()) all.push_back(parameter.reshape({-1}));
    for (const auto& buffer : model_->buffers()) all.push_back(buffer.to(torch::kFloat).reshape({-1}));
    const auto mine = torch::cat(all);
    for (const auto& other : context.distributed().allgather(mine))
      if (!torch::equal(other.tensor(), mine)) return 0;
    return 1;
  }

  std::int64_t rank_;
  Moments moments_;
  std::shared_ptr<Memory> memory_;
  nn::Sequential model_{nullptr};
  std::shared_ptr<det::pytorch::Adam> optimizer_;
};

DET_TRIAL(RanksTrial)
