// What the simulated cluster says, held against what can be reckoned by hand.

#include "det/forecast/forecast.h"

#include <gtest/gtest.h>

namespace det::forecast {
namespace {

config::ExperimentConfig experiment(const std::string& text) {
  config::Layers layers;
  layers.master["checkpoint_storage"] = {{"type", "shared_fs"}, {"host_path", "/checkpoints"}};
  layers.user_yaml =
      text +
      "entrypoint: m:T\n"
      "hyperparameters: {global_batch_size: 8, lr: {type: double, minval: 0, maxval: 1, count: 4}}\n"
      "reproducibility: {experiment_seed: 1}\n";
  const auto resolved = config::resolve(layers, {.now = {}, .pet_name = "x", .resource_pools = std::nullopt});
  if (!resolved) throw std::runtime_error(join_errors(resolved.error()).message());
  return resolved->config;
}

constexpr const char* kSingle =
    "name: one\nsearcher: {name: single, metric: loss, max_length: {batches: 100}}\n";

Question question(std::vector<config::ExperimentConfig> experiments, std::vector<Machine> machines) {
  Question question;
  question.experiments = std::move(experiments);
  question.machines = std::move(machines);
  return question;  // 0.1 s a batch, 3 s to start, 1 s a validation, 1 s a checkpoint
}

TEST(Forecast, ATrialTakesItsStartItsBatchesItsValidationAndItsCheckpoint) {
  const auto answer = forecast(question({experiment(kSingle)}, {{.id = "a", .slots = 2}}));
  ASSERT_TRUE(answer) << answer.error().message();
  const auto& one = answer->experiments.at(0);
  EXPECT_TRUE(one.completed);
  EXPECT_NEAR(one.end, 3 + 10 + 1 + 1, 1e-3);
  EXPECT_NEAR(one.slot_seconds, 15, 1e-3);
  EXPECT_EQ(one.rows, (std::vector<Row>{{1, 100}}));
  EXPECT_EQ(one.runs, 1);
  EXPECT_EQ(answer->slots, 2);
  ASSERT_EQ(answer->usage.size(), kMoments);
  EXPECT_EQ(answer->usage[30].slots_used, 1);
}

TEST(Forecast, WhoComesSecondWaitsForTheSlotsOfTheFirst) {
  const auto answer =
      forecast(question({experiment(kSingle), experiment(kSingle)}, {{.id = "a", .slots = 1}}));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_NEAR(answer->experiments[1].first_start, 15, 1e-3);
  EXPECT_NEAR(answer->experiments[1].wait_max, 15, 1e-3);
  EXPECT_NEAR(answer->end, 30, 1e-3);
  EXPECT_EQ(answer->usage[20].waiting, 1);
  EXPECT_EQ(answer->usage[40].waiting, 0);
}

TEST(Forecast, ATrialOnHalfOfItsSlotsTakesTwiceAsLong) {
  const auto range = [](const char* what) {
    return experiment(std::string(kSingle) + "resources: {slots_per_trial: {min: 1, max: 4" + what + "}}\n");
  };
  const auto answer = forecast(question({range("")}, {{.id = "a", .slots = 2}}));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_NEAR(answer->end, 3 + 20 + 1 + 1, 1e-3);
  const auto share = forecast(question({range(", batch: per_slot")}, {{.id = "a", .slots = 2}}));
  ASSERT_TRUE(share) << share.error().message();
  EXPECT_NEAR(share->end, 3 + 10 + 1 + 1, 1e-3);
}

TEST(Forecast, ATrialGrowsWhenOthersHaveEnded) {
  auto other = experiment(std::string(kSingle) + "resources: {slots_per_trial: 2}\n");
  auto grows = experiment(
      "name: one\nsearcher: {name: single, metric: loss, max_length: {batches: 1000}}\n"
      "resources: {slots_per_trial: {min: 1, max: 4}}\n");
  const auto answer = forecast(question({other, grows}, {{.id = "a", .slots = 4}}));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->experiments[1].runs, 2);
  EXPECT_NEAR(answer->end, 60 + 1 + 3 + (1000 - 57 / 0.2) * 0.1 + 1 + 1, 1e-3) << "57 s of them on 2 slots";
}

TEST(Forecast, WhoIsMoreImportantPreemptsAndTheOtherGoesOnFromItsCheckpoint) {
  auto less = experiment(std::string(kSingle) + "resources: {priority: 50}\n");
  auto two = experiment(
      "name: two\nsearcher: {name: random, metric: loss, max_trials: 2, max_concurrent_trials: 2, "
      "max_length: {batches: 100}}\nresources: {priority: 10}\n");
  auto asked = question({less, two}, {{.id = "a", .slots = 1}});
  asked.pool.policy = scheduler::Policy::Priority;
  asked.pool.preemption = true;
  const auto answer = forecast(asked);
  ASSERT_TRUE(answer) << answer.error().message();
  const auto& first = answer->experiments[0];
  EXPECT_GE(first.preemptions, 1);
  EXPECT_EQ(first.runs, 2);
  EXPECT_TRUE(first.completed);
  EXPECT_GT(first.end, answer->experiments[1].end);
  asked.pool.preemption = false;
  EXPECT_EQ(forecast(asked)->experiments[0].preemptions, 0);
}

TEST(Forecast, ASearchTrainsItsTrialsToItsRungsAndWhoWaitsHoldsNoSlots) {
  const auto config = experiment(
      "searcher: {name: adaptive_asha, metric: loss, mode: aggressive, max_trials: 16, divisor: 4, "
      "max_concurrent_trials: 4, max_length: {batches: 1000}}\n");
  const auto answer = forecast(question({config}, {{.id = "a", .slots = 2}, {.id = "b", .slots = 2}}));
  ASSERT_TRUE(answer) << answer.error().message();
  const auto& search = answer->experiments.at(0);
  EXPECT_TRUE(search.completed);
  EXPECT_EQ(search.trials, 16);
  std::int64_t batches = 0;
  for (const auto& row : search.rows) {
    EXPECT_TRUE(row.batches == 62 || row.batches == 250 || row.batches == 1000) << row.batches;
    batches += row.trials * row.batches;
  }
  EXPECT_EQ(search.batches, batches);
  EXPECT_LE(search.slots_max, 4);
  EXPECT_GE(search.slot_seconds, 0.1 * static_cast<double>(batches));
  EXPECT_LE(search.slot_seconds, 4 * search.end + 1e-6) << "no slot is used twice at once";
  EXPECT_EQ(json::serialize(json::to_json(
                *forecast(question({config}, {{.id = "a", .slots = 2}, {.id = "b", .slots = 2}})))),
            json::serialize(json::to_json(*answer)))
      << "the same question, the same answer";
}

TEST(Forecast, LearnedResultsDecideWhoIsPromoted) {
  const auto config = experiment(
      "searcher: {name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 4, "
      "max_concurrent_trials: 4, max_length: {batches: 200}}\n");
  auto asked = question({config}, {{.id = "a", .slots = 4}});
  asked.costs.curves = {{{100, 4.0}}, {{100, 3.0}}, {{100, 2.0}, {200, 1.5}}, {{100, 1.0}}};
  const auto answer = forecast(asked);
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->experiments[0].trials, 4);
  EXPECT_TRUE(answer->experiments[0].completed);
}

