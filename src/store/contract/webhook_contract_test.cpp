#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

class WebhookContract : public StoreContract {
 protected:
  static WebhookRecord webhook(std::int64_t id) {
    return {.id = WebhookId(id),
            .name = "team",
            .url = "https://example.com/hook",
            .type = WebhookType::Slack,
            .mode = WebhookMode::Specific,
            .workspace = WorkspaceId(3),
            .triggers = {{1, TriggerType::TaskLog, "out of memory"}, {2, TriggerType::Custom, ""}},
            .owner = UserId(2),
            .creation_time = Time{5}};
  }
  static DeliveryRecord delivery(std::string id, std::int64_t webhook, std::int64_t time) {
    return {.event_id = std::move(id),
            .webhook = WebhookId(webhook),
            .body = R"({"a": 1})",
            .creation_time = Time{time},
            .attempts = 2,
            .next_attempt = Time{time + 1}};
  }
};

TEST_P(WebhookContract, WebhooksAndWhatIsOnItsWayToThemComeBackTheOldestFirst) {
  commit(PutWebhook{webhook(1)}, PutDelivery{delivery("b", 1, 20)}, PutDelivery{delivery("a", 1, 10)},
         PutLogHit{{"1.x", WebhookId(1), "out of memory"}},
         PutLogHit{{"1.x", WebhookId(1), "out of memory"}});
  reopen();
  ASSERT_EQ(store->webhooks().size(), 1u);
  EXPECT_TRUE(same(store->webhooks()[0], webhook(1)));
  ASSERT_EQ(store->deliveries().size(), 2u);
  EXPECT_TRUE(same(store->deliveries()[0], delivery("a", 1, 10)));
  EXPECT_EQ(store->log_hits(), (std::vector<LogHitRecord>{{"1.x", WebhookId(1), "out of memory"}}));
  commit(DeleteDelivery{"a"});
  ASSERT_EQ(store->deliveries().size(), 1u);
  EXPECT_EQ(store->deliveries()[0].event_id, "b");
}

TEST_P(WebhookContract, WhatWasToBeDeliveredGoesWithTheWebhookAndDoesNotComeBack) {
  commit(PutWebhook{webhook(1)}, PutWebhook{webhook(2)}, PutDelivery{delivery("a", 1, 10)},
         PutDelivery{delivery("b", 2, 10)}, PutLogHit{{"1.x", WebhookId(1), "p"}});
  commit(DeleteWebhook{WebhookId(1)});
  commit(PutDelivery{delivery("a", 1, 11)});  // an attempt that failed meanwhile
  ASSERT_EQ(store->deliveries().size(), 1u);
  EXPECT_EQ(store->deliveries()[0].event_id, "b");
  EXPECT_TRUE(store->log_hits().empty());
}

TEST_P(WebhookContract, WhatWasFoundInALogGoesWithTheExperiment) {
  auto trial = sample_trial(1, 1);
  trial.task_id = "1.x";
  commit(PutExperiment{sample_experiment(1)}, PutTrial{trial}, PutWebhook{webhook(1)},
         PutLogHit{{"1.x", WebhookId(1), "p"}}, PutLogHit{{"2.y", WebhookId(1), "p"}});
  commit(DeleteExperiment{ExperimentId(1)});
  EXPECT_EQ(store->log_hits(), (std::vector<LogHitRecord>{{"2.y", WebhookId(1), "p"}}));
}

TEST_P(WebhookContract, StatesAreCountedWithoutWhatIsDeleted) {
  auto ended = sample_experiment(2);
  ended.state = experiment::State::Completed;
  auto gone = sample_experiment(3);
  gone.state = experiment::State::Deleted;
  commit(PutExperiment{sample_experiment(1)}, PutExperiment{ended}, PutExperiment{gone},
         PutTrial{sample_trial(1, 1)});
  const auto counts = store->state_counts();
  EXPECT_EQ(counts.experiments, (std::map<experiment::State, std::int64_t>{
                                    {experiment::State::Active, 1}, {experiment::State::Completed, 1}}));
  EXPECT_EQ(counts.trials.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(, WebhookContract, kBackends, [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace det::store
