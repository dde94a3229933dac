#include "det/master/identity/request_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "det/master/rights/access_rules.h"
#include "det/master/testing.h"

namespace det::master {
namespace {

class RequestLimitsTest : public testing::MasterTest {
 protected:
  void limit(double per_second, double burst) {
    rate_limit_ = {.per_second = per_second, .burst = burst};
    restart();
  }
};

TEST_F(RequestLimitsTest, WhoAsksForTooMuchIsToldWhenToComeAgainAndNobodyElseSuffers) {
  submit();
  const auto task = sync("a", 1).desired.at(0);
  limit(0.1, 5);
  int status = 200;
  for (int i = 0; i < 6; ++i) status = call(user_, "GET", "/api/v1/me").status;
  EXPECT_EQ(status, 429);
  http::Client client(url_);
  const auto reply = client.get("/api/v1/me", headers(user_));
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->status, 429);
  EXPECT_TRUE(reply->headers.contains("Retry-After"));
  EXPECT_THAT(reply->body, ::testing::HasSubstr("user 'determined' exceeds the request limit"));
  EXPECT_EQ(call(admin_, "GET", "/api/v1/me").status, 200);
  for (int i = 0; i < 20; ++i) {
    sync("a", 1, {});
    EXPECT_EQ(report(task, "training", i + 1, 0.5).status, 200) << "tasks are not counted";
  }
  EXPECT_EQ(call("", "GET", "/health").status, 200);
}

TEST_F(RequestLimitsTest, ACallThatCostsMuchCountsForMany) {
  limit(0.1, 250);
  const auto path =
      "/resources/allocation/raw?timestamp_after=2023-01-01T00:00:00Z&timestamp_before=2024-01-01T00:00:00Z";
  EXPECT_EQ(call(user_, "GET", path).status, 200);
  EXPECT_EQ(call(user_, "GET", path).status, 200);
  EXPECT_EQ(call(user_, "GET", path).status, 429);
  EXPECT_EQ(call(user_, "GET", "/api/v1/me").status, 200);
}

TEST_F(RequestLimitsTest, NobodyMeetsTheDefaultByWorking) {
  for (int i = 0; i < 500; ++i) ASSERT_EQ(call(user_, "GET", "/api/v1/me").status, 200) << i;
}

TEST(CostOf, IsOnlySaidOfCallsThatThereAre) {
  for (const auto& rule : access_rules())
    EXPECT_GE(cost_of(std::string(rule.operation)), 1) << rule.operation;
  for (const auto* operation : {"POST /api/v1/simulate", "GET /checkpoints/{uuid}",
                                "POST /api/v1/cleanup_logs", "GET /resources/allocation/raw"}) {
    EXPECT_NE(access_rule(operation), nullptr) << operation;
    EXPECT_GT(cost_of(operation), 1) << operation;
  }
}

}  // namespace
}  // namespace det::master
