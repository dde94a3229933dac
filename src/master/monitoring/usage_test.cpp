// Who used how much, over HTTP.

#include "det/master/testing.h"

namespace det::master {
namespace {

class UsageTest : public testing::MasterTest {
 protected:
  testing::Answer entries(const std::string& path) {
    return call(admin_, "GET", "/api/v1/resources/allocation/" + path);
  }
};

TEST_F(UsageTest, CostsWhatThePoolsOfTheConfigurationSay) {
  cluster::PoolSettings pool{.name = "default"};
  pool.price_per_slot_hour = 3600;  // a slot-second costs 1
  pools_ = {.pools = {pool}, .currency = "EUR"};
  restart();
  submit();
  const auto task = sync("a", 1).desired.at(0);
  sync("a", 1, {{.allocation_id = task.allocation_id, .state = api::AllocationState::running}});
  exit("a", 1, task.allocation_id, 1);

  const auto months = entries(
      "aggregated?startDate=2020-01-01&endDate=2100-01-01&period="
      "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY");
  ASSERT_EQ(months.status, 200) << months.text;
  EXPECT_EQ(months.body.at("currency"), "EUR");
  const auto& month = months.body.at("resourceEntries").at(0);
  EXPECT_GT(month.at("cost").as_double(), 0);
  EXPECT_DOUBLE_EQ(month.at("cost").as_double(), month.at("seconds").as_double());
  for (const auto& [group, key] : {std::pair("costByUsername", "determined"),
                                   {"costByWorkspace", "Uncategorized"},
                                   {"costByResourcePool", "default"},
                                   {"costByAgentLabel", "a"}})
    EXPECT_EQ(month.at(group).at(key), month.at("cost")) << group;
  const auto shown = call(admin_, "GET", "/api/v1/resource-pools").body.at("resourcePools").at(0);
  EXPECT_EQ(shown.at("pricePerSlotHour").as_double(), 3600);
  EXPECT_EQ(shown.at("currency"), "EUR");
}

TEST_F(UsageTest, IsToldAsEntriesToo) {
  const auto id = submit("labels: [vision, small]\n");
  const auto task = sync("a", 1).desired.at(0);
  sync("a", 1, {{.allocation_id = task.allocation_id, .state = api::AllocationState::running}});
  exit("a", 1, task.allocation_id, 1);

  const auto raw = entries("raw?timestampAfter=2020-01-01T00:00:00Z&timestampBefore=2100-01-01T00:00:00Z");
  ASSERT_EQ(raw.status, 200) << raw.text;
  const auto& entry = raw.body.at("resourceEntries").at(0);
  EXPECT_EQ(entry.at("kind"), "trial");
  EXPECT_EQ(entry.at("experimentId"), id);
  EXPECT_EQ(entry.at("username"), "determined");
  EXPECT_EQ(entry.at("labels"), (json::array{"small", "vision"}));
  EXPECT_EQ(entry.at("slots"), 1);
  EXPECT_GT(entry.at("seconds").as_double(), 0);

  const auto days = entries(
      "aggregated?startDate=2020-01-01&endDate=2100-01-01&period="
      "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY");
  ASSERT_EQ(days.status, 200) << days.text;
  const auto& month = days.body.at("resourceEntries").at(0);
  EXPECT_EQ(month.at("periodStart").as_string().size(), std::string_view("2026-11").size());
  EXPECT_GT(month.at("seconds").as_double(), 0);
  for (const auto& [group, key] : {std::pair("byUsername", "determined"),
                                   {"byExperimentLabel", "vision"},
                                   {"byResourcePool", "default"},
                                   {"byAgentLabel", "a"}})
    EXPECT_EQ(month.at(group).at(key), month.at("seconds")) << group;

  EXPECT_EQ(entries("raw?timestampAfter=2020-01-01").status, 400);
  EXPECT_EQ(entries("aggregated?startDate=2021-01-01&endDate=2020-01-01").status, 400);
  EXPECT_EQ(entries("aggregated?startDate=2021-01-01&endDate=2022-01-01&period=YEARLY").status, 400);
}

}  // namespace
}  // namespace det::master
