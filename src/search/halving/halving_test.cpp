// Successive halving, played: the worked examples of searchers.md §6–§10.
#include <gtest/gtest.h>

#include <deque>
#include <numeric>

#include "det/search/halving/adaptive.h"
#include "det/search/halving/sync_halving.h"
#include "det/search/searcher.h"
#include "det/search/testing.h"

namespace det::search {
namespace {

using Lengths = std::vector<std::int64_t>;
/// How many trials validated at which totals.
using Paths = std::map<Lengths, int>;

config::ExperimentConfig halving(const std::string& name, std::int64_t longest, json::object fields,
                                 bool steps = false) {
  auto config = testing::search_config(name);
  config.hyperparameters = testing::documented_space();
  config.searcher.max_length.count = longest;
  fields["name"] = name;
  if (steps) {
    config.generation = config::Generation::Steps;
    config.scheduling_unit = 100;
    fields[name == "adaptive_simple" ? "max_steps" : "target_trial_steps"] = longest;
  }
  config.searcher.fields = std::move(fields);
  return config;
}

/// Plays a search: every trial does what it is asked, the one asked first first. `metric` gets
/// the number of the trial in the order of creation.
struct Played {
  Paths paths;
  int trials = 0;
  std::int64_t total = 0;
  std::size_t training_max = 0;  ///< trials that had something to do at the same time
};
template <typename Metric>
Played play(const config::ExperimentConfig& config, Metric metric, std::int64_t unit = 1) {
  auto made = Searcher::make(config);
  if (!made) throw std::runtime_error(made.error().message());
  auto searcher = *std::move(made);
  std::map<RequestId, Lengths> done;
  std::map<RequestId, int> numbers;
  std::deque<ValidateAfter> queue;
  std::deque<RequestId> closing;
  Played played;
  bool shutdown = false;
  const auto take = [&](const Operations& operations) {
    for (const auto& operation : operations) {
      if (const auto* create = std::get_if<Create>(&operation))
        numbers.emplace(create->request_id, played.trials++);
      else if (const auto* after = std::get_if<ValidateAfter>(&operation))
        queue.push_back(*after);
      else if (const auto* close = std::get_if<Close>(&operation))
        closing.push_back(close->request_id);
      else
        shutdown = true;
    }
    played.training_max = std::max(played.training_max, queue.size());
  };
  take(searcher.start());
  while (!queue.empty() || !closing.empty()) {
    if (!closing.empty()) {
      const auto id = closing.front();
      closing.pop_front();
      ++played.paths[done[id]];
      if (!done[id].empty()) played.total += done[id].back();
      take(searcher.trial_closed(id));
      continue;
    }
    const auto after = queue.front();
    queue.pop_front();
    done[after.request_id].push_back(after.length / unit);
    take(searcher.validation_completed(after.request_id, metric(numbers[after.request_id]), after.length));
  }
  EXPECT_TRUE(shutdown);
  EXPECT_EQ(searcher.progress(), 1.0);
  return played;
}

double constant(int) {
  return 1;
}
double later_is_worse(int number) {
  return number;
}
double later_is_better(int number) {
  return -number;
}

/// How many trials have each length as their last.
std::map<std::int64_t, int> stops(const Paths& paths) {
  std::map<std::int64_t, int> counts;
  for (const auto& [path, trials] : paths) counts[path.back()] += trials;
  return counts;
}

TEST(AsyncHalving, PromotesOneInDivisorWhereMetricsAreEqualOrGetWorse) {
  const auto config = halving("async_halving", 90, {{"num_rungs", 3}, {"divisor", 3}, {"max_trials", 12}});
  for (const auto metric : {constant, later_is_worse}) {
    const auto played = play(config, metric);
    EXPECT_EQ(played.paths, (Paths{{{10}, 8}, {{10, 30}, 3}, {{10, 30, 90}, 1}}));
    EXPECT_EQ(played.total, 260);
  }
}

TEST(AsyncHalving, PromotesMoreWhereLaterTrialsAreBetter) {
  const auto config = halving("async_halving", 90, {{"num_rungs", 3}, {"divisor", 3}, {"max_trials", 12}});
  const auto played = play(config, later_is_better);
  EXPECT_EQ(played.paths, (Paths{{{10}, 2}, {{10, 30}, 2}, {{10, 30, 90}, 8}}));
  EXPECT_EQ(played.total, 800);
}

TEST(AsyncHalving, KeepsAsManyTrialsBusyAsItMay) {
  const auto config =
      halving("async_halving", 90,
              {{"num_rungs", 3}, {"divisor", 3}, {"max_trials", 60}, {"max_concurrent_trials", 7}});
  EXPECT_EQ(play(config, constant).training_max, 7u);
}

TEST(AsyncHalving, StopOnceLetsEqualTrialsGoOnAndStopsThoseThatGetWorse) {
  const json::object fields{{"num_rungs", 3}, {"divisor", 3}, {"max_trials", 12}, {"stop_once", true}};
  const auto config = halving("async_halving", 90, fields);
  EXPECT_EQ(play(config, constant).paths, (Paths{{{10, 30, 90}, 12}}));
  EXPECT_EQ(play(config, later_is_worse).paths, (Paths{{{10}, 11}, {{10, 30, 90}, 1}}));
}

struct AshaCase {
  std::int64_t max_length;
  int max_trials;
  const char* mode;
  int divisor, max_rungs;
  std::map<std::int64_t, int> stops;
};

TEST(AdaptiveAsha, WorkedExamplesWithConstantMetrics) {
  const AshaCase cases[] = {
      // length, trials, mode,           d, rungs, {length: trials that stop there}
      {1000, 16, "standard", 4, 5, {{62, 9}, {250, 6}, {1000, 1}}},
      {1000, 16, "aggressive", 4, 5, {{62, 12}, {250, 3}, {1000, 1}}},
      {937, 100, "standard", 4, 5, {{14, 53}, {58, 30}, {234, 13}, {937, 4}}},
      {937, 100, "aggressive", 4, 5, {{14, 75}, {58, 19}, {234, 5}, {937, 1}}},
      {16000, 500, "conservative", 4, 5, {{62, 256}, {250, 143}, {1000, 63}, {4000, 25}, {16000, 13}}},
      {64, 128, "aggressive", 4, 3, {{4, 96}, {16, 24}, {64, 8}}},
      {1000, 64, "aggressive", 4, 5, {{15, 48}, {62, 12}, {250, 3}, {1000, 1}}},
      {1000, 243, "aggressive", 3, 6, {{4, 162}, {12, 54}, {37, 18}, {111, 6}, {333, 2}, {1000, 1}}},
      {1000, 243, "aggressive", 3, 5, {{12, 162}, {37, 54}, {111, 18}, {333, 6}, {1000, 3}}},
      {1000, 1000, "aggressive", 10, 5, {{10, 900}, {100, 90}, {1000, 10}}},
      {1000, 1, "standard", 4, 5, {{1000, 1}}},
      {1000, 16, "conservative", 4, 5, {{62, 9}, {250, 6}, {1000, 1}}},
      {937, 100, "conservative", 4, 5, {{14, 51}, {58, 28}, {234, 13}, {937, 8}}},
      {9, 5, "conservative", 3, 2, {{3, 2}, {9, 3}}},
      {1000, 125, "standard", 5, 5, {{8, 76}, {40, 35}, {200, 13}, {1000, 1}}},
  };
  for (const auto& c : cases) {
    const auto config = halving(
        "adaptive_asha", c.max_length,
        {{"max_trials", c.max_trials}, {"mode", c.mode}, {"divisor", c.divisor}, {"max_rungs", c.max_rungs}});
    const auto played = play(config, constant);
    EXPECT_EQ(stops(played.paths), c.stops) << c.max_length << " " << c.max_trials << " " << c.mode;
    EXPECT_EQ(played.trials, c.max_trials);
  }
}

TEST(AdaptiveAsha, BreakdownOfTheStandardExample) {
  const auto played = play(halving("adaptive_asha", 1000, {{"max_trials", 16}}), constant);
  EXPECT_EQ(played.paths, (Paths{{{62}, 9}, {{62, 250}, 3}, {{250}, 3}, {{250, 1000}, 1}}));
}

TEST(AdaptiveAsha, TrialsTrainTheStatedTotal) {
  EXPECT_EQ(play(halving("adaptive_asha", 937, {{"max_trials", 100}}), constant).total, 9272);
}

using Rungs = std::vector<SyncHalving::Rung>;
std::vector<std::int64_t> lengths_of(const Rungs& rungs) {
  std::vector<std::int64_t> all;
  for (const auto& rung : rungs) all.push_back(rung.length);
  return all;
}
std::vector<std::int64_t> starts_of(const Rungs& rungs) {
  std::vector<std::int64_t> all;
  for (const auto& rung : rungs) all.push_back(rung.start);
  return all;
}

TEST(SyncHalving, RungsOfABudget) {
  const auto rungs = rungs_of_budget(800, 480, 4, 4, true);
  EXPECT_EQ(lengths_of(rungs), (Lengths{12, 50, 200, 800}));
  EXPECT_EQ(starts_of(rungs), (Lengths{11, 2, 1, 1}));
  EXPECT_EQ(starts_of(rungs_of_budget(90, 1000, 3, 3, true)), (Lengths{42, 14, 4}));
}

TEST(SyncHalving, EndsWithTheDocumentedBreakdown) {
  const auto config =
      halving("sync_halving", 800, {{"num_rungs", 4}, {"divisor", 4}, {"step_budget", 480}}, true);
  const auto played = play(config, constant, 100);
  EXPECT_EQ(stops(played.paths), (std::map<std::int64_t, int>{{12, 9}, {50, 1}, {800, 1}}));
}

TEST(AdaptiveSimple, WorkedExamplesInSteps) {
  struct Case {
    std::int64_t max_steps;
    int max_trials;
    const char* mode;
    int max_rungs, trials;
    std::int64_t total;
  };
  const Case cases[] = {
      {64, 50, "standard", 5, 50, 332},      {100, 100, "standard", 5, 100, 830},
      {100, 100, "aggressive", 5, 100, 243}, {100, 100, "conservative", 5, 100, 3427},
      {10, 16, "standard", 5, 16, 43},       {1000, 500, "standard", 5, 500, 35901},
      {64, 50, "conservative", 3, 50, 1652}, {1, 1, "conservative", 3, 3, 6},
      {1, 1, "aggressive", 3, 1, 3},
  };
  for (const auto& c : cases) {
    const auto config =
        halving("adaptive_simple", c.max_steps,
                {{"max_trials", c.max_trials}, {"mode", c.mode}, {"max_rungs", c.max_rungs}}, true);
    const auto played = play(config, constant, 100);
    EXPECT_EQ(played.trials, c.trials) << c.max_steps << " " << c.max_trials << " " << c.mode;
    EXPECT_EQ(played.total, c.total) << c.max_steps << " " << c.max_trials << " " << c.mode;
  }
}

TEST(AdaptiveSimple, BreakdownOfTheFirstExample) {
  const auto config = halving("adaptive_simple", 64, {{"max_trials", 50}}, true);
  EXPECT_EQ(play(config, constant, 100).paths, (Paths{{{4}, 12},
                                                      {{4, 16}, 3},
                                                      {{4, 16, 64}, 1},
                                                      {{1}, 26},
                                                      {{1, 4}, 3},
                                                      {{1, 4, 16, 64}, 1},
                                                      {{1, 2}, 3},
                                                      {{1, 2, 4, 16, 64}, 1}}));
}

TEST(AdaptiveSimple, WorkedExamplesInUnits) {
  const auto played = play(halving("adaptive_simple", 1000, {{"max_trials", 16}}), constant);
  EXPECT_EQ(played.trials, 16);
  EXPECT_EQ(played.total, 3323);
  EXPECT_EQ(
      play(halving("adaptive_simple", 937, {{"max_trials", 100}, {"mode", "aggressive"}}), constant).total,
      1718);
  EXPECT_EQ(play(halving("adaptive_simple", 10, {{"max_trials", 16}}), constant).total, 46);
}

TEST(Adaptive, WorkedExamples) {
  struct Case {
    bool steps;
    std::int64_t target, budget;
    json::object fields;
    int trials;
    std::int64_t total;
  };
  const Case cases[] = {
      {true, 64, 1024, {{"mode", "aggressive"}, {"max_rungs", 3}}, 102, 996},
      {true, 64, 1024, {{"mode", "standard"}, {"max_rungs", 5}}, 356, 1012},
      {true, 64, 1024, {{"mode", "conservative"}, {"max_rungs", 3}}, 51, 984},
      {true, 32, 64, {{"mode", "standard"}, {"max_rungs", 2}}, 3, 72},
      {true, 800, 8000, {{"mode", "standard"}, {"max_rungs", 5}}, 303, 7678},
      {true, 800, 8000, {{"bracket_rungs", {2, 4}}}, 110, 7000},
      {false, 6400, 102400, {{"mode", "aggressive"}, {"max_rungs", 3}}, 102, 99600},
      {false, 6400, 102400, {{"mode", "standard"}, {"max_rungs", 5}}, 480, 95100},
      {false, 6400, 102400, {{"mode", "conservative"}, {"max_rungs", 3}}, 51, 98400},
  };
  for (const auto& c : cases) {
    auto fields = c.fields;
    if (c.steps)
      fields["step_budget"] = c.budget;
    else
      fields["budget"] = json::object{{"batches", c.budget}};
    const auto played = play(halving("adaptive", c.target, fields, c.steps), constant, c.steps ? 100 : 1);
    EXPECT_EQ(played.trials, c.trials) << c.target << " " << json::serialize(fields);
    EXPECT_EQ(played.total, c.total) << c.target << " " << json::serialize(fields);
  }
}

TEST(Halving, ABudgetBelowOneTrialIsRefused) {
  const auto refused = Searcher::make(halving("adaptive", 100, {{"budget", json::object{{"batches", 100}}}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "searcher.budget is 100; it must be greater than max_length, 100");
}

TEST(Halving, AnExitCountsAsTheWorstResultAndInvalidHyperparametersAreReplaced) {
  for (const auto reason : {ExitedReason::Errored, ExitedReason::InvalidHp}) {
    auto searcher = *Searcher::make(
        halving("async_halving", 90,
                {{"num_rungs", 2}, {"divisor", 3}, {"max_trials", 3}, {"max_concurrent_trials", 3}}));
    const auto first = testing::all_of<Create>(searcher.start());
    ASSERT_EQ(first.size(), 3u);
    const auto after = searcher.trial_exited_early(first[0].request_id, reason);
    EXPECT_EQ(testing::all_of<Create>(after).size(), reason == ExitedReason::InvalidHp ? 1u : 0u);
    searcher.trial_closed(first[0].request_id);
    searcher.validation_completed(first[1].request_id, 2, 30);
    const auto promoted =
        testing::all_of<ValidateAfter>(searcher.validation_completed(first[2].request_id, 1, 30));
    if (reason == ExitedReason::Errored) {
      ASSERT_EQ(promoted.size(), 1u);
      EXPECT_EQ(promoted[0], (ValidateAfter{first[2].request_id, 90}));
    }
  }
}

}  // namespace
}  // namespace det::search
