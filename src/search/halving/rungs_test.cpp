// The tables of searchers.md §6–§9 on the arithmetic of successive halving.
#include "det/search/halving/rungs.h"

#include <gtest/gtest.h>

namespace det::search {
namespace {

using Lengths = std::vector<std::int64_t>;

TEST(Rungs, LengthsAreTheLongestDividedDown) {
  EXPECT_EQ(rung_lengths(800, 4, 4), (Lengths{12, 50, 200, 800}));
  EXPECT_EQ(rung_lengths(90, 3, 3), (Lengths{10, 30, 90}));
  EXPECT_EQ(rung_lengths(937, 4, 4), (Lengths{14, 58, 234, 937}));
  EXPECT_EQ(rung_lengths(1000, 3, 6), (Lengths{4, 12, 37, 111, 333, 1000}));
  EXPECT_EQ(rung_lengths(10, 4, 5), (Lengths{1, 1, 1, 2, 10}));
}

TEST(Rungs, EachModeHasItsBrackets) {
  EXPECT_EQ(bracket_rungs("standard", 1), (std::vector<int>{1}));
  EXPECT_EQ(bracket_rungs("standard", 2), (std::vector<int>{2, 1}));
  EXPECT_EQ(bracket_rungs("standard", 3), (std::vector<int>{3, 2}));
  EXPECT_EQ(bracket_rungs("standard", 4), (std::vector<int>{4, 3, 2}));
  EXPECT_EQ(bracket_rungs("standard", 5), (std::vector<int>{5, 4, 3}));
  EXPECT_EQ(bracket_rungs("conservative", 3), (std::vector<int>{3, 2, 1}));
  EXPECT_EQ(bracket_rungs("aggressive", 3), (std::vector<int>{3}));
}

TEST(Rungs, AsManyAsTheCountAllowsAndAsTheOriginalCounted) {
  EXPECT_EQ(rungs_for(243, 3, 64), 6);
  EXPECT_EQ(rungs_for(242, 3, 64), 5);
  EXPECT_EQ(rungs_for(125, 5, 64), 4);
  EXPECT_EQ(rungs_for(216, 6, 64), 4);
  EXPECT_EQ(rungs_for(64, 4, 64), 4);
  EXPECT_EQ(rungs_for(1000, 10, 64), 3);  // the exact value is 4
  EXPECT_EQ(rungs_for(1001, 10, 64), 4);
  EXPECT_EQ(rungs_for(2744, 14, 64), 3);
  EXPECT_EQ(rungs_for(1, 4, 64), 1);
  EXPECT_EQ(rungs_for(1'000'000, 4, 5), 5);
}

TEST(Rungs, BracketsWithMoreRungsGetMoreTrials) {
  EXPECT_EQ(bracket_trials({3, 2, 1}, 3, 20), (Lengths{12, 5, 3}));
  EXPECT_EQ(bracket_trials({4, 3}, 3, 50), (Lengths{35, 15}));
  EXPECT_EQ(bracket_trials({3, 2}, 4, 50), (Lengths{37, 13}));
  EXPECT_EQ(bracket_trials({4, 3, 2}, 4, 100), (Lengths{70, 22, 8}));
  EXPECT_EQ(bracket_trials({5, 4, 3, 2, 1}, 4, 500), (Lengths{341, 105, 35, 13, 6}));
  EXPECT_EQ(bracket_trials({4, 3, 2}, 4, 1), (Lengths{1, 1, 1}));
}

TEST(Rungs, BracketsShareTheConcurrency) {
  EXPECT_EQ(bracket_concurrency({9, 3, 1}, 3, 0), (Lengths{3, 3, 3}));
  EXPECT_EQ(bracket_concurrency({9, 3, 1}, 3, 11), (Lengths{4, 4, 3}));
  EXPECT_EQ(bracket_concurrency({40, 10}, 4, 0), (Lengths{10, 10}));
  EXPECT_EQ(bracket_concurrency({70, 22, 8}, 4, 16), (Lengths{6, 5, 5}));
  EXPECT_EQ(bracket_concurrency({70, 22, 8}, 4, 1), (Lengths{1, 1, 1}));
}

}  // namespace
}  // namespace det::search
