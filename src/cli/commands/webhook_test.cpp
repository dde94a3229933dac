// Webhooks on the command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "det/cli/test_master.h"

namespace det::cli::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

void know_webhooks(TestMaster& master) {
  master.answer(
      "GET /api/v1/webhooks",
      R"({"webhooks":[)"
      R"({"id":3,"name":"team","url":"https://example.com/hook","webhookType":"WEBHOOK_TYPE_SLACK",)"
      R"("mode":"WEBHOOK_MODE_WORKSPACE","workspaceId":2,"triggers":[)"
      R"({"triggerType":"TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE","condition":{"state":"ERROR"}},)"
      R"({"triggerType":"TRIGGER_TYPE_TASK_LOG","condition":{"regex":"out of memory"}}]},)"
      R"({"id":4,"name":"team","url":"https://example.com/…","webhookType":"WEBHOOK_TYPE_DEFAULT",)"
      R"("mode":"WEBHOOK_MODE_SPECIFIC","triggers":[{"triggerType":"TRIGGER_TYPE_CUSTOM","condition":{}}]}]})");
  master.answer("GET /api/v1/workspaces",
                R"({"workspaces":[{"id":1,"name":"Uncategorized"},{"id":2,"name":"vision"}],)"
                R"("pagination":{"total":2}})");
}

TEST(WebhookCli, ListsWhenEachFiresAndForWhom) {
  TestMaster master;
  know_webhooks(master);
  const auto listed = det("webhook list", master).out;
  EXPECT_THAT(listed, HasSubstr("on ERROR"));
  EXPECT_THAT(listed, HasSubstr("on log out of memory"));
  EXPECT_THAT(listed, HasSubstr("on alert"));
  EXPECT_THAT(listed, HasSubstr("vision"));
  EXPECT_THAT(listed, HasSubstr("slack"));
  EXPECT_THAT(det("webhook list --json", master).out, HasSubstr("\"TRIGGER_TYPE_CUSTOM\""));
}

TEST(WebhookCli, CreateSendsEveryTriggerThatTheFlagsName) {
  TestMaster master;
  know_webhooks(master);
  master.answer("POST /api/v1/webhooks", R"({"webhook":{"id":7}})");
  const auto made = det(
      "webhook create night https://example.com/n --on completed,error --on canceled --on-log oom --on-alert "
      "--slack --specific -w vision",
      master);
  EXPECT_THAT(made.out, HasSubstr("Created webhook 'night' with ID 7"));
  const auto body = master.last_body("POST /api/v1/webhooks");
  EXPECT_EQ(body.at("name"), json::value("night"));
  EXPECT_EQ(body.at("url"), json::value("https://example.com/n"));
  EXPECT_EQ(body.at("webhookType"), json::value("WEBHOOK_TYPE_SLACK"));
  EXPECT_EQ(body.at("mode"), json::value("WEBHOOK_MODE_SPECIFIC"));
  EXPECT_EQ(body.at("workspaceId"), json::value(2));
  const auto& triggers = body.at("triggers").as_array();
  ASSERT_EQ(triggers.size(), 5U);
  EXPECT_EQ(triggers[0].at("condition").at("state"), json::value("COMPLETED"));
  EXPECT_EQ(triggers[2].at("condition").at("state"), json::value("CANCELED"));
  EXPECT_EQ(triggers[3].at("condition").at("regex"), json::value("oom"));
  EXPECT_EQ(triggers[4].at("triggerType"), json::value("TRIGGER_TYPE_CUSTOM"));
}

TEST(WebhookCli, OneThatWouldNeverFireIsNotMade) {
  TestMaster master;
  const auto refused = det("webhook create idle https://example.com/n", master);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("webhook 'idle' has no trigger; give --on STATE"));
  EXPECT_THAT(master.asked(), Not(Contains(HasSubstr("POST /api/v1/webhooks"))));
}

TEST(WebhookCli, ATestSaysWhatBecameOfIt) {
  TestMaster master;
  know_webhooks(master);
  master.answer("POST /api/v1/webhooks/3/test", R"({"completed":true})");
  EXPECT_THAT(det("webhook test 3", master).out,
              HasSubstr("Delivered a test event to https://example.com/hook"));
  master.refuse("POST /api/v1/webhooks/4/test", 400, "https://example.com/… answered 500");
  const auto lost = det("webhook test 4", master);
  EXPECT_EQ(lost.code, 1);
  EXPECT_THAT(lost.err, HasSubstr("Failed to test webhook: https://example.com/… answered 500"));
}

TEST(WebhookCli, ANameOfTwoIsNotGuessed) {
  TestMaster master;
  know_webhooks(master);
  const auto refused = det("webhook delete team", master);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("2 webhooks have the name 'team'; give the ID"));
  master.answer("DELETE /api/v1/webhooks/4", "{}");
  EXPECT_THAT(det("webhook delete 4", master).out, HasSubstr("Deleted webhook 'team'"));
  EXPECT_THAT(det("webhook delete other", master).err, HasSubstr("webhook 'other' not found"));
}

}  // namespace
}  // namespace det::cli::test
