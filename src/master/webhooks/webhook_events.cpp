#include "det/master/webhooks/webhook_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "det/base/text.h"
#include "det/master/identity/secret.h"

namespace det::master {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

constexpr std::size_t kLineBytesMax = 4096;  // of a log line, in what is told

/// Valid UTF-8 of bounded length: what JSON can hold.
std::string shown(std::string_view whole, std::size_t bytes_max = kLineBytesMax) {
  std::string text(whole.substr(0, bytes_max));
  // A character that was cut in two goes whole.
  for (int cut = 0; cut < 3 && whole.size() > bytes_max && !is_utf8(text); ++cut) text.pop_back();
  if (is_utf8(text)) return text;
  for (auto& c : text)
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return text;
}

std::string type_name(const WebhookEvent& event) {
  return std::visit(
      Overloaded{[](const StateChange&) { return "EXPERIMENT_STATE_CHANGE"; },
                 [](const LogLine&) { return "TASK_LOG"; }, [](const CustomEvent&) { return "CUSTOM"; },
                 [](const TestEvent&) { return "EXPERIMENT_STATE_CHANGE"; }},
      event);
}

json::object condition_of(const Notice& notice) {
  return std::visit(
      Overloaded{[](const StateChange& e) { return json::object{{"state", e.state}}; },
                 [&](const LogLine&) { return json::object{{"regex", notice.trigger.condition}}; },
                 [](const CustomEvent&) { return json::object{}; },
                 [](const TestEvent&) { return json::object{{"state", "COMPLETED"}}; }},
      notice.event);
}

json::object experiment_of(const WebhookSubject& s) {
  json::object o{{"id", s.experiment.value()},
                 {"state", s.state},
                 {"name", s.name},
                 {"slots_per_trial", s.slots_per_trial},
                 {"duration", s.duration_seconds},
                 {"resource_pool", s.resource_pool},
                 {"workspace", s.workspace},
                 {"project", s.project}};
  if (s.trial) o["trial_id"] = s.trial.value();
  return o;
}

json::object event_data(const Notice& notice) {
  json::object data;
  if (notice.subject.experiment) data["experiment"] = experiment_of(notice.subject);
  std::visit(
      Overloaded{[](const StateChange&) {},
                 [&](const LogLine& e) {
                   data["task_log"] = json::object{
                       {"task_id", e.task_id}, {"node_name", e.node}, {"triggering_log", shown(e.line)}};
                 },
                 [&](const CustomEvent& e) {
                   data["custom_data"] =
                       json::object{{"title", e.title}, {"description", e.description}, {"level", e.level}};
                 },
                 [&](const TestEvent&) { data["data"] = "test"; }},
      notice.event);
  return data;
}

// Slack reads &, < and > as its own marks.
std::string slack_text(std::string_view text) {
  std::string escaped;
  for (const char c : shown(text, 2000)) {
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else
      escaped += c;
  }
  return escaped;
}

json::object slack_section(std::string text) {
  return {{"type", "section"}, {"text", {{"type", "mrkdwn"}, {"text", std::move(text)}}}};
}

/// "Experiment 7 (mnist)", a link where it is known where to.
std::string slack_subject(const WebhookSubject& s, const std::string& base_url) {
  if (!s.experiment) return "A task";
  const auto words = slack_text(fmt::format("Experiment {} ({})", s.experiment, s.name));
  if (base_url.empty()) return words;
  return fmt::format("<{}/det/experiments/{}|{}>", base_url, s.experiment, words);
}

std::string slack_sentence(const Notice& notice, const std::string& base_url) {
  const auto subject = slack_subject(notice.subject, base_url);
  return std::visit(
      Overloaded{[&](const StateChange& e) {
                   return e.state == "COMPLETED"  ? subject + " is complete :white_check_mark:"
                          : e.state == "CANCELED" ? subject + " was canceled"
                                                  : subject + " has failed :x:";
                 },
                 [&](const LogLine& e) {
                   return fmt::format("{} logged a line that matches `{}`\n```{}```", subject,
                                      slack_text(notice.trigger.condition), slack_text(shown(e.line)));
                 },
                 [&](const CustomEvent& e) {
                   return fmt::format("{}: *{}*\n{}", subject, slack_text(e.title),
                                      slack_text(e.description));
                 },
                 [](const TestEvent&) { return std::string("This is a test of a Determined webhook"); }},
      notice.event);
}

const char* slack_colour(const WebhookEvent& event) {
  if (const auto* state = std::get_if<StateChange>(&event))
    return state->state == "COMPLETED" ? "#13B670" : state->state == "ERROR" ? "#DD5040" : "#8A8A8A";
  if (const auto* custom = std::get_if<CustomEvent>(&event))
    return custom->level.ends_with("ERROR") || custom->level.ends_with("CRITICAL") ? "#DD5040"
           : custom->level.ends_with("WARNING")                                    ? "#E5A50A"
                                                                                   : "#13B670";
  return "#2F80ED";
}

std::string slack_body(const Notice& notice, const std::string& base_url) {
  const auto& s = notice.subject;
  json::array fields;
  const auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    fields.push_back(
        json::object{{"type", "mrkdwn"}, {"text", fmt::format("*{}*: {}", name, slack_text(value))}});
  };
  if (s.experiment) {
    add("Status", s.state);
    add("Duration", fmt::format("{}h {}min", s.duration_seconds / 3600, s.duration_seconds / 60 % 60));
    add("Slots per trial", std::to_string(s.slots_per_trial));
    add("Resource pool", s.resource_pool);
    add("Workspace", s.workspace);
    add("Project", s.project);
  }
  const auto sentence = slack_sentence(notice, base_url);
  json::object message{{"text", sentence}, {"blocks", json::array{slack_section(sentence)}}};
  if (!fields.empty()) {
    json::array blocks{json::object{{"type", "section"}, {"fields", std::move(fields)}}};
    message["attachments"] =
        json::array{json::object{{"color", slack_colour(notice.event)}, {"blocks", std::move(blocks)}}};
  }
  return json::serialize(message);
}

}  // namespace

