#include "det/access/throttle.h"

#include <gtest/gtest.h>

namespace det::access {
namespace {

Time at(std::int64_t seconds) {
  return Time{} + seconds * kSecond;
}

TEST(Throttle, TheFirstFailuresCostNothingThenTheDelayDoublesUpToItsLimit) {
  Throttle throttle({.free_per_user = 2, .free_per_address = 100, .longest_seconds = 10, .remembered = 100});
  std::vector<std::int64_t> waits;
  auto now = at(1000);
  for (int i = 0; i < 8; ++i) {
    throttle.failed("ann", "10.0.0.1", now);
    waits.push_back(throttle.wait("ann", "10.0.0.1", now));
    now = now + waits.back() * kSecond;
    EXPECT_EQ(throttle.wait("ann", "10.0.0.1", now), 0);
  }
  EXPECT_EQ(waits, (std::vector<std::int64_t>{0, 0, 1, 2, 4, 8, 10, 10}));
}

TEST(Throttle, NobodyLocksAnotherOutFromElsewhere) {
  Throttle throttle({.free_per_user = 1, .free_per_address = 100, .longest_seconds = 10, .remembered = 100});
  for (int i = 0; i < 5; ++i) throttle.failed("ann", "10.0.0.1", at(0));
  EXPECT_GT(throttle.wait("ann", "10.0.0.1", at(0)), 0);
  EXPECT_EQ(throttle.wait("ann", "10.0.0.2", at(0)), 0);
  EXPECT_EQ(throttle.wait("bob", "10.0.0.1", at(0)), 0);
}

TEST(Throttle, WhoTriesManyNamesIsSlowedDownForAllOfThem) {
  Throttle throttle({.free_per_user = 5, .free_per_address = 3, .longest_seconds = 10, .remembered = 100});
  for (int i = 0; i < 4; ++i) throttle.failed("user" + std::to_string(i), "10.0.0.1", at(0));
  EXPECT_EQ(throttle.wait("never seen", "10.0.0.1", at(0)), 1);
}

TEST(Throttle, ASuccessForgetsTheFailuresAndSoDoesALongTime) {
  Throttle throttle({.free_per_user = 1, .free_per_address = 100, .longest_seconds = 10, .remembered = 100});
  for (int i = 0; i < 3; ++i) throttle.failed("ann", "10.0.0.1", at(0));
  EXPECT_EQ(throttle.wait("ann", "10.0.0.1", at(0)), 2);
  throttle.succeeded("ann", "10.0.0.1");
  EXPECT_EQ(throttle.wait("ann", "10.0.0.1", at(0)), 0);
  for (int i = 0; i < 3; ++i) throttle.failed("ann", "10.0.0.1", at(0));
  throttle.failed("ann", "10.0.0.1", at(21));
  EXPECT_EQ(throttle.wait("ann", "10.0.0.1", at(21)), 0);
}

TEST(Throttle, RemembersABoundedNumberAndForgetsTheOldest) {
  Throttle throttle({.free_per_user = 0, .free_per_address = 1000, .longest_seconds = 300, .remembered = 10});
  for (int i = 0; i < 20; ++i) throttle.failed("user" + std::to_string(i), "10.0.0.1", at(0));
  EXPECT_GT(throttle.wait("user19", "10.0.0.1", at(0)), 0);
  EXPECT_EQ(throttle.wait("user1", "10.0.0.1", at(0)), 0);
}

}  // namespace
}  // namespace det::access
