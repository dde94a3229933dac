#include "det/access/rate.h"

#include <gtest/gtest.h>

namespace det::access {
namespace {

const Time kStart{1'700'000'000'000'000};

TEST(RateLimit, GrantsABurstAndThenAsMuchAsTimeGivesBack) {
  RateLimit limit({.per_second = 10, .burst = 20});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(limit.take("eve", 1, kStart), 0) << i;
  EXPECT_EQ(limit.take("eve", 1, kStart), 1);
  EXPECT_EQ(limit.take("eve", 20, kStart), 2) << "it says when";
  EXPECT_EQ(limit.take("bob", 1, kStart), 0) << "each has a bucket";
  EXPECT_EQ(limit.take("eve", 5, kStart + kSecond / 2), 0);
  EXPECT_EQ(limit.take("eve", 1, kStart + kSecond / 2), 1);
  EXPECT_EQ(limit.take("eve", 20, kStart + 60 * kSecond), 0);
}

TEST(RateLimit, WhatIsRefusedIsNotCounted) {
  RateLimit limit({.per_second = 1, .burst = 2});
  EXPECT_EQ(limit.take("eve", 2, kStart), 0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(limit.take("eve", 1, kStart), 1);
  EXPECT_EQ(limit.take("eve", 1, kStart + kSecond), 0);
}

TEST(RateLimit, ACallThatCostsMoreThanABucketIsGrantedToWhoAskedForNothing) {
  RateLimit limit({.per_second = 1, .burst = 5});
  EXPECT_EQ(limit.take("eve", 50, kStart), 0);
  EXPECT_EQ(limit.take("eve", 50, kStart), 5);
}

TEST(RateLimit, ZeroIsNoLimit) {
  RateLimit limit({.per_second = 0, .burst = 0});
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(limit.take("eve", 1000, kStart), 0);
}

TEST(RateLimit, RemembersABoundedNumberAndForgetsWhoAskedForLeast) {
  RateLimit limit({.per_second = 1, .burst = 10, .remembered = 3});
  EXPECT_EQ(limit.take("greedy", 10, kStart), 0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(limit.take("caller " + std::to_string(i), 1, kStart), 0);
  EXPECT_GT(limit.take("greedy", 1, kStart), 0);
}

TEST(RateLimit, AClockThatGoesBackGivesNothing) {
  RateLimit limit({.per_second = 1, .burst = 1});
  EXPECT_EQ(limit.take("eve", 1, kStart), 0);
  EXPECT_EQ(limit.take("eve", 1, kStart + -1000 * kSecond), 1);
}

}  // namespace
}  // namespace det::access
