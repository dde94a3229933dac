#include "det/pytorch/engine/engine.h"

#include <gtest/gtest.h>

#include "det/checkpoint/scratch.h"
#include "det/pytorch/engine/random.h"
#include "det/pytorch/files/checkpoint_files.h"
#include "det/pytorch/graphed_step.h"
#include "det/pytorch/optimizers.h"
#include "det/pytorch/testing.h"

namespace det::pytorch {
namespace {

namespace fs = std::filesystem;
using testing::engine;
using testing::environment;
using testing::NoisyTrial;

class EngineTest : public ::testing::Test {
 protected:
  fs::path save(Engine& engine, std::int64_t trained, const char* name) {
    const auto directory = root_ / name;
    fs::create_directory(directory);
    engine.collect({.batches_trained = trained, .searcher_metric = 0.25});
    engine.write(directory, [] {});
    return directory;
  }

  Scratch scratch_{"det-engine"};
  fs::path root_ = scratch_.path();
};

/// Weights and optimizer of a checkpoint, as text with all digits.
std::string shown(const Value& value) {
  std::ostringstream text;
  if (const auto* tensor = value.as<at::Tensor>()) {
    const auto flat = tensor->to(at::kDouble).contiguous();
    for (std::int64_t i = 0; i < flat.numel(); ++i)
      text << std::hexfloat << flat.const_data_ptr<double>()[i] << ' ';
  } else if (const auto* list = value.as<List>()) {
    for (const auto& item : *list) text << shown(item) << '|';
  } else if (const auto* dict = value.as<Dict>()) {
    for (const auto& [key, item] : dict->entries()) text << key.index() << shown(item) << ';';
  } else if (!value.is_none() && value.as<std::string>() == nullptr) {
    text << std::hexfloat << (value.as<bool>() != nullptr ? value.boolean() : value.number());
  }
  return text.str();
}

std::string shown(const fs::path& checkpoint) {
  const auto files = read_checkpoint(checkpoint);
  return shown(files.state) + shown(files.rest);
}

struct Course {
  std::vector<std::vector<double>> batches;
  std::vector<double> validations;
  std::string end;
};

TEST_F(EngineTest, AResumedTrialTrainsAsOneThatWasNeverInterrupted) {
  for (const std::int64_t aggregation : {1, 3}) {
    for (const int workers : {0, 2}) {
      NoisyTrial::workers = workers;
      Course straight;
      auto one = engine<NoisyTrial>(environment(7, aggregation));
      one->start({}, "", false);
      for (const auto count : {5, 5}) {
        for (const auto& row : one->train(count).batches) straight.batches.push_back(row);
        straight.validations.push_back(one->validate()[0].second);
      }
      straight.end = shown(save(*one, 10, "straight"));

      Course broken;
      auto first = engine<NoisyTrial>(environment(7, aggregation));
      first->start({}, "", false);
      broken.batches = first->train(5).batches;
      broken.validations.push_back(first->validate()[0].second);
      const auto checkpoint = save(*first, 5, "half");
      first->close();
      auto second = engine<NoisyTrial>(environment(7, aggregation));
      const auto loop = second->start(checkpoint, "half", false);
      ASSERT_TRUE(loop);
      EXPECT_EQ(loop->batches_trained, 5);
      EXPECT_EQ(loop->searcher_metric, 0.25);
      for (const auto& row : second->train(5).batches) broken.batches.push_back(row);
      broken.validations.push_back(second->validate()[0].second);
      broken.end = shown(save(*second, 10, "broken"));

      EXPECT_EQ(broken.batches, straight.batches);
      EXPECT_EQ(broken.validations, straight.validations);
      EXPECT_EQ(broken.end, straight.end);
      fs::remove_all(root_ / "straight");
      fs::remove_all(root_ / "half");
      fs::remove_all(root_ / "broken");
    }
  }
  NoisyTrial::workers = 0;
}

TEST_F(EngineTest, WarmStartTakesTheWeightsAndNothingElse) {
  auto one = engine<NoisyTrial>(environment());
  one->start({}, "", false);
  one->train(6);
  const auto checkpoint = save(*one, 6, "one");
  auto two = engine<NoisyTrial>(environment(99));
  EXPECT_FALSE(two->start(checkpoint, "one", true));
  const auto copied = save(*two, 0, "two");
  const auto a = read_checkpoint(checkpoint).state;
  const auto b = read_checkpoint(copied).state;
  EXPECT_EQ(shown(a.at("models_state_dict")), shown(b.at("models_state_dict")));
  EXPECT_TRUE(b.at("optimizers_state_dict").list()[0].dict().at("state").dict().empty());
}

TEST_F(EngineTest, TheCheckpointHasTheFourDocumentedKeys) {
  auto one = engine<NoisyTrial>(environment());
  one->start({}, "", false);
  one->train(4);
  const auto state = read_checkpoint(save(*one, 4, "one")).state;
  ASSERT_EQ(state.size(), 4U);
  EXPECT_TRUE(state.at("models_state_dict").list()[0].dict().contains("0.weight"));
  EXPECT_TRUE(state.at("models_state_dict").list()[0].dict().contains("1.running_mean"));
  EXPECT_EQ(state.at("lr_schedulers_state_dict").list()[0].dict().at("last_epoch").integer(), 1);
  EXPECT_EQ(state.at("callbacks").dict().at("counting").dict().at("epochs").integer(), 1);
  const auto& groups = state.at("optimizers_state_dict").list()[0].dict().at("param_groups").list();
  EXPECT_DOUBLE_EQ(groups[0].dict().at("lr").number(), 0.05 * 0.7);
}

class ChangingTrial final : public NoisyTrial {
 public:
  using NoisyTrial::NoisyTrial;
  Metrics train_batch(const Batch&, std::int64_t, std::int64_t index) override {
    if (index == 2) return {{"accuracy", 1.0}};
    return {{"loss", 1.0}};
  }
  Metrics evaluate_batch(const Batch& batch) override { return {{"loss", batch.data}}; }
};

template <typename Body>
std::string message_of(const Body& body) {
  try {
    body();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_F(EngineTest, MetricsThatChangeTheirNamesOrAreNoNumbersAreNamed) {
  auto one = engine<ChangingTrial>(environment());
  one->start({}, "", false);
  EXPECT_EQ(message_of([&] { one->train(5); }),
            "train_batch returned the metrics accuracy at batch 2, but loss for earlier batches; it must "
            "return the same metrics for every batch");
  EXPECT_EQ(message_of([&] { one->validate(); }),
            "evaluate_batch: metric loss is a tensor of shape [4, 3]; it must have one element");
}

template <bool graphed>
class StepTrial final : public PyTorchTrial<> {
 public:
  explicit StepTrial(TrialContext& trial_context) : PyTorchTrial(trial_context) {
    model_ = context.wrap_model(torch::nn::Sequential(torch::nn::Linear(3, 2), torch::nn::Dropout(0.3)));
    optimizer_ = context.wrap_optimizer(Adam(model_->parameters(), 0.1));
    step_ = std::make_unique<GraphedStep>(context, model_->parameters(), [this](const auto& inputs) {
      return torch::cross_entropy_loss(model_->forward(inputs[0]), inputs[1]);
    });
  }
  DataLoader<> build_training_data_loader() override {
    return DataLoader<>(NoisyTrial::data(), {.batch_size = 4});
  }
  DataLoader<> build_validation_data_loader() override { return build_training_data_loader(); }
  Metrics train_batch(const Batch& batch, std::int64_t, std::int64_t) override {
    at::Tensor loss;
    if (graphed) {
      loss = step_->backward({batch.data, batch.target});
    } else {
      loss = torch::cross_entropy_loss(model_->forward(batch.data), batch.target);
      context.backward(loss);
    }
    context.step_optimizer(optimizer_);
    return {{"loss", loss}};
  }

 private:
  torch::nn::Sequential model_{nullptr};
  std::shared_ptr<Adam> optimizer_;
  std::unique_ptr<GraphedStep> step_;
};

TEST_F(EngineTest, AStepThatMayBecomeAGraphHasTheNumbersOfOneThatMayNot) {
  std::vector<std::vector<std::vector<double>>> rows;
  for (const bool graphed : {false, true}) {
    auto one = graphed ? engine<StepTrial<true>>(environment()) : engine<StepTrial<false>>(environment());
    one->start({}, "", false);
    rows.push_back(one->train(8).batches);
  }
  EXPECT_EQ(rows[0], rows[1]);
  EXPECT_NE(rows[0].front(), rows[0].back());
}

class OtherModelTrial final : public PyTorchTrial<> {
 public:
  explicit OtherModelTrial(TrialContext& trial_context) : PyTorchTrial(trial_context) {
    context.wrap_model(
        torch::nn::Sequential(torch::nn::Linear(3, 4), torch::nn::Tanh(), torch::nn::Linear(4, 2)));
  }
  DataLoader<> build_training_data_loader() override {
    return DataLoader<>(NoisyTrial::data(), {.batch_size = 4});
  }
  DataLoader<> build_validation_data_loader() override { return build_training_data_loader(); }
  Metrics train_batch(const Batch&, std::int64_t, std::int64_t) override { return {{"loss", 0.0}}; }
};

TEST_F(EngineTest, WeightsOfAnotherModelAreRefusedByName) {
  auto one = engine<NoisyTrial>(environment());
  one->start({}, "", false);
  const auto checkpoint = save(*one, 0, "one");
  auto other = engine<OtherModelTrial>(environment());
  const auto message = message_of([&] { other->start(checkpoint, "one", true); });
  EXPECT_NE(message.find("missing: 2.weight, 2.bias"), std::string::npos) << message;
  EXPECT_NE(message.find("not in this model: "), std::string::npos) << message;
  EXPECT_NE(message.find("0.weight is [5, 3], expected [4, 3]"), std::string::npos) << message;
}

class EmptyTrial final : public PyTorchTrial<> {
 public:
  explicit EmptyTrial(TrialContext& trial_context) : PyTorchTrial(trial_context) {}
  DataLoader<> build_training_data_loader() override {
    return DataLoader<>(NoisyTrial::data(), {.batch_size = 4});
  }
  DataLoader<> build_validation_data_loader() override { return build_training_data_loader(); }
  Metrics train_batch(const Batch&, std::int64_t, std::int64_t) override { return {{"loss", 0.0}}; }
};

TEST_F(EngineTest, ATrialOfWhichNothingWouldBeSavedIsRefused) {
  auto one = engine<EmptyTrial>(environment());
  const auto message = message_of([&] { one->start({}, "", false); });
  EXPECT_NE(message.find("the trial has no model"), std::string::npos) << message;
}

TEST_F(EngineTest, ATrialThatEvaluatesNothingIsToldWhatItNeeds) {
  auto one = engine<OtherModelTrial>(environment());
  one->start({}, "", false);
  EXPECT_EQ(message_of([&] { one->validate(); }),
            "the trial must override evaluate_batch or evaluate_full_dataset");
}

}  // namespace
}  // namespace det::pytorch
