#include <gtest/gtest.h>

#include "det/elastic/elastic.h"

namespace det::elastic {
namespace {

using Waits = std::vector<std::int64_t>;

/// An allotment that was granted at 0 and ends so many seconds later.
Allotment ending(std::int64_t seconds) {
  Allotment allotment{.id = "1", .state = State::Running};
  allotment.granted = Time{};
  allotment.ends = Time{seconds * kSecond};
  return allotment;
}

std::int64_t seconds(std::optional<Time> time) {
  return time ? time->microseconds / kSecond : -1;
}

TEST(Remaining, IsUnknownWhereNobodySaidWhenAnAllotmentEnds) {
  const Allotment forever{.id = "1", .state = State::Running};
  EXPECT_FALSE(leaves_at({}, forever));
  EXPECT_FALSE(closes_at({}, forever));
  EXPECT_FALSE(asks_ahead_at({}, {100}, forever));
}

TEST(Remaining, NothingNewStartsWhereItWouldSoonLeave) {
  struct Case {
    std::int64_t life, grace, useful, leaves, closes;
  };
  for (const auto& c : std::vector<Case>{{3600, 120, 60, 3480, 3420},
                                         {3600, 120, 0, 3480, 3480},
                                         {200, 120, 60, 80, 60},  // a quarter of its life at most
                                         {100, 120, 60, -20, -20}}) {
    const Limits limits{.grace_period = c.grace, .useful_time = c.useful};
    EXPECT_EQ(seconds(leaves_at(limits, ending(c.life))), c.leaves);
    EXPECT_EQ(leaves_at(limits, ending(c.life))->microseconds, c.leaves * kSecond);
    EXPECT_EQ(closes_at(limits, ending(c.life))->microseconds, c.closes * kSecond) << c.life;
  }
}

TEST(Remaining, TheNextNodesAreRequestedAsEarlyAsTheLastOnesTook) {
  struct Case {
    std::string title;
    std::int64_t life, lead;
    Waits waits;
    std::int64_t asks;
  };
  const std::vector<Case> cases = {
      {"configured", 3720, 600, {10}, 3000},
      {"not before", 3720, 0, {10}, 3600},
      {"no more than half of its life", 3720, 7200, {}, 1800},
      {"nothing learnt yet", 3720, kLearnt, {}, 3600},
      {"one wait", 3720, kLearnt, {50}, 3550},
      {"three of four were not longer", 3720, kLearnt, {90, 10, 30, 20}, 3570},
      {"one exception of eight counts for nothing", 3720, kLearnt, {5, 5, 5, 5, 5, 5, 5, 1000}, 3595},
  };
  for (const auto& c : cases) {
    const Limits limits{.grace_period = 120, .lead_time = c.lead};
    EXPECT_EQ(seconds(asks_ahead_at(limits, c.waits, ending(c.life))), c.asks) << c.title;
  }
}

}  // namespace
}  // namespace det::elastic
