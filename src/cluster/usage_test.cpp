#include "det/cluster/usage.h"

#include <gtest/gtest.h>

namespace det::cluster {
namespace {

constexpr std::int64_t kHour = 3600 * kSecond;
const Time kMidnight = *parse_rfc3339("2026-11-30T00:00:00Z");

Usage used(Time from, std::optional<Time> until, int slots, std::string user = "ada") {
  Usage usage{.allocation = {},
              .username = std::move(user),
              .resource_pool = "gpus",
              .workspace = "team",
              .labels = {}};
  usage.allocation.start_time = from;
  usage.allocation.end_time = until;
  experiment::AllocationShare share{.agent = "a", .slots = {}};
  for (int i = 0; i < slots; ++i) share.slots.push_back(i);
  usage.allocation.shares = {share};
  return usage;
}

double cost(const std::vector<UsageRow>& rows, const std::string& type, const std::string& key) {
  double sum = 0;
  for (const auto& row : rows)
    if (row.aggregation_type == type && row.aggregation_key == key) sum += row.cost;
  return sum;
}

double seconds(const std::vector<UsageRow>& rows, const std::string& type, const std::string& key,
               const std::string& date) {
  for (const auto& row : rows)
    if (row.aggregation_type == type && row.aggregation_key == key && row.date == date) return row.seconds;
  return -1;
}

TEST(Usage, WhatCrossesMidnightCountsOnBothDays) {
  const auto rows = aggregate({used(kMidnight + -kHour, kMidnight + 2 * kHour, 2)}, kMidnight + -24 * kHour,
                              kMidnight + 48 * kHour, kMidnight + 48 * kHour, Period::Day);
  EXPECT_EQ(seconds(rows, "total", "total", "2026-11-29"), 2 * 3600);
  EXPECT_EQ(seconds(rows, "total", "total", "2026-11-30"), 4 * 3600);
  EXPECT_EQ(seconds(rows, "agent", "a", "2026-11-30"), 4 * 3600);
  EXPECT_EQ(seconds(rows, "workspace", "team", "2026-11-30"), 4 * 3600);
}

TEST(Usage, WhatStillRunsCountsUntilNowAndNothingOutsideTheTimesAskedFor) {
  const auto all =
      std::vector{used(kMidnight + -kHour, std::nullopt, 1), used(kMidnight, kMidnight, 1, "bob")};
  const auto rows = aggregate(all, kMidnight, kMidnight + 24 * kHour, kMidnight + kHour / 2, Period::Day);
  EXPECT_EQ(seconds(rows, "username", "ada", "2026-11-30"), 1800);
  EXPECT_EQ(seconds(rows, "username", "bob", "2026-11-30"), -1) << "no time at all";
  EXPECT_EQ(seconds(rows, "total", "total", "2026-11-29"), -1);
}

TEST(Usage, CostsWhatTheSlotsOfItsPoolCostForEachHourOfEachSlot) {
  auto dear = used(kMidnight + -kHour, kMidnight + 2 * kHour, 2);
  dear.price = 2.5;
  dear.allocation.shares.push_back({.agent = "b", .slots = {0}, .ended = kMidnight});
  auto cheap = used(kMidnight, std::nullopt, 4, "bob");
  cheap.price = 0.25;
  const auto now = kMidnight + kHour / 2;
  const auto rows =
      aggregate({dear, cheap}, kMidnight + -24 * kHour, kMidnight + 24 * kHour, now, Period::Day);
  EXPECT_DOUBLE_EQ(cost(rows, "username", "ada"), 7 * 2.5);
  EXPECT_DOUBLE_EQ(cost(rows, "username", "bob"), 4 * 0.5 * 0.25);
  EXPECT_DOUBLE_EQ(cost(rows, "agent", "b"), 2.5);
  EXPECT_DOUBLE_EQ(cost(rows, "total", "total"), 7 * 2.5 + 0.5);
  EXPECT_DOUBLE_EQ(cost(rows, "workspace", "team"), cost(rows, "total", "total"));
  EXPECT_DOUBLE_EQ(cost_of(dear, now), 7 * 2.5);
  EXPECT_DOUBLE_EQ(cost_of(cheap, now), 0.5);
}

TEST(Usage, AMonthEndsWhereTheNextBegins) {
  EXPECT_EQ(end_of_period(kMidnight + kHour, Period::Day), kMidnight + 24 * kHour);
  EXPECT_EQ(end_of_period(kMidnight, Period::Month), *parse_rfc3339("2026-12-01T00:00:00Z"));
  EXPECT_EQ(end_of_period(kMidnight + 24 * 31 * kHour, Period::Month),
            *parse_rfc3339("2027-01-01T00:00:00Z"));
}

TEST(Usage, MonthsSumTheirDaysAndASlotThatWasFreedEarlyCountsNoLonger) {
  auto usage = used(kMidnight, kMidnight + 48 * kHour, 1);  // one day in November, one in December
  usage.labels = {"x", "y"};
  usage.allocation.shares.push_back({.agent = "b", .slots = {0}, .ended = kMidnight + kHour});
  const auto rows =
      aggregate({usage}, kMidnight, kMidnight + 96 * kHour, kMidnight + 96 * kHour, Period::Month);
  EXPECT_EQ(seconds(rows, "total", "total", "2026-11"), 25 * 3600);
  EXPECT_EQ(seconds(rows, "total", "total", "2026-12"), 24 * 3600);
  EXPECT_EQ(seconds(rows, "agent", "b", "2026-11"), 3600);
  EXPECT_EQ(seconds(rows, "experiment_label", "y", "2026-12"), 24 * 3600);
  EXPECT_EQ(slots_of(usage.allocation), 2);
}

}  // namespace
}  // namespace det::cluster
