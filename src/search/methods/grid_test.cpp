#include "det/search/methods/grid_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "det/search/searcher.h"
#include "det/search/testing.h"

namespace det::search {
namespace {

using config::Generation;
using testing::all_of;

std::string text(const std::vector<json::value>& values) {
  return json::serialize(json::to_json(values));
}

TEST(GridAxis, IntegersAreSpreadEvenlyAndRounded) {
  // clang-format off
  struct { std::int64_t minval, maxval, count; const char* expected; } cases[] = {
      {0,  7,  1,  "[4]"},
      {0,  7,  2,  "[0,7]"},
      {0,  7,  3,  "[0,4,7]"},
      {0,  7,  5,  "[0,2,4,5,7]"},
      {0,  7,  10, "[0,1,2,3,4,5,6,7]"},
      {16, 64, 5,  "[16,28,40,52,64]"},
      {16, 64, 10, "[16,21,27,32,37,43,48,53,59,64]"},
      {-3, 0,  1,  "[-2]"},
      {5,  5,  4,  "[5]"},
  };
  // clang-format on
  for (const auto& c : cases)
    EXPECT_EQ(text(axis_values({config::Integer{c.minval, c.maxval, c.count}})), c.expected)
        << c.minval << ".." << c.maxval << " count " << c.count;
}

TEST(GridAxis, TheWholeRangeOfIntegersHasItsEnds) {
  const auto lowest = std::numeric_limits<std::int64_t>::min();
  const auto highest = std::numeric_limits<std::int64_t>::max();
  const auto values = axis_values({config::Integer{lowest, highest, 3}});
  EXPECT_EQ(values, (std::vector<json::value>{lowest, 0, highest}));
}

TEST(GridAxis, DoublesAreSpreadEvenly) {
  EXPECT_EQ(axis_values({config::Double{0, 1, 3}}), (std::vector<json::value>{0.0, 0.5, 1.0}));
  EXPECT_EQ(axis_values({config::Double{0, 1, 1}}), (std::vector<json::value>{0.5}));
}

TEST(GridAxis, LogsAreSpreadEvenlyInTheExponent) {
  const auto three = axis_values({config::Log{10, -4, -2, 3}});
  ASSERT_EQ(three.size(), 3u);
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(three[static_cast<std::size_t>(i)].as_double(), std::pow(10, i - 4), 1e-15) << i;
  EXPECT_NEAR(axis_values({config::Log{10, -4, -2, 1}})[0].as_double(), 1e-3, 1e-15);
}

TEST(GridPoints, TheLastAxisVariesFastest) {
  const auto points = GridPoints::make(testing::small_grid());
  ASSERT_TRUE(points);
  ASSERT_EQ(points->size(), 6);
  std::vector<json::value> all;
  for (std::int64_t i = 0; i < 6; ++i) all.emplace_back(points->at(i));
  EXPECT_EQ(
      text(all),
      R"([{"a":0,"b":"x"},{"a":0,"b":"y"},{"a":1,"b":"x"},{"a":1,"b":"y"},{"a":2,"b":"x"},{"a":2,"b":"y"}])");
}

TEST(GridPoints, EachNestedHyperparameterIsAnAxis) {
  const auto points = GridPoints::make(
      {{"k", {config::Constant{1}}},
       {"net",
        {config::Nested{{{"depth", {config::Integer{1, 2, 2}}},
                         {"empty", {config::Nested{}}},
                         {"opt", {config::Nested{{{"name", {config::Categorical{{"sgd", "adam"}}}}}}}}}}}}});
  ASSERT_TRUE(points);
  EXPECT_EQ(points->size(), 4);
  EXPECT_EQ(json::serialize(points->at(1)), R"({"k":1,"net":{"depth":1,"empty":{},"opt":{"name":"adam"}}})");
}

TEST(GridPoints, NoAxesMakeOnePoint) {
  EXPECT_EQ(GridPoints::make({})->size(), 1);
  EXPECT_EQ(json::serialize(GridPoints::make({{"k", {config::Constant{64}}}})->at(0)), R"({"k":64})");
}

TEST(GridPoints, RangesWithoutCountsAreAllNamed) {
  const auto points = GridPoints::make({{"a", {config::Double{0, 1, {}}}},
                                        {"b", {config::Nested{{{"c", {config::Log{10, -4, -2, {}}}}}}}},
                                        {"d", {config::Integer{0, 9, 0}}}});
  ASSERT_FALSE(points);
  EXPECT_EQ(points.error().message(),
            "these hyperparameters must specify counts for grid search: a, b.c\n"
            "hyperparameters.d.count is 0; it must be at least 1");
}

TEST(GridPoints, MoreThan2000AreRefusedBeforeOneIsMade) {
  const config::Hyperparameter huge{config::Double{0, 1, std::int64_t{1} << 62}};
  const auto points = GridPoints::make({{"a", huge}, {"b", huge}});
  ASSERT_FALSE(points);
  EXPECT_THAT(points.error().message(),
              ::testing::StartsWith("number of trials for grid search must be <= 2000; it is "));
  EXPECT_TRUE(GridPoints::make({{"a", {config::Integer{1, 2000, 2000}}}}));
}

std::vector<std::string> created(Searcher& searcher) {
  std::vector<std::string> points;
  auto operations = searcher.start();
  while (true) {
    std::vector<std::string> ids;
    for (const auto& create : all_of<Create>(operations)) {
      points.push_back(json::serialize(create.hparams));
      ids.push_back(create.request_id);
    }
    operations.clear();
    for (const auto& id : ids)
      for (auto& operation : searcher.trial_closed(id)) operations.push_back(std::move(operation));
    if (ids.empty()) return points;
  }
}

TEST(Grid, IsTakenFromItsEndSinceMaxLength) {
  for (const std::int64_t concurrent : {0, 1, 4, 100}) {
    auto config = testing::search_config("grid", 1, concurrent);
    config.hyperparameters = testing::small_grid();
    auto searcher = Searcher::make(config);
    EXPECT_EQ(created(*searcher),
              (std::vector<std::string>{R"({"a":2,"b":"y"})", R"({"a":2,"b":"x"})", R"({"a":1,"b":"y"})",
                                        R"({"a":1,"b":"x"})", R"({"a":0,"b":"y"})", R"({"a":0,"b":"x"})"}));
  }
}

TEST(Grid, IsCreatedAtOnceAndInOrderWithMaxSteps) {
  auto config = testing::search_config("grid", 1, 2);
  config.generation = Generation::Steps;
  config.hyperparameters = testing::small_grid();
  const auto creates = all_of<Create>(Searcher::make(config)->start());
  ASSERT_EQ(creates.size(), 6u);
  EXPECT_EQ(json::serialize(creates.front().hparams), R"({"a":0,"b":"x"})");
  EXPECT_EQ(json::serialize(creates.back().hparams), R"({"a":2,"b":"y"})");
}

TEST(Grid, DrawsOnlyRequestIdsAndSeeds) {
  auto config = testing::search_config("grid");
  config.hyperparameters = testing::small_grid();
  config.experiment_seed = 11;
  Random stream(11);
  for (const auto& create : all_of<Create>(Searcher::make(config)->start())) {
    EXPECT_EQ(create.request_id, stream.uuid());
    EXPECT_EQ(create.trial_seed, stream.below(std::int64_t{1} << 31));
  }
}

TEST(Grid, AnInvalidPointIsNotReplaced) {
  auto config = testing::search_config("grid", 1, 1);
  config.hyperparameters = {{"a", {config::Integer{0, 1, 2}}}};
  auto searcher = Searcher::make(config);
  const auto first = all_of<Create>(searcher->start())[0].request_id;
  EXPECT_TRUE(searcher->trial_exited_early(first, ExitedReason::InvalidHp).empty());
  const auto second = all_of<Create>(searcher->trial_closed(first));
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(all_of<Shutdown>(searcher->trial_closed(second[0].request_id)), (std::vector<Shutdown>{{}}));
  EXPECT_EQ(searcher->progress(), 1);
}

}  // namespace
}  // namespace det::search
