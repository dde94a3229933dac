// What trials say of themselves, over HTTP.

#include "det/master/testing.h"

namespace det::master {
namespace {

class MetadataTest : public testing::MasterTest {
 protected:
  static std::string path(const api::DesiredAllocation& task) {
    return fmt::format("/api/v1/runs/{}/metadata", task.trial_id);
  }
  testing::Answer say(const api::DesiredAllocation& task, const json::value& metadata) {
    return call(task.token, "POST", path(task), json::object{{"metadata", metadata}});
  }
  json::value said(const api::DesiredAllocation& task) {
    return call(user_, "GET", path(task)).body.at("metadata");
  }
};

TEST_F(MetadataTest, TheNewestIsKeptOverARestart) {
  submit();
  const auto task = sync("a", 1).desired.at(0);
  EXPECT_EQ(said(task), json::object());
  EXPECT_EQ(say(task, json::object{{"phase", "warm-up"}}).status, 200);
  const json::object newest{{"data", {{"version", 3}}}};
  EXPECT_EQ(say(task, newest).body.at("metadata"), newest);
  restart();
  EXPECT_EQ(said(task), newest);
  EXPECT_EQ(call(task.token, "GET", path(task)).body.at("metadata"), newest) << "the trial itself may ask";
}

TEST_F(MetadataTest, OnlyTheTrialsOwnProcessesAndItsUserMaySayItAndNotTooMuch) {
  submit();
  submit();
  const auto tasks = sync("a", 2).desired;
  const json::object body{{"metadata", json::object()}};
  EXPECT_EQ(call(tasks[1].token, "POST", path(tasks[0]), body).status, 403);
  EXPECT_EQ(call(user_, "POST", path(tasks[0]), body).status, 200);
  EXPECT_EQ(say(tasks[0], "text").status, 400);
  const auto large = say(tasks[0], json::object{{"x", std::string((512 << 10) + 1, 'x')}});
  EXPECT_EQ(large.status, 400);
  EXPECT_NE(large.text.find("at most 524288 are allowed"), std::string::npos) << large.text;
  EXPECT_EQ(call(user_, "GET", "/api/v1/runs/99/metadata").status, 404);
}

}  // namespace
}  // namespace det::master
