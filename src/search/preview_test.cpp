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

TEST(Preview, DoesNotDependOnTheWorldWhereResultsDoNotMatter) {
  for (std::uint32_t world = 1; world < 50; ++world)
    EXPECT_EQ(*preview(search_config("random", 20, 3), world), *preview(search_config("random", 20, 3)));
}

TEST(Preview, OfABadConfigurationSaysWhatIsWrong) {
  EXPECT_EQ(preview(search_config("random", 0)).error().message(),
            "searcher.max_trials is 0; must be from 1 to 4294967295");
}

TEST(Preview, OfAHugeSearchTakesNoTime) {
  auto config = search_config("random", 100'000, 16);
  config.hyperparameters = testing::documented_space();
  EXPECT_EQ(*preview(config), (Preview{{{100'000, {100}}}, 100'000, 10'000'000}));
}

}  // namespace
}  // namespace det::search
