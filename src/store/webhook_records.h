#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "det/base/id.h"
#include "det/base/json.h"
#include "det/base/time.h"
#include "det/store/workspace_records.h"

/// The rows of webhooks: who is told of what, and what was not told yet.
namespace det::store {

using WebhookId = Id<struct WebhookTag>;

enum class WebhookType { Default, Slack };
BOOST_DESCRIBE_ENUM(WebhookType, Default, Slack)

/// Workspace: hears of all experiments of its workspace. Specific: only of those that name it.
enum class WebhookMode { Workspace, Specific };
BOOST_DESCRIBE_ENUM(WebhookMode, Workspace, Specific)

enum class TriggerType { ExperimentStateChange, TaskLog, Custom };
BOOST_DESCRIBE_ENUM(TriggerType, ExperimentStateChange, TaskLog, Custom)

struct WebhookTrigger {
  std::int64_t id = 0;
  TriggerType type = TriggerType::ExperimentStateChange;
  std::string condition;  ///< the state ("COMPLETED"), or the regular expression; empty with Custom
};
BOOST_DESCRIBE_STRUCT(WebhookTrigger, (), (id, type, condition))

struct WebhookRecord {
  WebhookId id;
  std::string name;  ///< unique in its workspace where it is not empty
  std::string url;
  WebhookType type = WebhookType::Default;
  WebhookMode mode = WebhookMode::Workspace;
  WorkspaceId workspace;  ///< 0: of all workspaces
  std::vector<WebhookTrigger> triggers;
  UserId owner;
  Time creation_time;
};
BOOST_DESCRIBE_STRUCT(WebhookRecord, (),
                      (id, name, url, type, mode, workspace, triggers, owner, creation_time))

/// What a webhook is to be told.
struct DeliveryRecord {
  std::string event_id;  ///< UUID; also in `body`, where a repetition is known by it
  WebhookId webhook;
  std::string body;
  Time creation_time;
  std::int64_t attempts = 0;  ///< that failed
  Time next_attempt;
};
BOOST_DESCRIBE_STRUCT(DeliveryRecord, (), (event_id, webhook, body, creation_time, attempts, next_attempt))

/// That a webhook was told of a line of the task's log that its expression fits. It is told once.
struct LogHitRecord {
  std::string task_id;
  WebhookId webhook;
  std::string pattern;
  friend auto operator<=>(const LogHitRecord&, const LogHitRecord&) = default;
};
BOOST_DESCRIBE_STRUCT(LogHitRecord, (), (task_id, webhook, pattern))

}  // namespace det::store
