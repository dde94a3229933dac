#include "det/search/preview.h"

#include <gtest/gtest.h>

#include "det/search/testing.h"

namespace det::search {
namespace {

using testing::search_config;

TEST(Preview, OfASingleSearchIsOneTrialOfTheWholeLength) {
  EXPECT_EQ(*preview(search_config("single")), (Preview{{{1, {100}}}, 1, 100}));
}

TEST(Preview, OfARandomSearchIsMaxTrialsOfTheWholeLength) {
  EXPECT_EQ(*preview(search_config("random", 9, 4)), (Preview{{{9, {100}}}, 9, 900}));
}

TEST(Preview, OfAGridIsItsProduct) {
  auto config = search_config("grid", 1, 16);
  config.hyperparameters = testing::small_grid();
  EXPECT_EQ(*preview(config), (Preview{{{6, {100}}}, 6, 600}));
}

TEST(Preview, OfTrialsThatDecideThemselvesHasNoLength) {
  auto config = search_config("random", 3);
  config.generation = config::Generation::Time;
  config.searcher.max_length.count = 0;
  EXPECT_EQ(*preview(config), (Preview{{{3, {}}}, 3, 0}));
}

TEST(Preview, OfAScriptWithoutMaxLengthHasNoLengthEither) {
  for (const auto* name : {"single", "random", "grid", "tpe"}) {
    auto config = search_config(name, 6, 2);
    config.hyperparameters = testing::small_grid();
    config.searcher.max_length.count = 0;
    const auto played = preview(config);
    ASSERT_TRUE(played) << name << ": " << played.error().message();
    const std::int64_t trials = name == std::string("single") ? 1 : 6;
    EXPECT_EQ(*played, (Preview{{{trials, {}}}, trials, 0})) << name;
  }
  EXPECT_FALSE(preview([] {
    auto config = search_config("adaptive_asha", 6);
    config.searcher.max_length.count = 0;
    return config;
  }()));
}

TEST(TrainingTimes, OfSingleRandomAndGridAreOneRowToCompletion) {
  for (const auto* name : {"single", "random", "grid"}) {
    auto config = search_config(name, 3);
    config.hyperparameters = testing::small_grid();
    const auto played = *preview(config);
    EXPECT_EQ(training_times(config, played), (std::vector<PreviewRow>{{played.trials, {}}})) << name;
  }
}

TEST(TrainingTimes, OfHalvingAreOneRowALengthAscending) {
  const Preview played{
      {{2, {100}}, {4, {100, 300}}, {1, {100, 300, 900}}, {3, {300}}, {1, {300, 900}}}, 11, 0};
  EXPECT_EQ(training_times(search_config("adaptive_asha"), played),
            (std::vector<PreviewRow>{{2, {100}}, {7, {300}}, {2, {900}}}));
}

TEST(Preview, OfMoreThan64BitsCanCountIsRefusedWithBothNumbers) {
  auto config = search_config("random", 3);
  config.searcher.max_length.count = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(preview(config).error().message(),
            "the search trains 3 trials for 9223372036854775807 each; the total does not fit in 64 bits");
}

TEST(Preview, DoesNotDependOnTheWorldWhereResultsDoNotMatter) {
  for (std::uint32_t world = 1; world < 50; ++world)
    EXPECT_EQ(*preview(search_config("random", 20, 3), world), *preview(search_config("random", 20, 3)));
}

TEST(Preview, OfHalvingWithMaxTimeIsTheDocumentedTable) {
  struct Case {
    std::int64_t max_time;
    int trials;
    const char* mode;
    int divisor, max_rungs;
    std::map<std::int64_t, std::int64_t> stops;
  };
  const Case cases[] = {
      {900, 10, "standard", 3, 10, {{100, 5}, {300, 3}, {900, 2}}},
      {1000, 16, "standard", 4, 5, {{62, 9}, {250, 5}, {1000, 2}}},
      {937, 100, "standard", 4, 5, {{14, 53}, {58, 30}, {234, 13}, {937, 4}}},
      {937, 100, "aggressive", 4, 5, {{14, 75}, {58, 19}, {234, 5}, {937, 1}}},
      {937, 100, "conservative", 4, 5, {{14, 51}, {58, 28}, {234, 13}, {937, 8}}},
      {16000, 500, "conservative", 4, 5, {{62, 256}, {250, 143}, {1000, 63}, {4000, 25}, {16000, 13}}}};
  for (const auto& c : cases) {
    auto config = search_config("adaptive_asha", c.trials, 5);
    config.generation = config::Generation::Time;
    config.searcher.max_length.count = c.max_time;
    config.searcher.fields = {{"name", "adaptive_asha"},  {"mode", c.mode},
                              {"divisor", c.divisor},     {"max_rungs", c.max_rungs},
                              {"max_trials", c.trials},   {"max_concurrent_trials", 5},
                              {"time_metric", "batches"}, {"max_time", c.max_time}};
    const auto played = preview(config, 7);
    ASSERT_TRUE(played) << played.error().message();
    std::map<std::int64_t, std::int64_t> stops;
    for (const auto& row : played->rows) stops[row.lengths.at(0)] = row.trials;
    EXPECT_EQ(stops, c.stops) << c.max_time << " " << c.mode;
    EXPECT_EQ(played->trials, c.trials);
  }
}

TEST(Preview, OfABadConfigurationSaysWhatIsWrong) {
  EXPECT_EQ(preview(search_config("random", 0)).error().message(),
            "searcher.max_trials is 0; it must be from 1 to 4294967295");
}

TEST(Preview, OfAHugeSearchTakesNoTime) {
  auto config = search_config("random", 100'000, 16);
  config.hyperparameters = testing::documented_space();
  EXPECT_EQ(*preview(config), (Preview{{{100'000, {100}}}, 100'000, 10'000'000}));
}

}  // namespace
}  // namespace det::search
