#include "det/master/webhooks/webhook_events.h"

#include <gtest/gtest.h>

namespace det::master {
namespace {

WebhookRecord webhook(WebhookMode mode, std::int64_t workspace, std::vector<WebhookTrigger> triggers) {
  return {.id = WebhookId(7),
          .name = "team",
          .url = "https://example.com",
          .mode = mode,
          .workspace = store::WorkspaceId(workspace),
          .triggers = std::move(triggers)};
}

NamedWebhooks named(const char* text) {
  return named_webhooks(json::parse(text)->as_object());
}

TEST(WebhookEvents, WhoHearsOfAnExperiment) {
  struct Case {
    const char* config;
    WebhookMode mode;
    std::int64_t workspace, of;
    bool hears;
  };
  constexpr const char *kNothing = R"({"integrations": null})",
                       *kById = R"({"integrations": {"webhooks": {"webhook_id": [3, 7]}}})",
                       *kByName = R"({"integrations": {"webhooks": {"webhook_name": ["team"]}}})",
                       *kOther =
                           R"({"integrations": {"webhooks": {"webhook_name": ["x"], "webhook_id": [8]}}})",
                       *kExcluded = R"({"integrations": {"webhooks": {"webhook_id": [7], "exclude": true}}})";
  constexpr auto kWorkspace = WebhookMode::Workspace, kSpecific = WebhookMode::Specific;
  for (const auto& c : {Case{kNothing, kWorkspace, 0, 1, true}, Case{kNothing, kWorkspace, 2, 2, true},
                        Case{kNothing, kWorkspace, 2, 1, false}, Case{kNothing, kSpecific, 0, 1, false},
                        Case{kById, kSpecific, 0, 1, true}, Case{kById, kSpecific, 1, 1, true},
                        Case{kById, kSpecific, 2, 1, false}, Case{kByName, kSpecific, 0, 1, true},
                        Case{kOther, kSpecific, 0, 1, false}, Case{kOther, kWorkspace, 0, 1, true},
                        Case{kExcluded, kSpecific, 0, 1, false}, Case{kExcluded, kWorkspace, 0, 1, false}}) {
    const WebhookSubject subject{
        .experiment = ExperimentId(1), .workspace_id = store::WorkspaceId(c.of), .named = named(c.config)};
    EXPECT_EQ(hears(webhook(c.mode, c.workspace, {}), subject), c.hears)
        << c.config << " mode " << static_cast<int>(c.mode) << " workspace " << c.workspace << " of " << c.of;
  }
}

TEST(WebhookEvents, WhichTriggerAnEventSetsOff) {
  const std::vector<WebhookTrigger> triggers = {{1, TriggerType::ExperimentStateChange, "COMPLETED"},
                                                {2, TriggerType::ExperimentStateChange, "ERROR"},
                                                {3, TriggerType::TaskLog, "x"},
                                                {4, TriggerType::Custom, ""}};
  const auto of = [&](WebhookMode mode, const WebhookEvent& event) {
    const auto record = webhook(mode, 0, triggers);
    const auto* trigger = trigger_of(record, event);
    return trigger == nullptr ? 0 : trigger->id;
  };
  EXPECT_EQ(of(WebhookMode::Workspace, StateChange{"COMPLETED"}), 1);
  EXPECT_EQ(of(WebhookMode::Workspace, StateChange{"ERROR"}), 2);
  EXPECT_EQ(of(WebhookMode::Workspace, StateChange{"CANCELED"}), 0);
  EXPECT_EQ(of(WebhookMode::Workspace, CustomEvent{}), 0) << "only experiments that name it may use it so";
  EXPECT_EQ(of(WebhookMode::Specific, CustomEvent{}), 4);
  using experiment::State;
  EXPECT_EQ(state_of_interest(State::Completed), "COMPLETED");
  EXPECT_EQ(state_of_interest(State::Error), "ERROR");
  for (const auto state :
       {State::Active, State::Paused, State::StoppingError, State::Deleting, State::Deleted})
    EXPECT_EQ(state_of_interest(state), std::nullopt);
}

Notice notice(WebhookEvent event) {
  const WebhookSubject subject{.experiment = ExperimentId(5),
                               .name = "a <b>",
                               .state = "COMPLETED",
                               .slots_per_trial = 2,
                               .duration_seconds = 3720,
                               .resource_pool = "gpus",
                               .workspace = "team",
                               .project = "vision",
                               .trial = TrialId(9)};
  return {
      "id-1", Time{1'700'000'000'900'000}, {1, TriggerType::TaskLog, "out of .*"}, subject, std::move(event)};
}

TEST(WebhookEvents, WhatIsPosted) {
  const std::string experiment =
      R"("experiment":{"id":5,"state":"COMPLETED","name":"a <b>","slots_per_trial":2,"duration":3720,)"
      R"("resource_pool":"gpus","workspace":"team","project":"vision","trial_id":9})";
  const std::string begin = R"({"event_id":"id-1","event_type":")";
  const std::string time = R"(","timestamp":1700000000,"condition":)";
  EXPECT_EQ(body_of(WebhookType::Default, notice(StateChange{"COMPLETED"}), ""),
            begin + "EXPERIMENT_STATE_CHANGE" + time + R"({"state":"COMPLETED"},"event_data":{)" +
                experiment + "}}");
  EXPECT_EQ(body_of(WebhookType::Default, notice(LogLine{"5.x", "node1", "out of memory"}), ""),
            begin + "TASK_LOG" + time + R"({"regex":"out of .*"},"event_data":{)" + experiment +
                R"(,"task_log":{"task_id":"5.x","node_name":"node1","triggering_log":"out of memory"}}})");
  EXPECT_EQ(body_of(WebhookType::Default, notice(CustomEvent{"t", "d", "LOG_LEVEL_INFO"}), ""),
            begin + "CUSTOM" + time + R"({},"event_data":{)" + experiment +
                R"(,"custom_data":{"title":"t","description":"d","level":"LOG_LEVEL_INFO"}}})");
  auto test = notice(TestEvent{});
  test.subject = {};
  EXPECT_EQ(
      body_of(WebhookType::Default, test, ""),
      begin + "EXPERIMENT_STATE_CHANGE" + time + R"({"state":"COMPLETED"},"event_data":{"data":"test"}})");
}

TEST(WebhookEvents, SlackGetsASentenceWithALinkAndNoMarksOfUsers) {
  const auto with_link =
      json::parse(body_of(WebhookType::Slack, notice(StateChange{"ERROR"}), "https://det.example.com"));
  ASSERT_TRUE(with_link);
  EXPECT_EQ(with_link->at("text").get_string(),
            "<https://det.example.com/det/experiments/5|Experiment 5 (a &lt;b&gt;)> has failed :x:");
  EXPECT_EQ(with_link->at("blocks").at(0).at("text").at("type").get_string(), "mrkdwn");
  EXPECT_EQ(with_link->at("attachments").at(0).at("color").get_string(), "#DD5040");
  EXPECT_EQ(with_link->at("attachments").at(0).at("blocks").at(0).at("fields").get_array().size(), 6u);
  const auto plain = json::parse(body_of(WebhookType::Slack, notice(CustomEvent{"<!channel>", "d", ""}), ""));
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->at("text").get_string(), "Experiment 5 (a &lt;b&gt;): *&lt;!channel&gt;*\nd");
}

TEST(WebhookEvents, ALineOfAnyBytesBecomesJson) {
  std::string umlauts;
  while (umlauts.size() < 10'000) umlauts += "x\xc3\xa4";
  for (const auto& line : {std::string("\xff\xfe\x00 bad", 8), umlauts, std::string(100'000, '\x80')})
    for (const auto type : {WebhookType::Default, WebhookType::Slack}) {
      const auto body = body_of(type, notice(LogLine{"5.x", "n", line}), "");
      EXPECT_TRUE(json::parse(body)) << body.substr(0, 200);
      EXPECT_LT(body.size(), 30'000u);
    }
}

TEST(WebhookEvents, TheSignatureIsHmacSha256OfTimeAndBody) {
  // From Python: hmac.new(b"secret", b'1700000000,{"a":1}', "sha256").hexdigest()
  EXPECT_EQ(signature_of("secret", 1'700'000'000, R"({"a":1})"),
            "637c48ef386ee9f112d0c98ed0d833f54c5f11d0268203bf2a9dc946892fd7b0");
}

TEST(WebhookEvents, WhatAnAnswerMeansAndHowLongToWait) {
  for (const int status : {200, 201, 204, 299}) EXPECT_EQ(verdict_of(status), Verdict::Delivered) << status;
  for (const int status : {408, 429, 500, 502, 503, 599})
    EXPECT_EQ(verdict_of(status), Verdict::TryAgain) << status;
  for (const int status : {100, 301, 302, 307, 400, 401, 404, 410})
    EXPECT_EQ(verdict_of(status), Verdict::GiveUp) << status;
  std::vector<std::int64_t> delays;
  for (int attempt = 1; attempt <= 11; ++attempt) delays.push_back(delay_after(attempt).count());
  EXPECT_EQ(delays, (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}));
  EXPECT_EQ(delay_after(1'000'000).count(), 300);
}

}  // namespace
}  // namespace det::master
