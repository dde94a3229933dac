#include "det/master/ledger/even_clock.h"

#include <gtest/gtest.h>

namespace det::master {
namespace {

struct EvenClockTest : ::testing::Test {
  void pass(std::int64_t seconds) {
    wall = wall + seconds * kSecond;
    steady = steady + seconds * kSecond;
  }
  Time wall{1'000'000 * kSecond}, steady{50 * kSecond};
  EvenClock clock{[this] { return wall; }, [this] { return steady; }};
};

TEST_F(EvenClockTest, IsTheWallsWhereNobodySetsIt) {
  for (const int seconds : {0, 1, 100, 100'000}) {
    pass(seconds);
    EXPECT_EQ(clock(), wall);
  }
}

TEST_F(EvenClockTest, FollowsAClockThatWasSetForwardSlowly) {
  clock();
  wall = wall + 7200 * kSecond;
  const auto before = clock();
  pass(10);
  EXPECT_EQ(clock() - before, 10 * kSecond + kSecond / 2);
  EXPECT_EQ(wall - clock(), 7200 * kSecond - kSecond / 2);
  for (int i = 0; i < 144'010; ++i) {
    pass(1);
    clock();
  }
  EXPECT_EQ(clock(), wall);
}

TEST_F(EvenClockTest, GoesOnWhereTheClockWasSetBack) {
  clock();
  wall = wall + -40 * 86400 * kSecond;
  const auto before = clock();
  pass(100);
  EXPECT_EQ(clock() - before, 95 * kSecond) << "and never stands still";
}

TEST_F(EvenClockTest, FollowsCorrectionsOfAnExactClockAtOnce) {
  clock();
  pass(10);
  wall = wall + 1000;  // a millisecond
  EXPECT_EQ(clock(), wall);
}

}  // namespace
}  // namespace det::master