NamedWebhooks named_webhooks(const json::object& config) {
  NamedWebhooks named;
  const auto* integrations = config.if_contains("integrations");
  if (integrations == nullptr || !integrations->is_object()) return named;
  const auto* section = integrations->get_object().if_contains("webhooks");
  if (section == nullptr || !section->is_object()) return named;
  const auto& members = section->get_object();
  if (const auto* ids = members.if_contains("webhook_id"); ids != nullptr && ids->is_array())
    for (const auto& id : ids->get_array())
      if (const auto number = json::to_int64(id)) named.ids.insert(*number);
  if (const auto* names = members.if_contains("webhook_name"); names != nullptr && names->is_array())
    for (const auto& name : names->get_array())
      if (name.is_string()) named.names.emplace(name.get_string());
  const auto* exclude = members.if_contains("exclude");
  named.exclude = exclude != nullptr && exclude->is_bool() && exclude->get_bool();
  return named;
}

std::optional<std::string> state_of_interest(experiment::State state) {
  if (state == experiment::State::Completed) return "COMPLETED";
  if (state == experiment::State::Error) return "ERROR";
  if (state == experiment::State::Canceled) return "CANCELED";
  return std::nullopt;
}

bool hears(const WebhookRecord& webhook, const WebhookSubject& subject) {
  if (subject.named.exclude) return false;
  if (webhook.workspace && webhook.workspace != subject.workspace_id) return false;
  if (webhook.mode == WebhookMode::Workspace) return true;
  return subject.named.ids.contains(webhook.id.value()) ||
         (!webhook.name.empty() && subject.named.names.contains(webhook.name));
}

const WebhookTrigger* trigger_of(const WebhookRecord& webhook, const WebhookEvent& event) {
  const auto* change = std::get_if<StateChange>(&event);
  const bool custom = std::holds_alternative<CustomEvent>(event) && webhook.mode == WebhookMode::Specific;
  for (const auto& trigger : webhook.triggers) {
    if (trigger.type == TriggerType::ExperimentStateChange && change != nullptr &&
        trigger.condition == change->state)
      return &trigger;
    if (trigger.type == TriggerType::Custom && custom) return &trigger;
  }
  return nullptr;
}

std::string body_of(WebhookType type, const Notice& notice, const std::string& base_url) {
  if (type == WebhookType::Slack) return slack_body(notice, base_url);
  return json::serialize(json::object{{"event_id", notice.event_id},
                                      {"event_type", type_name(notice.event)},
                                      {"timestamp", notice.time.microseconds / kSecond},
                                      {"condition", condition_of(notice)},
                                      {"event_data", event_data(notice)}});
}

std::string signature_of(const std::string& key, std::int64_t timestamp, const std::string& body) {
  const auto bytes = [](const std::string& text) {
    return reinterpret_cast<const unsigned char*>(text.data());
  };
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, bytes(key), key.size());
  const auto time = std::to_string(timestamp) + ",";
  crypto_auth_hmacsha256_update(&state, bytes(time), time.size());
  crypto_auth_hmacsha256_update(&state, bytes(body), body.size());
  std::array<unsigned char, crypto_auth_hmacsha256_BYTES> sum{};
  crypto_auth_hmacsha256_final(&state, sum.data());
  return hex(sum);
}

Verdict verdict_of(int status) {
  if (status >= 200 && status < 300) return Verdict::Delivered;
  if (status == 408 || status == 429 || status >= 500) return Verdict::TryAgain;
  return Verdict::GiveUp;
}

std::chrono::seconds delay_after(std::int64_t attempts) {
  constexpr std::int64_t kLongest = 300;
  const auto doubled = std::int64_t{1} << std::clamp<std::int64_t>(attempts - 1, 0, 20);
  return std::chrono::seconds(std::min(doubled, kLongest));
}

}  // namespace det::master
