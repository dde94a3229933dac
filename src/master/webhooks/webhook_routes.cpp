// Webhooks: who is told when an experiment ends, or a log has a certain line.

#include <boost/url/parse.hpp>

#include "det/master/rights/rights.h"
#include "det/master/services.h"
#include "det/master/unmanaged/unmanaged.h"
#include "det/master/webhooks/webhooks.h"
#include "det/master/workspaces/workspace_objects.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

/// When a trigger fires; empty for custom triggers.
struct TriggerCondition {
  std::optional<std::string> state;  ///< of the experiment: COMPLETED, ERROR or CANCELED
  std::optional<std::string> regex;  ///< that a line of a log matches
};
BOOST_DESCRIBE_STRUCT(TriggerCondition, (), (state, regex))
struct TriggerObject {
  std::int32_t id = 0;
  std::string trigger_type;
  TriggerCondition condition;
  WebhookId webhook_id;
  static bool required(std::string_view name) { return name == "trigger_type"; }
};
BOOST_DESCRIBE_STRUCT(TriggerObject, (), (id, trigger_type, condition, webhook_id))
struct WebhookObject {
  WebhookId id;
  std::string name, url, webhook_type = "WEBHOOK_TYPE_DEFAULT", mode = "WEBHOOK_MODE_WORKSPACE";
  std::vector<TriggerObject> triggers;
  std::optional<WorkspaceId> workspace_id;  ///< absent: of all workspaces
  static bool required(std::string_view name) { return name == "url" || name == "triggers"; }
};
BOOST_DESCRIBE_STRUCT(WebhookObject, (), (id, name, url, webhook_type, mode, triggers, workspace_id))
struct WebhookListReply {
  std::vector<WebhookObject> webhooks;
};
BOOST_DESCRIBE_STRUCT(WebhookListReply, (), (webhooks))
struct WebhookReply {
  WebhookObject webhook;
};
BOOST_DESCRIBE_STRUCT(WebhookReply, (), (webhook))
struct ById {
  WebhookId id;
};
BOOST_DESCRIBE_STRUCT(ById, (), (id))
struct WebhookPatchRequest {
  WebhookId id;
  std::string url;
  static bool required(std::string_view name) { return name == "url"; }
};
BOOST_DESCRIBE_STRUCT(WebhookPatchRequest, (), (id, url))
struct TestReply {
  bool completed = true;
};
BOOST_DESCRIBE_STRUCT(TestReply, (), (completed))
struct CustomObject {
  std::string title, description, level = "LOG_LEVEL_INFO";
};
BOOST_DESCRIBE_STRUCT(CustomObject, (), (title, description, level))
struct CustomRequest {
  ExperimentId experiment_id;
  TrialId trial_id;
  CustomObject data;
  static bool required(std::string_view name) { return name == "experiment_id" || name == "data"; }
};
BOOST_DESCRIBE_STRUCT(CustomRequest, (), (experiment_id, trial_id, data))

struct DeliveryObject {
  std::string event_id, event, state, outcome;
  Time creation_time;
  std::int64_t attempts = 0;
  std::optional<Time> next_attempt;
};
BOOST_DESCRIBE_STRUCT(DeliveryObject, (),
                      (event_id, event, state, outcome, creation_time, attempts, next_attempt))
struct DeliveriesReply {
  std::vector<DeliveryObject> deliveries;
};
BOOST_DESCRIBE_STRUCT(DeliveriesReply, (), (deliveries))

constexpr std::size_t kTextBytesMax = 16 << 10;

/// One of the names that the API has for an enumeration.
template <class T>
struct Name {
  T value;
  const char* text;
};
constexpr Name<WebhookType> kTypes[] = {{WebhookType::Default, "WEBHOOK_TYPE_DEFAULT"},
                                        {WebhookType::Slack, "WEBHOOK_TYPE_SLACK"}};
constexpr Name<WebhookMode> kModes[] = {{WebhookMode::Workspace, "WEBHOOK_MODE_WORKSPACE"},
                                        {WebhookMode::Specific, "WEBHOOK_MODE_SPECIFIC"}};
