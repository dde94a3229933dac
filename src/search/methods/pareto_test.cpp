#include "det/search/methods/pareto.h"

#include <gtest/gtest.h>

#include <cmath>

#include "det/base/random.h"

namespace det::search {
namespace {

using Points = std::vector<std::vector<double>>;

TEST(Pareto, KeepsWhatNothingElseBeatsInEverything) {
  EXPECT_EQ(pareto_front({{3, 1}, {1, 3}, {2, 2}, {3, 3}, {2, 2.5}}), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(pareto_front({{1, 1}, {1, 1}, {1, 2}}), (std::vector<std::size_t>{0, 1}))
      << "equal ones are all in it";
  EXPECT_EQ(pareto_front({{NAN, 0}, {5, 5}}), (std::vector<std::size_t>{1}));
  EXPECT_EQ(pareto_front({{INFINITY, 0}, {5, 5}}), (std::vector<std::size_t>{0, 1}));
  EXPECT_TRUE(pareto_front({}).empty());
}

TEST(Pareto, IsWhatComparingAllWithAllGives) {
  Random random(4);
  for (int round = 0; round < 200; ++round) {
    Points points(static_cast<std::size_t>(random.below(30)));
    const auto dimension = 1 + random.below(4);
    for (auto& point : points)
      for (std::int64_t i = 0; i < dimension; ++i) point.push_back(static_cast<double>(random.below(6)));
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < points.size(); ++i) {
      bool beaten = false;
      for (const auto& other : points) {
        bool as_small = true;
        for (std::size_t k = 0; k < other.size(); ++k) as_small = as_small && other[k] <= points[i][k];
        beaten = beaten || (as_small && other != points[i]);
      }
      if (!beaten) expected.push_back(i);
    }
    ASSERT_EQ(pareto_front(points), expected);
  }
}

}  // namespace
}  // namespace det::search
