#include "det/master/logs/log_retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::ElementsAre;
constexpr std::int64_t kDay = 24 * 3600 * kSecond;
const Time kNow{1'700'000'000'000'000};

json::object document(const char* text) {
  return json::parse(text)->get_object();
}

TEST(LogRetentionSettings, AreTakenOutOfTheConfigurationAndWhatIsWrongIsNamed) {
  auto configuration =
      document(R"({"retention_policy": {"log_retention_days": 90, "schedule": "1h30m"}, "x": 1})");
  const auto settings = take_log_retention(configuration);
  ASSERT_TRUE(settings) << settings.error().message();
  EXPECT_EQ(settings->days, 90);
  EXPECT_EQ(settings->every_seconds, 5400);
  EXPECT_EQ(configuration, document(R"({"x": 1})"));
  auto none = document("{}");
  EXPECT_EQ(take_log_retention(none)->days, -1);
  for (const auto& [text, message] : std::vector<std::pair<const char*, const char*>>{
           {R"({"retention_policy": 3})", "retention_policy is 3; it must be a map of settings"},
           {R"({"retention_policy": {"log_retention_days": -2}})",
            "retention_policy.log_retention_days is -2; it must be from -1 (forever) to 32767"},
           {R"({"retention_policy": {"schedule": "0 0 * * *"}})",
            "retention_policy.schedule is \"0 0 * * *\"; it must be a duration of at least one minute, such "
            "as "
            "24h"},
           {R"({"retention_policy": {"days": 1}})",
            "retention_policy.days is not a known setting; use log_retention_days or schedule"}}) {
    auto wrong = document(text);
    const auto refused = take_log_retention(wrong);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().message(), message);
  }
}

store::EndedLog ended(std::string task, std::int64_t microseconds_ago,
                      std::optional<int> days = std::nullopt) {
  return {.task_id = std::move(task), .trial = std::nullopt, .ended = kNow + -microseconds_ago, .days = days};
}

TEST(ExpiredLogs, AreThoseWhoseDaysAreOverByWhoeverSaidSo) {
  const std::vector<store::EndedLog> logs{
      ended("just over", 3 * kDay, 3), ended("just not", 3 * kDay - 1, 3), ended("for ever", 1000 * kDay, -1),
      ended("at once", 0, 0),          ended("by default", 8 * kDay),      ended("not yet", 6 * kDay)};
  EXPECT_THAT(expired_logs(logs, 7, kNow), ElementsAre("just over", "at once", "by default"));
  EXPECT_THAT(expired_logs(logs, -1, kNow), ElementsAre("just over", "at once"));
  EXPECT_THAT(expired_logs({ended("in the future", -kDay, 0)}, 0, kNow), ::testing::IsEmpty());
}

TEST(RemainingDays, AreRoundedUpAndNeverBelowZero) {
  EXPECT_EQ(remaining_days(-1, kNow, kNow), -1);
  EXPECT_EQ(remaining_days(5, std::nullopt, kNow), 5);
  EXPECT_EQ(remaining_days(5, kNow + -kDay, kNow), 4);
  EXPECT_EQ(remaining_days(5, kNow + (-kDay - 1), kNow), 4);
  EXPECT_EQ(remaining_days(5, kNow + -6 * kDay, kNow), 0);
}

class LogRetentionTest : public testing::MasterTest {
 protected:
  void log(const api::DesiredAllocation& task, const std::string& text) {
    api::LogBatch batch{.allocation_id = task.allocation_id, .entries = {}};
    batch.entries.push_back({.stdtype = "stdout", .timestamp = kNow, .log = text});
    const auto answer = call(agent_token(), "POST", "/api/v1/agents/a/logs", http::to_wire(batch));
    EXPECT_EQ(answer.status, 200) << answer.text;
  }
  std::int64_t remaining(std::int64_t trial) {
    const auto answer =
        call(user_, "GET", fmt::format("/api/v1/trials/{}/remaining_log_retention_days", trial));
    EXPECT_EQ(answer.status, 200) << answer.text;
    return *json::to_int64(answer.body.at("remainingDays"));
  }
  testing::Answer cleanup(const std::string& token) {
    return call(token, "POST", "/api/v1/cleanup_logs", json::object());
  }
};

TEST_F(LogRetentionTest, ALogGoesAfterItsDaysAndNothingElseDoes) {
  const auto id = submit("retention_policy: {log_retention_days: 12}\n");
  const auto task = sync("a", 1).desired.at(0);
  const auto trial = task.trial_id.value();
  log(task, "a line of it");
  EXPECT_EQ(remaining(trial), 12);
  EXPECT_EQ(
      call(user_, "PUT", fmt::format("/api/v1/experiments/{}/retain_logs", id), json::object{{"numDays", 3}})
          .status,
      200);
  EXPECT_EQ(remaining(trial), 3);
  EXPECT_EQ(
      call(user_, "PUT", fmt::format("/api/v1/trials/{}/retain_logs", trial), json::object{{"numDays", 0}})
          .status,
      200);
  EXPECT_EQ(remaining(trial), 0);
  EXPECT_EQ(
      call(user_, "PUT", fmt::format("/api/v1/trials/{}/retain_logs", trial), json::object{{"numDays", -2}})
          .status,
      400);
  EXPECT_EQ(call(user_, "PUT", "/api/v1/trials/99/retain_logs", json::object{{"numDays", 1}}).status, 404);
  const auto many = call(user_, "PUT", "/api/v1/projects/1/experiments/retain_logs",
                         {{"experimentIds", {id, 99}}, {"numDays", 5}});
  EXPECT_EQ(many.body.at("results").as_array().size(), 2u) << many.text;
  EXPECT_NE(many.text.find("'99' not found"), std::string::npos) << many.text;
  EXPECT_EQ(remaining(trial), 5);
  const auto by_name = call(user_, "PUT", "/api/v1/projects/1/experiments/retain_logs",
                            {{"filters", json::object()}, {"numDays", 0}});
  EXPECT_EQ(by_name.status, 200) << by_name.text;
  EXPECT_EQ(remaining(trial), 0);
  EXPECT_EQ(cleanup(user_).status, 403);
  EXPECT_EQ(cleanup(admin_).body.at("removedCount"), json::value("0")) << "it is not over";
  EXPECT_EQ(call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", id)).status, 200);
  exit("a", 1, task.allocation_id, 137);
  const auto path = fmt::format("/api/v1/trials/{}/logs", trial);
  EXPECT_THAT(call(user_, "GET", path).text, ::testing::HasSubstr("a line of it"));
  const auto cleaned = cleanup(admin_);
  EXPECT_EQ(cleaned.status, 200) << cleaned.text;
  EXPECT_NE(cleaned.body.at("removedCount"), json::value("0"));
  EXPECT_EQ(call(user_, "GET", path).text, "");
  EXPECT_EQ(call(user_, "GET", fmt::format("/api/v1/trials/{}", trial)).status, 200) << "the trial stays";
  restart();
  EXPECT_EQ(call(log_in("determined"), "GET", path).text, "");
}

}  // namespace
}  // namespace det::master