constexpr Name<TriggerType> kTriggers[] = {
    {TriggerType::ExperimentStateChange, "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE"},
    {TriggerType::TaskLog, "TRIGGER_TYPE_TASK_LOG"},
    {TriggerType::Custom, "TRIGGER_TYPE_CUSTOM"}};

constexpr Name<Webhooks::Delivery::State> kDeliveryStates[] = {
    {Webhooks::Delivery::State::Waiting, "DELIVERY_STATE_WAITING"},
    {Webhooks::Delivery::State::Delivered, "DELIVERY_STATE_DELIVERED"},
    {Webhooks::Delivery::State::GivenUp, "DELIVERY_STATE_GIVEN_UP"}};

template <class T, std::size_t n>
std::string name_of(const Name<T> (&names)[n], T value) {
  for (const auto& name : names)
    if (name.value == value) return name.text;
  return "";
}
template <class T, std::size_t n>
Result<T> value_of(const Name<T> (&names)[n], const std::string& text, const char* what) {
  std::string known;
  for (const auto& name : names) {
    if (name.text == text) return name.value;
    known += (known.empty() ? "" : ", ") + std::string(name.text);
  }
  return invalid_argument("{} is '{}'; it must be one of {}", what, text, known);
}

/// "https://hooks.example.com/…": the rest of such an address is often all that it takes to write there.
std::string masked(const std::string& url) {
  const auto parsed = boost::urls::parse_uri(url);
  if (!parsed) return "…";
  return fmt::format("{}://{}/…", std::string(parsed->scheme()),
                     std::string(parsed->encoded_host_and_port()));
}

WebhookObject to_object(const WebhookRecord& r, bool whole) {
  WebhookObject object{.id = r.id,
                       .name = r.name,
                       .url = whole ? r.url : masked(r.url),
                       .webhook_type = name_of(kTypes, r.type),
                       .mode = name_of(kModes, r.mode)};
  if (r.workspace) object.workspace_id = r.workspace;
  for (const auto& t : r.triggers) {
    TriggerCondition condition;
    if (t.type == TriggerType::ExperimentStateChange) condition.state = t.condition;
    if (t.type == TriggerType::TaskLog) condition.regex = t.condition;
    object.triggers.push_back({.id = static_cast<std::int32_t>(t.id),
                               .trigger_type = name_of(kTriggers, t.type),
                               .condition = std::move(condition),
                               .webhook_id = r.id});
  }
  return object;
}

Result<WebhookTrigger> to_trigger(const TriggerObject& object) {
  DET_TRY(const auto type, value_of(kTriggers, object.trigger_type, "triggerType"));
  WebhookTrigger trigger{.type = type};
  if (type == TriggerType::TaskLog) {
    trigger.condition = object.condition.regex.value_or("");
    if (trigger.condition.empty())
      return invalid_argument(
          "a trigger of type TRIGGER_TYPE_TASK_LOG needs a condition such as {{\"regex\": \"NCCL.*error\"}}");
  } else if (type == TriggerType::ExperimentStateChange) {
    trigger.condition = object.condition.state.value_or("");
    if (trigger.condition.starts_with("STATE_")) trigger.condition.erase(0, 6);
    if (trigger.condition != "COMPLETED" && trigger.condition != "ERROR" && trigger.condition != "CANCELED")
      return invalid_argument(
          "the condition of a trigger of type TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE has state '{}'; it must "
          "be COMPLETED, ERROR or CANCELED",
          trigger.condition);
  }
  return trigger;
}

Result<WebhookRecord> to_record(const WebhookObject& object) {
  DET_TRY(const auto type, value_of(kTypes, object.webhook_type, "webhookType"));
  DET_TRY(const auto mode, value_of(kModes, object.mode, "mode"));
  WebhookRecord record{.name = object.name, .url = object.url, .type = type, .mode = mode};
  if (object.name.size() > 255)
    return invalid_argument("the name has {} bytes; at most 255 are allowed", object.name.size());
  if (object.workspace_id) record.workspace = *object.workspace_id;
  for (const auto& trigger : object.triggers) {
    DET_TRY(auto made, to_trigger(trigger));
    record.triggers.push_back(std::move(made));
  }
  return record;
}

