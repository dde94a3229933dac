#include "det/master/pools/pool_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::master {
namespace {

using ::testing::HasSubstr;

Result<cluster::Pools> read(std::string_view text, json::object* rest = nullptr) {
  auto document = json::parse(text)->get_object();
  auto pools = take_pools(document);
  if (rest != nullptr) *rest = document;
  return pools;
}

TEST(PoolSettings, WithoutAWordThereIsOnePoolThatServesInOrderOfSubmission) {
  const auto pools = read("{}");
  ASSERT_TRUE(pools);
  ASSERT_EQ(pools->pools.size(), 1u);
  EXPECT_EQ(pools->pools[0].name, "default");
  EXPECT_EQ(pools->pools[0].policy, scheduler::Policy::Fifo);
}

TEST(PoolSettings, APoolWithoutASchedulerHasTheManagersAndTheRestIsLeftAlone) {
  json::object rest;
  const auto pools = read(R"({"resource_manager": {"scheduler": {"type": "priority", "preemption": true},
                               "default_aux_resource_pool": "cpu"},
                              "resource_pools": [{"pool_name": "default"},
                                {"pool_name": "cpu", "max_aux_containers_per_agent": 3,
                                 "scheduler": {"type": "fair_share"}}],
                              "max_restarts": 2})",
                          &rest);
  ASSERT_TRUE(pools) << pools.error().message();
  EXPECT_EQ(pools->default_aux, "cpu");
  EXPECT_EQ(pools->pools.at(0).policy, scheduler::Policy::Priority);
  EXPECT_TRUE(pools->pools.at(0).preemption);
  EXPECT_EQ(pools->pools.at(1).policy, scheduler::Policy::FairShare);
  EXPECT_EQ(pools->pools.at(1).zero_slot_max, 3);
  EXPECT_EQ(json::serialize(rest), R"({"max_restarts":2})");
}

TEST(PoolSettings, APoolWithoutAPriceHasTheManagersAndAllAreOfOneCurrency) {
  const auto pools = read(R"({"resource_manager": {"price_per_slot_hour": 0.5, "currency": "EUR"},
                              "resource_pools": [{"pool_name": "default"},
                                {"pool_name": "gpu", "price_per_slot_hour": 2}]})");
  ASSERT_TRUE(pools) << pools.error().message();
  EXPECT_EQ(pools->currency, "EUR");
  EXPECT_EQ(pools->pools.at(0).price_per_slot_hour, 0.5);
  EXPECT_EQ(pools->pools.at(1).price_per_slot_hour, 2);
}

TEST(PoolSettings, SaysEveryProblemAtOnce) {
  const auto pools = read(
      R"({"resource_manager": {"type": "kubernetes", "default_compute_resource_pool": "gone", "currency": "euros"},
                              "resource_pools": [{"pool_name": "a", "scheduler": {"type": "best"}}, {"name": "b"},
                                {"pool_name": "c", "price_per_slot_hour": -1},
                                {"pool_name": "a", "max_aux_containers_per_agent": -1,
                                 "scheduler": {"preemption": true}}]})");
  ASSERT_FALSE(pools);
  for (const auto* words :
       {"resource_manager.type is 'kubernetes'",
        "resource_pools[0].scheduler.type is 'best'; it must be one of",
        "resource_pools[1].pool_name is required", "resource_pools[1].name is not a known setting",
        "resource_pools[3].pool_name is 'a', which another pool already has",
        "resource_pools[3].max_aux_containers_per_agent is -1",
        "resource_manager.currency is 'euros'; it must be a code of ISO 4217, such as USD or EUR",
        "resource_pools[2].price_per_slot_hour is -1; it must be a number of at least 0",
        "resource_pools[3].scheduler.preemption is true; only the priority scheduler supports it",
        "resource_manager names 'gone' as a default pool, but resource_pools has no such pool"})
    EXPECT_THAT(pools.error().message(), HasSubstr(words));
}

}  // namespace
}  // namespace det::master
