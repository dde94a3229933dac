// Schedulers, reducers, callbacks and ways to evaluate, all that can be chosen; ../parts is its twin.
#include <det/pytorch.h>

#include <numeric>
#include <sstream>

namespace fs = std::filesystem;
namespace nn = torch::nn;
using det::pytorch::Numbers;
using det::pytorch::Reducer;
using det::pytorch::StepMode;

/// The sum of all targets that all slots saw, and the largest of each slot's.
class Seen final : public det::pytorch::MetricReducer {
 public:
  void reset() override { sum_ = largest_ = 0; }
  void update(const torch::Tensor& target) {
    sum_ += target.sum().item<double>();
    largest_ = std::max(largest_, target.max().item<double>());
  }
  std::vector<double> per_slot_reduce() override { return {sum_, largest_}; }
  double cross_slot_reduce(const std::vector<std::vector<double>>& per_slot) override {
    double sum = 0, largest = 0;
    for (const auto& slot : per_slot) {
      sum += slot[0];
      largest = std::max(largest, slot[1]);
    }
    return sum + 1000 * largest;
  }

 private:
  double sum_ = 0;
  double largest_ = 0;
};

/// Keeps in checkpoints which hooks were called, in their order.
class Heard final : public det::pytorch::Callback {
 public:
  void on_trial_startup(std::int64_t first_batch, const std::string&) override {
    hear("trial_startup", first_batch);
  }
  void on_training_start() override { hear("training_start"); }
  void on_training_epoch_start(std::int64_t epoch) override { hear("training_epoch_start", epoch); }
  void on_training_epoch_end(std::int64_t epoch) override { hear("training_epoch_end", epoch); }
  void on_training_workload_end(const Numbers&, const std::vector<std::vector<double>>& batches) override {
    hear("training_workload_end", static_cast<std::int64_t>(batches.size()));
  }
  void on_validation_start() override { hear("validation_start"); }
  void on_validation_epoch_start() override { hear("validation_epoch_start"); }
  void on_validation_epoch_end(const std::vector<Numbers>& batches) override {
    hear("validation_epoch_end", static_cast<std::int64_t>(batches.size()));
  }
  void on_validation_end(const Numbers&) override { hear("validation_end"); }
  void on_checkpoint_save_start(det::pytorch::Dict&) override { hear("checkpoint_save_start"); }
  void on_checkpoint_write_end(const fs::path&) override { hear("checkpoint_write_end"); }

  det::pytorch::Value state_dict() override {
    det::pytorch::Dict state;
    state["hooks"] = hooks_;
    return state;
  }
  void load_state_dict(const det::pytorch::Value& state) override {
    hooks_ = state.dict().at("hooks").list();
  }

 private:
  void hear(const std::string& hook) { hooks_.emplace_back(hook); }
  void hear(const std::string& hook, std::int64_t number) { hear(hook + " " + std::to_string(number)); }

  det::pytorch::List hooks_;
};

class PartsTrial : public det::pytorch::PyTorchTrial<> {
 public:
  explicit PartsTrial(TrialContext& trial_context) : PyTorchTrial(trial_context) {
    model_ = context.wrap_model(nn::Sequential{nn::Linear(5, 7), nn::Tanh(), nn::Linear(7, 1)});
    optimizer_ =
        context.wrap_optimizer(det::pytorch::SGD(model_->parameters(), torch::optim::SGDOptions(0.1)));
    std::istringstream steps(context.get_hparam<std::string>("steps"));
    std::string mode;
    std::int64_t frequency = 0;
    steps >> mode >> frequency;
    scheduler_ = context.wrap_lr_scheduler(
        det::pytorch::LambdaLR(*optimizer_,
                               [](std::int64_t step) { return 1 / (1 + static_cast<double>(step)); }),
        modes().at(mode), frequency);
    manual_ = mode == "MANUAL_STEP";
    seen_ = context.wrap_reducer(std::make_shared<Seen>(), "seen");
  }

  det::pytorch::Callbacks build_callbacks() override { return {{"heard", std::make_shared<Heard>()}}; }
  det::pytorch::Reducers evaluation_reducer() override {
    return std::map<std::string, Reducer>{{"sum", Reducer::SUM},
                                          {"least", Reducer::MIN},
                                          {"greatest", Reducer::MAX},
                                          {"validation_loss", Reducer::AVG}};
  }
  DataLoader<> build_training_data_loader() override {
    return data(46, {.shuffle = true, .drop_last = true, .workers = 2});
  }
  DataLoader<> build_validation_data_loader() override { return data(22, {}); }

  Metrics train_batch(const Batch& batch, std::int64_t epoch_idx, std::int64_t batch_idx) override {
    const auto loss = loss_of(batch);
    context.backward(loss);
    context.step_optimizer(optimizer_);
    if (manual_ && batch_idx % 4 == 3) scheduler_->step();
    seen_->update(batch.target);
    return {{"loss", loss},
            {"rate", optimizer_->param_groups()[0].options().get_lr()},
            {"epoch", static_cast<double>(epoch_idx)}};
  }
  Metrics evaluate_batch(const Batch& batch) override {
    seen_->update(batch.target);
    const auto loss = loss_of(batch);
    return {{"sum", loss}, {"least", loss}, {"greatest", loss}, {"validation_loss", loss}};
  }

 protected:
  torch::Tensor loss_of(const Batch& batch) {
    return torch::mse_loss(model_->forward(batch.data), batch.target);
  }

 private:
  static const std::map<std::string, StepMode>& modes() {
    static const std::map<std::string, StepMode> all = {
        {"STEP_EVERY_EPOCH", StepMode::STEP_EVERY_EPOCH},
        {"STEP_EVERY_BATCH", StepMode::STEP_EVERY_BATCH},
        {"STEP_EVERY_OPTIMIZER_STEP", StepMode::STEP_EVERY_OPTIMIZER_STEP},
        {"MANUAL_STEP", StepMode::MANUAL_STEP}};
    return all;
  }
  DataLoader<> data(std::int64_t records, det::pytorch::DataLoaderOptions options) {
    options.batch_size = context.get_per_slot_batch_size();
    const auto inputs = torch::arange(records * 5, torch::kFloat).reshape({records, 5}).sin();
    return DataLoader<>(det::pytorch::TensorDataset(inputs, inputs.sum(1, /*keepdim=*/true)), options);
  }

  nn::Sequential model_{nullptr};
  std::shared_ptr<det::pytorch::SGD> optimizer_;
  std::shared_ptr<det::pytorch::LambdaLR> scheduler_;
  std::shared_ptr<Seen> seen_;
  bool manual_ = false;
};

/// Evaluates the whole set in one call.
class WholeTrial final : public PartsTrial {
 public:
  using PartsTrial::PartsTrial;
  std::optional<Metrics> evaluate_full_dataset(const NextBatch& next) override {
    double sum = 0, batches = 0;
    while (const auto batch = next()) {
      sum += loss_of(*batch).item<double>();
      batches += 1;
    }
    return Metrics{{"validation_loss", sum}, {"batches", batches}};
  }
};

DET_TRIAL(PartsTrial)
DET_TRIAL(WholeTrial)