Result<WebhookRecord> find_webhook(Services& s, WebhookId id) {
  const auto* found = s.webhooks.find(id);
  if (found == nullptr) return not_found("webhook '{}' not found", id);
  return *found;
}

asio::awaitable<Result<WebhookListReply>> list(Services& s, Context context) {
  const auto user = require_actor(s, context.principal);
  if (!user) co_return tl::unexpected(user.error());
  const Sight seen(s, context.principal, access::Permission::ViewWebhooks);
  const Sight edited(s, context.principal, access::Permission::EditWebhooks);
  WebhookListReply reply;
  for (const auto& [id, record] : s.webhooks.all()) {
    const auto workspace = record.workspace.value();
    if (record.workspace && !seen.workspace(workspace)) continue;
    const bool whole =
        record.owner == user->id || edited.all() || (record.workspace && edited.workspace(workspace));
    reply.webhooks.push_back(to_object(record, whole));
  }
  co_await s.ledger.durable();
  co_return reply;
}

asio::awaitable<Result<WebhookReply>> create(Services& s, Context context, WebhookObject object) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  auto record = to_record(object);
  if (!record) co_return tl::unexpected(record.error());
  if (record->workspace) {
    const auto known = find_workspace(s, record->workspace);
    if (!known) co_return tl::unexpected(known.error());
  }
  const auto kind = record->workspace ? Kind::Workspace : Kind::Cluster;
  json::value where(record->workspace.value());
  const auto allowed =
      co_await may(s, context.principal, access::Permission::EditWebhooks, kind, std::move(where));
  if (!allowed) co_return tl::unexpected(allowed.error());
  record->owner = user->id;
  record->creation_time = s.ledger.now();
  auto changes = s.webhooks.create(*record);
  if (!changes) co_return tl::unexpected(changes.error());
  co_await s.ledger.write(*std::move(changes));
  co_return WebhookReply{to_object(*record, true)};
}

asio::awaitable<Result<Empty>> patch(Services& s, WebhookPatchRequest request) {
  const auto record = find_webhook(s, request.id);
  if (!record) co_return tl::unexpected(record.error());
  auto changes = s.webhooks.change_url(request.id, std::move(request.url));
  if (!changes) co_return tl::unexpected(changes.error());
  co_await s.ledger.write(*std::move(changes));
  co_return Empty{};
}

