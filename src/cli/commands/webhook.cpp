// Who is told when an experiment ends, or a log has a certain line.

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "det/base/text.h"
#include "det/cli/command.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/cli/session/lookup.h"

namespace det::cli {
namespace {

/// "WEBHOOK_TYPE_SLACK" -> "slack".
std::string word_of(const std::string& name, std::string_view prefix) {
  return to_lower(name.starts_with(prefix) ? name.substr(prefix.size()) : name);
}

/// When it fires, as the flags of `create` say it.
std::string trigger_text(const json::value& trigger) {
  const auto type = text_at(trigger, "triggerType");
  if (type == "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE") return "on " + text_at(trigger, "condition.state");
  if (type == "TRIGGER_TYPE_TASK_LOG") return "on log " + text_at(trigger, "condition.regex");
  if (type == "TRIGGER_TYPE_CUSTOM") return "on alert";
  return type;
}

Table webhook_table(const json::array& webhooks, const std::map<std::int64_t, std::string>& workspaces) {
  Table table({"ID", "Name", "URL", "Type", "Fires", "Mode", "Workspace"});
  for (const auto& webhook : webhooks) {
    std::string fires;
    for (const auto& trigger : list_at(webhook, "triggers"))
      fires += (fires.empty() ? "" : "\n") + trigger_text(trigger);
    json::value workspace("all");
    if (const auto& id = at(webhook, "workspaceId"); !id.is_null()) {
      const auto named = workspaces.find(integer_at(webhook, "workspaceId"));
      workspace = named == workspaces.end() ? id : json::value(named->second);
    }
    table.add({at(webhook, "id"), at(webhook, "name"), at(webhook, "url"),
               json::value(word_of(text_at(webhook, "webhookType"), "WEBHOOK_TYPE_")), json::value(fires),
               json::value(word_of(text_at(webhook, "mode"), "WEBHOOK_MODE_")), workspace});
  }
  return table;
}

/// The webhook of a number or a name; names are unique in a workspace, not in the cluster.
Result<json::value> find_webhook(Session& session, const std::string& named) {
  DET_TRY(const auto all, session.get("/api/v1/webhooks"));
  std::vector<json::value> found;
  for (const auto& webhook : list_at(all, "webhooks")) {
    if (std::to_string(integer_at(webhook, "id")) == named) return webhook;
    if (text_at(webhook, "name") == named) found.push_back(webhook);
  }
  if (found.empty()) return not_found("webhook '{}' not found; 'det webhook list' shows all webhooks", named);
  if (found.size() > 1)
    return failed_precondition("{} webhooks have the name '{}'; give the ID, which 'det webhook list' shows",
                               found.size(), named);
  return found.front();
}

std::string path_of(const json::value& webhook) {
  return fmt::format("/api/v1/webhooks/{}", integer_at(webhook, "id"));
}

Action define_webhook_list(CLI::App& app) {
  const auto form = std::make_shared<OutputForm>();
  add_output_flags(app, *form);
  return [form](Session& session) -> Result<int> {
    DET_TRY(const auto found, session.get("/api/v1/webhooks"));
    const auto& webhooks = list_at(found, "webhooks");
    std::map<std::int64_t, std::string> names;
    if (!webhooks.empty()) {
      DET_TRY(const auto workspaces, session.pages("/api/v1/workspaces", {}, "workspaces", 500));
      for (const auto& workspace : workspaces)
        names.emplace(integer_at(workspace, "id"), text_at(workspace, "name"));
    }
    show(session.console(), *form, webhooks, webhook_table(webhooks, names));
    return 0;
  };
}

struct NewWebhook {
  std::string name, url, workspace;
  std::vector<std::string> states, patterns;
  bool slack = false, alerts = false, specific = false;
  OutputForm form;
};

json::array triggers_of(const NewWebhook& options) {
  json::array triggers;
  for (auto state : options.states) {
    for (auto& c : state) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    triggers.push_back(
        {{"triggerType", "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE"}, {"condition", {{"state", state}}}});
  }
  for (const auto& pattern : options.patterns)
    triggers.push_back({{"triggerType", "TRIGGER_TYPE_TASK_LOG"}, {"condition", {{"regex", pattern}}}});
  if (options.alerts)
    triggers.push_back({{"triggerType", "TRIGGER_TYPE_CUSTOM"}, {"condition", json::object()}});
  return triggers;
}

Action define_webhook_create(CLI::App& app) {
  const auto options = std::make_shared<NewWebhook>();
  app.add_option("name", options->name, "Name of the webhook")->type_name("NAME")->required();
  app.add_option("url", options->url, "URL that the master posts events to")->type_name("URL")->required();
  app.add_option("--on", options->states,
                 "Fire when an experiment reaches this state: completed, error or canceled; may be repeated")
      ->type_name("STATE")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--on-log", options->patterns,
                 "Fire once per task when a log line matches (RE2 syntax); may be repeated")
      ->type_name("REGEX")
      ->allow_extra_args(false);
  app.add_flag("--on-alert", options->alerts, "Fire when a script calls context.alert(); needs --specific");
  app.add_flag("--slack", options->slack, "Post messages in the format of Slack");
  app.add_flag("--specific", options->specific,
               "Fire only for experiments whose configuration names the webhook");
  app.add_option("-w,--workspace", options->workspace,
                 "Fire only for experiments of this workspace (default: all)")
      ->type_name("WORKSPACE");
  add_document_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    auto triggers = triggers_of(*options);
    if (triggers.empty())
      return invalid_argument("webhook '{}' has no trigger; give --on STATE, --on-log REGEX or --on-alert",
                              options->name);
    json::object body{{"name", options->name},
                      {"url", options->url},
                      {"webhookType", options->slack ? "WEBHOOK_TYPE_SLACK" : "WEBHOOK_TYPE_DEFAULT"},
                      {"mode", options->specific ? "WEBHOOK_MODE_SPECIFIC" : "WEBHOOK_MODE_WORKSPACE"},
                      {"triggers", std::move(triggers)}};
    if (!options->workspace.empty()) {
      DET_TRY(const auto workspace, find_workspace(session, options->workspace));
      body["workspaceId"] = integer_at(workspace, "id");
    }
    DET_TRY(const auto made, session.post("/api/v1/webhooks", std::move(body)));
    if (options->form.json || options->form.yaml) {
      show_document(session.console(), options->form, at(made, "webhook"));
      return 0;
    }
    const auto id = integer_at(made, "webhook.id");
    session.console().line("Created webhook '{}' with ID {}. To test it, run: det webhook test {}",
                           options->name, id, id);
    return 0;
  };
}

