#include <thread>

#include "det/master/testing.h"

namespace det::master {
namespace {

class AuditTest : public testing::MasterTest {
 protected:
  json::array entries(const std::string& query = "") {
    const auto answer = call(admin_, "GET", "/api/v1/audit" + query);
    EXPECT_EQ(answer.status, 200) << answer.text;
    return answer.status == 200 ? answer.body.at("entries").get_array() : json::array();
  }
  static std::string text(const json::value& entry, const char* member) {
    return std::string(entry.at(member).get_string());
  }
  int log_in_with(const std::string& name, const std::string& password) {
    return call("", "POST", "/api/v1/auth/login", json::object{{"username", name}, {"password", password}})
        .status;
  }
};

TEST_F(AuditTest, RemembersWhoChangedWhatFromWhereWithWhichAnswerAlsoAfterARestart) {
  const auto id = submit();
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", id));
  call(user_, "POST", "/api/v1/experiments/999/kill");
  restart();
  const auto all = entries("?username=determined");
  ASSERT_GE(all.size(), 3u);
  EXPECT_EQ(text(all[0], "path"), "/api/v1/experiments/999/kill");
  EXPECT_EQ(all[0].at("status"), json::value(404));
  EXPECT_EQ(text(all[1], "operation"), "POST /api/v1/experiments/{id}/kill");
  EXPECT_EQ(text(all[1], "about"), fmt::format("experiment {}", id));
  EXPECT_EQ(all[1].at("status"), json::value(200));
  EXPECT_EQ(all[1].at("userId"), json::value(2));
  EXPECT_TRUE(text(all[1], "address").starts_with("127.0.0.1:")) << text(all[1], "address");
  EXPECT_EQ(text(all[2], "operation"), "POST /api/v1/experiments");
  EXPECT_EQ(entries("?refused=true&username=determined").size(), 1u);
  EXPECT_EQ(entries("?text=experiments/999").size(), 1u);
  EXPECT_EQ(entries("?limit=1").size(), 1u);
}

TEST_F(AuditTest, RemembersRefusalsAndLogInsButNeitherReadsNorReportsNorPasswords) {
  const auto before = entries().size();
  call(user_, "GET", "/api/v1/experiments");
  call(user_, "POST", "/api/v1/experiments-search", json::object{});
  EXPECT_EQ(entries().size(), before);
  call(user_, "POST", "/api/v1/agents/a/disable", json::object{});
  EXPECT_EQ(log_in_with("determined", "hunter2"), 401);
  const auto after = entries();
  ASSERT_EQ(after.size(), before + 2);
  EXPECT_EQ(text(after[0], "operation"), "POST /api/v1/auth/login");
  EXPECT_EQ(after[0].at("status"), json::value(401));
  EXPECT_EQ(text(after[0], "username"), "determined");
  EXPECT_EQ(json::serialize(json::value(after)).find("hunter2"), std::string::npos);
  EXPECT_EQ(after[1].at("status"), json::value(403));
  submit();
  const auto task = sync("a", 1).desired.at(0);
  const auto with_submit = entries().size();
  report(task, "training", 10, 0.5);
  EXPECT_EQ(entries().size(), with_submit);
}

TEST_F(AuditTest, IsForAdministrators) {
  EXPECT_EQ(call(user_, "GET", "/api/v1/audit").status, 403);
  EXPECT_EQ(call("", "GET", "/api/v1/audit").status, 401);
}

TEST_F(AuditTest, WhoFailsToLogInTooOftenWaitsLongerEachTimeAndIsToldHowLong) {
  for (int i = 0; i < 6; ++i) EXPECT_EQ(log_in_with("determined", "wrong"), 401) << i;
  http::Client client(url_);
  http::Call attempt{.method = "POST", .path = "/api/v1/auth/login"};
  attempt.body = R"({"username": "determined", "password": ""})";
  const auto refused = client.request(attempt);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 429) << "even with the right password";
  const auto* wait = refused->headers.find("Retry-After");
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(*wait, "1");
  EXPECT_NE(refused->body.find("too many failed logins as user 'determined' from 127.0.0.1; retry in 1 s"),
            std::string::npos)
      << refused->body;
  EXPECT_EQ(log_in_with("admin", ""), 200) << "others are not kept waiting";
  std::this_thread::sleep_for(std::chrono::milliseconds(1'100));
  EXPECT_EQ(log_in_with("determined", ""), 200);
  EXPECT_EQ(log_in_with("determined", "wrong"), 401) << "forgiven";
}

}  // namespace
}  // namespace det::master
