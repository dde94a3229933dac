#include "det/master/webhooks/webhooks.h"

#include "det/logging/log.h"

#include <algorithm>

#include "det/checkpoint/storage.h"

namespace det::master {
namespace {

constexpr const char* kNextId = "next_webhook_id";
constexpr std::size_t kPatternBytesMax = 1024;
constexpr std::size_t kTriggersMax = 100;

std::shared_ptr<re2::RE2> compile(const std::string& pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  return std::make_shared<re2::RE2>(pattern, options);
}

std::int64_t slots_per_trial(const json::object& config) {
  const auto* resources = config.if_contains("resources");
  if (resources == nullptr || !resources->is_object()) return 1;
  return config::fewest_slots(resources->get_object().if_contains("slots_per_trial")).value_or(1);
}

std::string state_name(experiment::State state) {
  if (const auto name = state_of_interest(state)) return *name;
  return experiment::is_stopping(state)       ? "STOPPING"
         : state == experiment::State::Paused ? "PAUSED"
                                              : "ACTIVE";
}

}  // namespace

Webhooks::Webhooks(asio::any_io_executor strand, Ledger& ledger, store::Store& store,
                   const Workspaces& workspaces, Unmanaged& unmanaged, WebhookSettings settings)
    : strand_(strand),
      ledger_(ledger),
      workspaces_(workspaces),
      unmanaged_(unmanaged),
      settings_(std::move(settings)),
      opened_(ledger.now()),
      timer_(strand),
      outside_(strand, settings_.allowed) {
  for (auto& record : store.webhooks()) remember(std::move(record));
  for (auto& hit : store.log_hits()) hits_.insert(std::move(hit));
  for (auto& delivery : store.deliveries()) queue(std::move(delivery));
  if (const auto next = store.setting(kNextId)) next_id_ = std::stoll(*next);
  ledger_.on_commit([this](Changes& changes) { return heard_of(changes); });
}

const WebhookRecord* Webhooks::find(WebhookId id) const {
  const auto found = webhooks_.find(id);
  return found == webhooks_.end() ? nullptr : &found->second;
}

Result<void> Webhooks::check(const WebhookRecord& record) const {
  DET_TRY([[maybe_unused]] const auto fine,
          check_outside_url(record.url, settings_.allowed).map([] { return true; }));
  if (record.triggers.empty()) return invalid_argument("a webhook needs at least one trigger");
  if (record.triggers.size() > kTriggersMax)
    return invalid_argument("the webhook has {} triggers; at most {} are allowed", record.triggers.size(),
                            kTriggersMax);
  for (const auto& trigger : record.triggers) {
    if (trigger.type == TriggerType::Custom && record.mode != WebhookMode::Specific)
      return invalid_argument(
          "a trigger of type TRIGGER_TYPE_CUSTOM needs the mode WEBHOOK_MODE_SPECIFIC, whose webhooks are "
          "named by experiments, not "
          "WEBHOOK_MODE_WORKSPACE");
    if (trigger.type != TriggerType::TaskLog) continue;
    if (trigger.condition.empty() || trigger.condition.size() > kPatternBytesMax)
      return invalid_argument("the regex of a trigger has {} bytes; it must have from 1 to {}",
                              trigger.condition.size(), kPatternBytesMax);
    const auto compiled = compile(trigger.condition);
    if (!compiled->ok())
      return invalid_argument("\"{}\" is not a valid regular expression: {}", trigger.condition,
                              compiled->error());
  }
  if (record.name.empty()) return {};
  for (const auto& [id, other] : webhooks_)
    if (id != record.id && other.name == record.name && other.workspace == record.workspace)
      return fail(ErrorCode::AlreadyExists,
                  "webhook '{}' already exists in this workspace; choose another name", record.name);
  return {};
}

void Webhooks::remember(WebhookRecord record) {
  const auto id = record.id;
  patterns_.erase(id);
  for (const auto& trigger : record.triggers)
    if (trigger.type == TriggerType::TaskLog)
      if (auto compiled = compile(trigger.condition); compiled->ok())
        patterns_[id].push_back({trigger.condition, std::move(compiled)});
  next_id_ = std::max(next_id_, id.value() + 1);
  webhooks_.insert_or_assign(id, std::move(record));
}

void Webhooks::forget(WebhookId id) {
  webhooks_.erase(id);
  patterns_.erase(id);
  std::erase_if(hits_, [&](const auto& hit) { return hit.webhook == id; });
  std::erase_if(pending_, [&](const auto& entry) {
    if (entry.second.webhook != id) return false;
    outcomes_.erase(entry.first);
    return true;
  });
  over_.erase(id);
  if (const auto found = queues_.find(id); found != queues_.end()) found->second.due.clear();
}

Result<Webhooks::Changes> Webhooks::create(WebhookRecord& record) {
  record.id = WebhookId(next_id_);
  DET_TRY([[maybe_unused]] const auto fine, check(record).map([] { return true; }));
  std::int64_t number = 0;
  for (auto& trigger : record.triggers) trigger.id = ++number;
  remember(record);
  Changes changes;
  changes.push_back(store::PutWebhook{record});
  changes.push_back(store::PutSetting{kNextId, std::to_string(next_id_)});
  return changes;
}

Result<Webhooks::Changes> Webhooks::change_url(WebhookId id, std::string url) {
  auto record = *find(id);
  record.url = std::move(url);
  DET_TRY([[maybe_unused]] const auto fine, check(record).map([] { return true; }));
  remember(record);
  Changes changes;
  changes.push_back(store::PutWebhook{std::move(record)});
  return changes;
}

Webhooks::Changes Webhooks::remove(WebhookId id) {
  forget(id);
  Changes changes;
  changes.push_back(store::DeleteWebhook{id});
  return changes;
}

std::function<void()> Webhooks::heard_of(Changes& changes) {
  Made made;
  for (const auto& change : changes) {
    if (const auto* deleted = std::get_if<store::DeleteExperiment>(&*change)) {
      heard_of(*deleted);
    } else if (const auto* gone = std::get_if<store::DeleteWorkspace>(&*change)) {
      for (auto at = webhooks_.begin(); at != webhooks_.end();) {
        const auto id = (at++)->first;
        if (webhooks_.at(id).workspace != gone->id) continue;
        for (auto& removal : remove(id)) made.changes.push_back(std::move(removal));
      }
    }
    if (const auto* put = std::get_if<store::PutExperiment>(&*change))
      heard_of(put->record, made);
    else if (const auto* raised = std::get_if<store::PutDelivery>(&*change);
             raised && raised->record.attempts == 0)
      made.deliveries.push_back(raised->record);
    else if (const auto* lines = std::get_if<store::AddLogs>(&*change))
      heard_of(lines->lines, made);
    else if (const auto* own = std::get_if<store::AddOwnLogs>(&*change))
      heard_of(own->lines, made);
  }
  for (auto& change : made.changes) changes.push_back(std::move(change));
  if (made.deliveries.empty()) return nullptr;
  const auto deliveries = std::make_shared<std::vector<store::DeliveryRecord>>(std::move(made.deliveries));
  return [this, deliveries] {
    for (auto& delivery : *deliveries) queue(std::move(delivery));
    timer_.cancel();
  };
}

// A row is also written when something else of an experiment changes that is over: its end tells them apart.
void Webhooks::heard_of(const experiment::ExperimentRecord& record, Made& made) {
  const auto state = state_of_interest(record.state);
  if (!state || !record.end_time || *record.end_time < opened_) return;
  const auto [told, is_new] = told_end_.try_emplace(record.id, *record.end_time);
  if (!is_new && told->second == *record.end_time) return;
  told->second = *record.end_time;
  const auto subject = subject_of(record);
  const WebhookEvent event = StateChange{*state};
  for (const auto& [id, webhook] : webhooks_)
    if (const auto* trigger = trigger_of(webhook, event); trigger != nullptr && hears(webhook, subject))
      tell(webhook, *trigger, subject, event, made);
}

void Webhooks::heard_of(const std::vector<experiment::LogRecord>& lines, Made& made) {
  if (patterns_.empty() || lines.empty() || lines.front().source == "master") return;
  const auto& task = lines.front().task_id;
  std::optional<WebhookSubject> subject;
  for (const auto& [id, patterns] : patterns_) {
    for (const auto& pattern : patterns) {
      store::LogHitRecord hit{task, id, pattern.text};
      if (hits_.contains(hit)) continue;
      if (!subject && !(subject = subject_of_task(lines.front()))) return;
      const auto& webhook = webhooks_.at(id);
      if (!hears(webhook, *subject)) break;
      const auto fits = [&](const auto& line) { return re2::RE2::PartialMatch(line.log, *pattern.compiled); };
      const auto line = std::find_if(lines.begin(), lines.end(), fits);
      if (line == lines.end()) continue;
      hits_.insert(hit);
      made.changes.push_back(store::PutLogHit{std::move(hit)});
      const WebhookTrigger trigger{0, TriggerType::TaskLog, pattern.text};
      tell(webhook, trigger, *subject, LogLine{task, line->agent_id, line->log}, made);
    }
  }
}

void Webhooks::heard_of(const store::DeleteExperiment& deleted) {
  told_end_.erase(deleted.id);
  const auto prefix = fmt::format("{}.", deleted.id);
  for (auto at = hits_.lower_bound({prefix, WebhookId(), ""}); at != hits_.end();)
    at = at->task_id.starts_with(prefix) ? hits_.erase(at) : hits_.end();
}

void Webhooks::tell(const WebhookRecord& webhook, const WebhookTrigger& trigger,
                    const WebhookSubject& subject, const WebhookEvent& event, Made& made) {
  auto& queue = queues_[webhook.id];
  if (queue.due.size() >= kPendingMax) {
    ++counts_.given_up;
    if (queue.dropped++ % 1000 == 0)
      logging::warn("webhook {} has {} undelivered events; new events for it are dropped", webhook.id,
                    queue.due.size());
    return;
  }
  const auto now = ledger_.now();
  const Notice notice{checkpoint::new_uuid(), now, trigger, subject, event};
  store::DeliveryRecord delivery{.event_id = notice.event_id,
                                 .webhook = webhook.id,
                                 .body = body_of(webhook.type, notice, settings_.base_url),
                                 .creation_time = now,
                                 .attempts = 0,
                                 .next_attempt = now};
  made.changes.push_back(store::PutDelivery{delivery});
  made.deliveries.push_back(std::move(delivery));
}

WebhookSubject Webhooks::subject_of(const experiment::ExperimentRecord& record) {
  const auto end = record.end_time.value_or(ledger_.now());
  WebhookSubject subject{.experiment = record.id,
                         .name = record.name,
                         .state = state_name(record.state),
                         .slots_per_trial = slots_per_trial(record.config),
                         .duration_seconds = std::max<std::int64_t>(0, end - record.start_time) / kSecond,
                         .resource_pool = record.resource_pool,
                         .named = named_webhooks(record.config)};
  if (const auto* project = workspaces_.project(ProjectId(record.project_id))) {
    subject.project = project->name;
    subject.workspace_id = project->workspace;
    if (const auto* workspace = workspaces_.find(project->workspace)) subject.workspace = workspace->name;
  }
  return subject;
}

// The names of trials' tasks begin with the id of their experiment.
std::optional<WebhookSubject> Webhooks::subject_of_task(const experiment::LogRecord& line) {
  if (const auto* task = ledger_.cluster().task(line.task_id)) {
    const auto& record = task->record();
    WebhookSubject subject{.name = record.id,
                           .resource_pool = record.resource_pool,
                           .workspace_id = WorkspaceId(record.workspace_id)};
    return subject;
  }
  const auto dot = line.task_id.find('.');
  const auto digits = line.task_id.substr(0, dot);
  if (dot == std::string::npos || digits.empty() || digits.size() > 18 ||
      !std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  const ExperimentId id(std::stoll(digits));
  const experiment::ExperimentRecord* record = nullptr;
  TrialId trial;
  if (const auto* live = ledger_.cluster().experiment(id)) record = &live->record();
  if (const auto* allocation = ledger_.cluster().allocation(line.allocation_id))
    trial = allocation->record.trial_id;
  if (record == nullptr) record = unmanaged_.open_record(id);
  if (record == nullptr) return std::nullopt;
  auto subject = subject_of(*record);
  subject.trial = trial;
  return subject;
}

asio::awaitable<void> Webhooks::raise(const experiment::ExperimentRecord& record, TrialId trial,
                                      CustomEvent event) {
  auto subject = subject_of(record);
  subject.trial = trial;
  Made made;
  const WebhookEvent raised = std::move(event);
  for (const auto& [id, webhook] : webhooks_)
    if (const auto* trigger = trigger_of(webhook, raised); trigger != nullptr && hears(webhook, subject))
      tell(webhook, *trigger, subject, raised, made);
  if (!made.changes.empty()) co_await ledger_.write(std::move(made.changes));
}

}  // namespace det::master