/// One positional argument: which webhook.
std::shared_ptr<std::string> add_webhook(CLI::App& app) {
  const auto named = std::make_shared<std::string>();
  app.add_option("webhook", *named, "ID or name of the webhook")->type_name("WEBHOOK")->required();
  return named;
}

Action define_edit(CLI::App& app) {
  const auto named = add_webhook(app);
  const auto url = std::make_shared<std::string>();
  app.add_option("--url", *url, "New URL of the webhook")->type_name("URL")->required();
  return [named, url](Session& session) -> Result<int> {
    DET_TRY(const auto webhook, find_webhook(session, *named));
    DET_TRY(const auto changed, session.patch(path_of(webhook), json::object{{"url", *url}}));
    session.console().line("Changed the URL of webhook '{}' to {}", text_at(webhook, "name"), *url);
    return 0;
  };
}

Action define_test(CLI::App& app) {
  const auto named = add_webhook(app);
  return [named](Session& session) -> Result<int> {
    DET_TRY(const auto webhook, find_webhook(session, *named));
    DET_TRY(const auto arrived, session.post(path_of(webhook) + "/test"));
    session.console().line("Delivered a test event to {}", text_at(webhook, "url"));
    return 0;
  };
}

Action define_deliveries(CLI::App& app) {
  const auto named = add_webhook(app);
  const auto form = std::make_shared<OutputForm>();
  add_output_flags(app, *form);
  return [named, form](Session& session) -> Result<int> {
    DET_TRY(const auto webhook, find_webhook(session, *named));
    DET_TRY(const auto found, session.get(path_of(webhook) + "/deliveries"));
    Table table({"Time", "Event", "State", "Attempts", "Outcome", "Next Attempt"});
    for (const auto& delivery : list_at(found, "deliveries"))
      table.add({time_cell(at(delivery, "creationTime")), at(delivery, "event"),
                 json::value(word_of(text_at(delivery, "state"), "DELIVERY_STATE_")),
                 at(delivery, "attempts"), at(delivery, "outcome"), time_cell(at(delivery, "nextAttempt"))});
    show(session.console(), *form, list_at(found, "deliveries"), table);
    return 0;
  };
}

Action define_webhook_delete(CLI::App& app) {
  const auto named = add_webhook(app);
  return [named](Session& session) -> Result<int> {
    DET_TRY(const auto webhook, find_webhook(session, *named));
    DET_TRY(const auto gone, session.del(path_of(webhook)));
    session.console().line("Deleted webhook '{}' and its pending deliveries", text_at(webhook, "name"));
    return 0;
  };
}

}  // namespace

Command webhook_commands() {
  const std::string create =
      "det webhook create team https://example.com/hook --on error --on-log 'out of memory'";
  return {.names = {"webhook", "wh"},
          .help = "Manage webhooks",
          .example = create,
          .children = {{{"list", "ls"}, "List webhooks", "", define_webhook_list},
                       {{"create"}, "Create a webhook", create, define_webhook_create},
                       {{"edit"},
                        "Edit a webhook",
                        "det webhook edit team --url https://example.com/new",
                        define_edit},
                       {{"test"}, "Test a webhook", "det webhook test team", define_test},
                       {{"deliveries"},
                        "List the deliveries of a webhook",
                        "det webhook deliveries team",
                        define_deliveries},
                       {{"delete", "rm"}, "Delete a webhook", "det webhook delete 3", define_webhook_delete}},
          .default_child = "list"};
}

}  // namespace det::cli
