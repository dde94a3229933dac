#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "det/base/json.h"
#include "det/experiment/records.h"
#include "det/store/webhook_records.h"

/// Which webhooks receive which events, and the body of a delivery. Pure: no clock, no network, no store.
namespace det::master {

using store::TriggerType;
using store::WebhookId;
using store::WebhookMode;
using store::WebhookRecord;
using store::WebhookTrigger;
using store::WebhookType;

/// Which webhooks an experiment names: `integrations.webhooks` of its configuration.
struct NamedWebhooks {
  std::set<std::int64_t> ids;
  std::set<std::string> names;
  bool exclude = false;  ///< none hears of the experiment
};
NamedWebhooks named_webhooks(const json::object& config);

/// Of what an event is: an experiment, or a task that is no trial (then `experiment` is 0).
struct WebhookSubject {
  ExperimentId experiment{};
  std::string name, state;  ///< as the API has it, without STATE_
  std::int64_t slots_per_trial = 0;
  std::int64_t duration_seconds = 0;
  std::string resource_pool, workspace, project;
  store::WorkspaceId workspace_id{1};
  TrialId trial{};  ///< 0: of no particular trial
  NamedWebhooks named{};
};

struct StateChange {
  std::string state;  ///< COMPLETED, ERROR, CANCELED
};
struct LogLine {
  std::string task_id, node, line;
};
/// What a user's program says.
struct CustomEvent {
  std::string title, description, level;
};
/// What an administrator sends to see whether it arrives.
struct TestEvent {};
using WebhookEvent = std::variant<StateChange, LogLine, CustomEvent, TestEvent>;

/// "COMPLETED", "ERROR", "CANCELED"; nothing for states of which no webhook hears.
std::optional<std::string> state_of_interest(experiment::State state);

/// Whether the webhook hears of this experiment or task at all.
bool hears(const WebhookRecord& webhook, const WebhookSubject& subject);
/// The trigger that this change of state, or this event of a program, sets off; null: none.
const WebhookTrigger* trigger_of(const WebhookRecord& webhook, const WebhookEvent& event);

/// What is told.
struct Notice {
  std::string event_id;
  Time time;
  WebhookTrigger trigger;
  WebhookSubject subject;
  WebhookEvent event;
};
/// The body to post: JSON as the webhook's type wants it. `base_url`: where users reach the master; may be
/// empty.
std::string body_of(WebhookType type, const Notice& notice, const std::string& base_url);

/// X-Determined-AI-Signature: hexadecimal HMAC-SHA256 of "<timestamp>,<body>".
std::string signature_of(const std::string& key, std::int64_t timestamp, const std::string& body);

/// How a delivery goes on.
enum class Verdict { Delivered, TryAgain, GiveUp };
/// After an answer: 2xx is delivered; 408, 429 and 5xx are tried again; any other status, and so a
/// redirection, is a refusal for good.
Verdict verdict_of(int status);
/// How long to wait after the failed attempt of this number (from 1 on): 1 s, doubled each time, at most
/// 5 min.
std::chrono::seconds delay_after(std::int64_t attempts);
/// For how long a delivery is tried.
inline constexpr std::int64_t kDeliverySeconds = 6 * 3600;

}  // namespace det::master