TEST(Forecast, SaysWhyAnExperimentNeverEnds) {
  const auto large = experiment(std::string(kSingle) + "resources: {slots_per_trial: 8}\n");
  const auto answer = forecast(question({large, experiment(kSingle)}, {{.id = "a", .slots = 4}}));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_FALSE(answer->experiments[0].completed);
  EXPECT_FALSE(answer->experiments[0].waits_for.empty());
}

TEST(Forecast, RefusesWhatItCannotForesee) {
  const auto custom = experiment("searcher: {name: custom, metric: loss}\n");
  const auto refused = forecast(question({custom}, {{.id = "a", .slots = 1}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "searcher.name is custom; a search that a client decides cannot be simulated");
  EXPECT_FALSE(forecast(question({experiment(kSingle)}, {})));
  EXPECT_FALSE(forecast(question({}, {{.id = "a", .slots = 1}})));
  auto wrong = question({experiment(kSingle)}, {{.id = "a", .slots = 1}});
  wrong.costs.seconds_per_batch = -1;
  EXPECT_EQ(forecast(wrong).error().message(),
            "the seconds per batch are -1; they must be from 0 to 1000000");
}

TEST(Forecast, IsGivenUpWhenNobodyWantsItAnyMore) {
  int asked = 0;
  const auto answer =
      forecast(question({experiment(kSingle)}, {{.id = "a", .slots = 2}}), [&] { return ++asked > 3; });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::ResourceExhausted);
  EXPECT_EQ(asked, 4);
}

}  // namespace
}  // namespace det::forecast