asio::awaitable<Result<Empty>> remove(Services& s, ById q) {
  const auto record = find_webhook(s, q.id);
  if (!record) co_return tl::unexpected(record.error());
  auto changes = s.webhooks.remove(q.id);
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

asio::awaitable<Result<TestReply>> test(Services& s, ById q) {
  const auto record = find_webhook(s, q.id);
  if (!record) co_return tl::unexpected(record.error());
  co_await s.ledger.durable();
  const auto arrived = co_await s.webhooks.test(q.id);
  if (!arrived) co_return tl::unexpected(arrived.error());
  co_return TestReply{};
}

asio::awaitable<Result<DeliveriesReply>> deliveries(Services& s, ById q) {
  const auto record = find_webhook(s, q.id);
  if (!record) co_return tl::unexpected(record.error());
  DeliveriesReply reply;
  for (auto& delivery : s.webhooks.deliveries(q.id))
    reply.deliveries.push_back({.event_id = std::move(delivery.event_id),
                                .event = std::move(delivery.event),
                                .state = name_of(kDeliveryStates, delivery.state),
                                .outcome = std::move(delivery.outcome),
                                .creation_time = delivery.creation_time,
                                .attempts = delivery.attempts,
                                .next_attempt = delivery.next_attempt});
  co_await s.ledger.durable();
  co_return reply;
}

/// Whether the caller speaks for the experiment: its trials, its owner, an administrator.
Result<void> may_raise(Services& s, const std::any& principal, const experiment::ExperimentRecord& record) {
  if (const auto task = require_task(principal)) {
    const auto* allocation = s.ledger.cluster().allocation(*task);
    if (allocation != nullptr && allocation->record.experiment_id == record.id) return {};
    return fail(ErrorCode::PermissionDenied,
                "the trial that makes this call does not belong to experiment {}", record.id);
  } else if (const auto user = require_user(principal); !user) {
    return tl::unexpected(task.error().code() == ErrorCode::Gone ? task.error() : user.error());
  } else if (!user->admin && user->id != record.owner) {
    return fail(ErrorCode::PermissionDenied,
                "experiment {} belongs to another user; only its trials, its owner and administrators can "
                "send its custom events",
                record.id);
  }
  return {};
}

asio::awaitable<Result<Empty>> raise(Services& s, Context context, CustomRequest request) {
  const auto id = request.experiment_id;
  if (request.data.title.size() + request.data.description.size() > kTextBytesMax)
    co_return invalid_argument("title and description have {} bytes together; at most {} are allowed",
                               request.data.title.size() + request.data.description.size(), kTextBytesMax);
  std::optional<experiment::ExperimentRecord> record;
  if (const auto* live = s.ledger.cluster().experiment(id)) {
    record = live->record();
  } else if (const auto* open = s.unmanaged.open_record(id)) {
    record = *open;
  } else {
    auto read = [&s, id] { return s.store.experiment(id); };
    record = co_await offload(s, std::move(read));
  }
  if (!record || record->state == experiment::State::Deleted)
    co_return not_found("experiment '{}' not found", id);
  const auto allowed = may_raise(s, context.principal, *record);
  if (!allowed) co_return tl::unexpected(allowed.error());
  CustomEvent event{std::move(request.data.title), std::move(request.data.description),
                    std::move(request.data.level)};
  co_await s.webhooks.raise(*record, request.trial_id, std::move(event));
  co_return Empty{};
}

}  // namespace

void add_webhook_routes(http::Router& router, Services& s) {
  const std::string tag = "Webhooks", one = "/api/v1/webhooks/{id}";
  const std::vector<ErrorCode> of_one = {ErrorCode::NotFound, ErrorCode::PermissionDenied};
  router.add<Empty, WebhookListReply>(
      Verb::Get, "/api/v1/webhooks", [&s](Context c, Empty) { return list(s, std::move(c)); },
      Doc{.summary = "List webhooks; users who cannot change a webhook see only the host of its URL",
          .tag = tag});
  router.add<WebhookObject, WebhookReply>(
      Verb::Post, "/api/v1/webhooks",
      [&s](Context c, WebhookObject o) { return create(s, std::move(c), std::move(o)); },
      Doc{.summary = "Create a webhook",
          .tag = tag,
          .errors = {ErrorCode::PermissionDenied, ErrorCode::AlreadyExists}});
  router.add<CustomRequest, Empty>(
      Verb::Post, "/api/v1/webhooks/custom",
      [&s](Context c, CustomRequest r) { return raise(s, std::move(c), std::move(r)); },
      Doc{.summary = "Send a custom event to the webhooks that an experiment names",
          .tag = tag,
          .errors = of_one});
  router.add<WebhookPatchRequest, Empty>(
      Verb::Patch, one, [&s](Context, WebhookPatchRequest r) { return patch(s, std::move(r)); },
      Doc{.summary = "Change the URL of a webhook", .tag = tag, .errors = of_one});
  router.add<ById, Empty>(
      Verb::Delete, one, [&s](Context, ById q) { return remove(s, q); },
      Doc{.summary = "Delete a webhook and its pending deliveries", .tag = tag, .errors = of_one});
  router.add<ById, DeliveriesReply>(
      Verb::Get, one + "/deliveries", [&s](Context, ById q) { return deliveries(s, q); },
      Doc{.summary = "List the pending and the latest deliveries of a webhook",
          .tag = tag,
          .errors = of_one});
  router.add<ById, TestReply>(
      Verb::Post, one + "/test", [&s](Context, ById q) { return test(s, q); },
      Doc{.summary = "Send a test event to a webhook", .tag = tag, .errors = of_one});
}

}  // namespace det::master
