#include "det/search/methods/population_based.h"

#include <gtest/gtest.h>

#include <deque>

#include "det/search/sampling/sampling.h"
#include "det/search/searcher.h"
#include "det/search/testing.h"

namespace det::search {
namespace {

config::ExperimentConfig population() {
  auto config = testing::search_config("pbt");
  config.hyperparameters = testing::documented_space();
  config.searcher.fields = {{"name", "pbt"},
                            {"population_size", 10},
                            {"num_rounds", 4},
                            {"length_per_round", {{"batches", 500}}},
                            {"replace_function", {{"truncate_fraction", 0.3}}},
                            {"explore_function", {{"resample_probability", 0.2}, {"perturb_factor", 0.2}}}};
  return config;
}

TEST(PopulationBased, TheDocumentedExampleHas19TrialsAndTrains20000Batches) {
  auto searcher = *Searcher::make(population());
  std::deque<ValidateAfter> queue;
  std::map<RequestId, std::int64_t> lengths;
  std::map<RequestId, RequestId> parents;
  std::deque<RequestId> closed;
  const auto take = [&](const Operations& operations) {
    for (const auto& create : testing::all_of<Create>(operations)) parents[create.request_id] = create.parent;
    for (const auto& after : testing::all_of<ValidateAfter>(operations)) queue.push_back(after);
    for (const auto& close : testing::all_of<Close>(operations)) closed.push_back(close.request_id);
  };
  take(searcher.start());
  double metric = 0;
  while (!queue.empty()) {
    const auto after = queue.front();
    queue.pop_front();
    lengths[after.request_id] = after.length;
    take(searcher.validation_completed(after.request_id, metric += 1, after.length));
  }
  std::int64_t total = 0;
  for (const auto& [trial, length] : lengths) total += length;
  EXPECT_EQ(lengths.size(), 19u);
  EXPECT_EQ(total, 20'000);
  EXPECT_EQ(closed.size(), 19u);
  EXPECT_EQ(
      std::count_if(parents.begin(), parents.end(), [](const auto& one) { return !one.second.empty(); }), 9);
  EXPECT_EQ(searcher.progress(), 1.0);
}

TEST(PopulationBased, ATrialThatWasClosedUnaskedIsNotClosedAgainByTheReportsOfTheOthers) {
  auto searcher = *Searcher::make(population());
  const auto first = testing::all_of<Create>(searcher.start());
  EXPECT_TRUE(searcher.trial_closed(first[0].request_id).empty());
  Operations end;
  for (std::size_t i = 1; i < first.size(); ++i)
    end = searcher.validation_completed(first[i].request_id, static_cast<double>(i), 500);
  for (const auto& close : testing::all_of<Close>(end)) EXPECT_NE(close.request_id, first[0].request_id);
  EXPECT_EQ(testing::all_of<Close>(end).size(), 2u) << "of the worst three, one was gone";
}

TEST(PopulationBased, TheBestAreCopiedAndTheWorstClosed) {
  auto searcher = *Searcher::make(population());
  const auto first = testing::all_of<Create>(searcher.start());
  Operations end;
  for (std::size_t i = 0; i < first.size(); ++i)
    end = searcher.validation_completed(first[i].request_id, static_cast<double>(i), 500);
  std::set<RequestId> closed, parents;
  for (const auto& close : testing::all_of<Close>(end)) closed.insert(close.request_id);
  for (const auto& create : testing::all_of<Create>(end)) parents.insert(create.parent);
  EXPECT_EQ(closed, (std::set<RequestId>{first[7].request_id, first[8].request_id, first[9].request_id}));
  EXPECT_EQ(parents, (std::set<RequestId>{first[0].request_id, first[1].request_id, first[2].request_id}));
}

TEST(PopulationBased, ExploringStaysInTheRange) {
  Random random(7);
  const PopulationBased::Options options{.resample_probability = 0.1, .perturb_factor = 0.5};
  auto values = sample(testing::documented_space(), config::Generation::Length, random);
  for (int i = 0; i < 1000; ++i) {
    values = explore(testing::documented_space(), values, options, config::Generation::Length, random);
    const auto n = *json::to_int64(values.at("n"));
    EXPECT_TRUE(n >= 1 && n <= 10) << n;
    const auto dropout = *json::to_double(values.at("dropout"));
    EXPECT_TRUE(dropout >= 0.2 && dropout <= 0.8) << dropout;
    const auto rate = *json::to_double(values.at("learning_rate"));
    EXPECT_TRUE(rate >= 1e-4 * 0.999 && rate <= 1e-2 * 1.001) << rate;
    EXPECT_EQ(values.at("k"), json::value(64));
  }
}

}  // namespace
}  // namespace det::search
