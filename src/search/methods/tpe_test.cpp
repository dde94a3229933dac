// The Tree-structured Parzen Estimator: it finds known optima faster than chance, and is the same from the
// same seed.

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <numbers>

#include "det/search/methods/parzen.h"
#include "det/search/searcher.h"
#include "det/search/testing.h"

namespace det::search {
namespace {

using Objective = double (*)(const json::object&);

config::ExperimentConfig config_of(const char* name, std::int64_t trials, config::Hyperparameters space,
                                   std::uint32_t seed) {
  auto config = testing::search_config(name, trials, 1);
  config.hyperparameters = std::move(space);
  config.experiment_seed = seed;
  return config;
}

double value(const json::object& hparams, std::string_view name) {
  return *json::to_double(hparams.at(name));
}

struct Minimised {
  double best = INFINITY;
  std::vector<json::object> trials;
};
Minimised minimise(const config::ExperimentConfig& config, Objective objective, bool restarts = false) {
  auto searcher = *Searcher::make(config);
  Minimised played;
  std::deque<std::pair<RequestId, json::object>> open;
  const auto take = [&](const Operations& operations) {
    for (const auto& create : testing::all_of<Create>(operations)) {
      open.emplace_back(create.request_id, create.hparams);
      played.trials.push_back(create.hparams);
    }
  };
  take(searcher.start());
  while (!open.empty()) {
    const auto [id, hparams] = open.front();
    open.pop_front();
    take(searcher.trial_created(id));
    const double loss = objective(hparams);
    played.best = std::min(played.best, loss);
    take(searcher.validation_completed(id, loss, 100));
    if (restarts) searcher = *Searcher::restore(config, *json::parse(json::serialize(searcher.snapshot())));
    take(searcher.trial_closed(id));
  }
  EXPECT_EQ(searcher.progress(), 1);
  return played;
}

/// Branin's function: its least value is 0.397887.
double branin(const json::object& h) {
  const double x = value(h, "x"), y = value(h, "y"), pi = std::numbers::pi;
  const double a = y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6;
  return a * a + 10 * (1 - 1 / (8 * pi)) * std::cos(x) + 10;
}
const config::Hyperparameters kBranin = {{"x", {config::Double{-5, 10, {}}}},
                                         {"y", {config::Double{0, 15, {}}}}};

/// Least, 0, at rate 1e-3, n 7, act "b" and width 0.25.
double mixed(const json::object& h) {
  const auto& inner = h.at("net").get_object();
  return std::pow(std::log10(value(h, "rate")) + 3, 2) + std::abs(value(h, "n") - 7) / 3 +
         (inner.at("act").get_string() == "b" ? 0 : 1) + 4 * std::pow(value(inner, "width") - 0.25, 2);
}
const config::Hyperparameters kMixed = {{"k", {config::Constant{64}}},
                                        {"n", {config::Integer{1, 20, {}}}},
                                        {"net",
                                         {config::Nested{{{"act", {config::Categorical{{"a", "b", "c"}}}},
                                                          {"width", {config::Double{0, 1, {}}}}}}}},
                                        {"rate", {config::Log{10, -6, 0, {}}}}};

double mean_best(const char* name, const config::Hyperparameters& space, Objective objective) {
  double sum = 0;
  for (std::uint32_t seed = 0; seed < 20; ++seed)
    sum += minimise(config_of(name, 80, space, seed), objective).best;
  return sum / 20;
}

TEST(Tpe, ComesNearerToKnownOptimaThanChance) {
  const double branin_tpe = mean_best("tpe", kBranin, branin) - 0.397887;
  const double branin_random = mean_best("random", kBranin, branin) - 0.397887;
  RecordProperty("branin_tpe", std::to_string(branin_tpe));
  RecordProperty("branin_random", std::to_string(branin_random));
  EXPECT_LT(branin_tpe, 0.7 * branin_random) << branin_tpe << " and " << branin_random;
  const double mixed_tpe = mean_best("tpe", kMixed, mixed), mixed_random = mean_best("random", kMixed, mixed);
  EXPECT_LT(mixed_tpe, mixed_random / 3) << mixed_tpe << " and " << mixed_random;
  EXPECT_LT(mixed_tpe, 0.4);
}

TEST(Tpe, IsTheSameFromTheSameSeedAndOverRestarts) {
  const auto config = config_of("tpe", 40, kMixed, 5);
  const auto first = minimise(config, mixed);
  EXPECT_EQ(minimise(config, mixed).trials, first.trials);
  EXPECT_EQ(minimise(config, mixed, true).trials, first.trials);
  EXPECT_NE(minimise(config_of("tpe", 40, kMixed, 6), mixed).trials, first.trials);
}

TEST(Tpe, BeginsAsARandomSearchAndStaysInItsRanges) {
  const auto tpe = minimise(config_of("tpe", 60, kMixed, 3), mixed);
  const auto random = minimise(config_of("random", 60, kMixed, 3), mixed);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(tpe.trials[i], random.trials[i]);
  for (const auto& trial : tpe.trials) {
    EXPECT_EQ(value(trial, "k"), 64);
    EXPECT_TRUE(value(trial, "n") >= 1 && value(trial, "n") <= 20);
    EXPECT_TRUE(trial.at("n").is_int64());
    EXPECT_TRUE(value(trial, "rate") >= 1e-6 * 0.999 && value(trial, "rate") <= 1);
    const auto width = value(trial.at("net").get_object(), "width");
    EXPECT_TRUE(width >= 0 && width <= 1);
  }
}

TEST(Tpe, ResultsThatAreNoNumbersAndFailuresAreBad) {
  const auto config = config_of("tpe", 60, kBranin, 1);
  const auto nan_left = [](const json::object& h) { return value(h, "x") < 2.5 ? std::nan("") : branin(h); };
  auto searcher = *Searcher::make(config);
  std::deque<Create> open;
  int left = 0, count = 0;
  const auto take = [&](const Operations& operations) {
    for (auto& create : testing::all_of<Create>(operations)) {
      if (++count > 30) left += value(create.hparams, "x") < 2.5;
      open.push_back(std::move(create));
    }
  };
  take(searcher.start());
  while (!open.empty()) {
    const auto trial = open.front();
    open.pop_front();
    take(searcher.trial_created(trial.request_id));
    const double loss = nan_left(trial.hparams);
    if (std::isnan(loss) && count % 2 == 0)
      take(searcher.trial_exited_early(trial.request_id, ExitedReason::Errored));
    else
      take(searcher.validation_completed(trial.request_id, loss, 100));
    take(searcher.trial_closed(trial.request_id));
  }
  EXPECT_LT(left, 13) << "of 30 trials; half of the range is bad";
}

TEST(Parzen, TheDensityOfARangeIsOneInAllAndThatOfItsDraws) {
  const Parzen parzen({{Axis::Kind::Real, -2, 3}}, {{-1.5}, {0.2}, {0.25}, {2.9}}, {2, 1.5, 0.5, 0.1});
  const auto density = [&](double x) { return std::exp(parzen.log_density({x})); };
  double sum = 0, expected = 0;
  const int steps = 20'000;
  for (int i = 0; i < steps; ++i) {
    const double x = -2 + 5 * (i + 0.5) / steps;
    sum += density(x) * 5 / steps;
    if (x < 0.5) expected += density(x) * 5 / steps;
  }
  EXPECT_NEAR(sum, 1, 1e-4);
  Random random(1);
  double below = 0;
  for (int i = 0; i < 20'000; ++i) below += parzen.draw(random)[0] < 0.5;
  EXPECT_NEAR(below / 20'000, expected, 0.015);
}

TEST(Parzen, IntegersAndChoicesHaveProbabilities) {
  const Parzen integers({{Axis::Kind::Integer, 1, 6}}, {{2}, {2}, {5}}, {1, 1, 2});
  double sum = 0;
  for (int i = 1; i <= 6; ++i) sum += std::exp(integers.log_density({static_cast<double>(i)}));
  EXPECT_NEAR(sum, 1, 1e-9);
  const Parzen choices({{Axis::Kind::Choice, 0, 2}}, {{1}, {1}}, {1, 1});
  sum = 0;
  for (int i = 0; i <= 2; ++i) sum += std::exp(choices.log_density({static_cast<double>(i)}));
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_NEAR(std::exp(choices.log_density({1})), 2.0 / 3, 1e-12);
  EXPECT_NEAR(std::exp(choices.log_density({0})), 1.0 / 6, 1e-12);
  Random random(1);
  int ones = 0;
  for (int i = 0; i < 20'000; ++i) ones += choices.draw(random)[0] == 1;
  EXPECT_NEAR(ones / 20'000.0, std::exp(choices.log_density({1})), 0.015);
  const Parzen fixed({{Axis::Kind::Real, 3, 3}}, {{3}}, {1});
  EXPECT_EQ(fixed.draw(random), Point{3});
}

TEST(Parzen, WhatWeighsMoreIsDrawnMoreOften) {
  const Parzen parzen({{Axis::Kind::Choice, 0, 9}}, {{2}, {7}}, {8, 1});
  Random random(1);
  int twos = 0, sevens = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto drawn = parzen.draw(random)[0];
    twos += drawn == 2;
    sevens += drawn == 7;
  }
  EXPECT_NEAR(twos / 20'000.0, std::exp(parzen.log_density({2})), 0.015);
  EXPECT_GT(twos, 4 * sevens);
}

TEST(Parzen, NumbersThatWereGoodTogetherAreDrawnTogether) {
  const std::vector<Axis> axes = {{Axis::Kind::Real, 0, 1}, {Axis::Kind::Choice, 0, 1}};
  const Parzen parzen(axes, {{0.1, 0}, {0.12, 0}, {0.15, 0}, {0.85, 1}, {0.9, 1}, {0.88, 1}},
                      std::vector<double>(6, 1));
  Random random(1);
  int together = 0;
  for (int i = 0; i < 2'000; ++i) {
    const auto point = parzen.draw(random);
    together += (point[0] > 0.5) == (point[1] == 1);
  }
  EXPECT_GT(together, 1'500);
  EXPECT_GT(parzen.log_density({0.1, 0}), parzen.log_density({0.1, 1}) + 1);
}

}  // namespace
}  // namespace det::search
