#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>

#include "det/cli/command.h"
#include "det/cli/output/format.h"
#include "det/cli/output/numbers.h"
#include "det/cli/output/output.h"
#include "det/http/client/client.h"
#include "det/http/routing/status.h"
#include "det/version.h"

namespace det::cli {
namespace {

Result<json::value> anonymous_get(Session& session, const std::string& path) {
  http::Call call;
  call.path = path;
  DET_TRY(const auto reply, session.exchange_anonymous(std::move(call)));
  if (!reply.ok()) return tl::unexpected(http::error_of(reply.status, reply.body));
  return json::parse(reply.body);
}

std::string upper(std::string word) {
  for (auto& c : word)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return word;
}

Action define_info(CLI::App& app) {
  const auto form = std::make_shared<OutputForm>();
  add_document_flags(app, *form);
  return [form](Session& session) -> Result<int> {
    DET_TRY(const auto answer, anonymous_get(session, "/api/v1/master"));
    show_document(session.console(), *form, answer);
    return 0;
  };
}

Action define_master_config(CLI::App& app) {
  const auto form = std::make_shared<OutputForm>();
  add_document_flags(app, *form);
  return [form](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.get("/api/v1/master/config"));
    show_document(session.console(), *form, at(answer, "config"));
    return 0;
  };
}

Action define_master_config_set(CLI::App& app) {
  struct Chosen {
    std::string level, color;
  };
  const auto chosen = std::make_shared<Chosen>();
  app.add_option("--log.level", chosen->level,
                 "Log level until the master restarts: trace, debug, info, warning, error or critical")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "critical"}));
  app.add_option("--log.color", chosen->color,
                 "Colors of the log on a terminal until the master restarts: on or off")
      ->type_name("on|off")
      ->check(CLI::IsMember({"on", "off"}));
  app.require_option(1, 2);
  return [chosen](Session& session) -> Result<int> {
    json::object log;
    json::array paths;
    if (!chosen->level.empty()) {
      log["level"] = "LOG_LEVEL_" + upper(chosen->level);
      paths.emplace_back("log.level");
    }
    if (!chosen->color.empty()) {
      log["color"] = chosen->color == "on";
      paths.emplace_back("log.color");
    }
    json::object body;
    body["config"] = {{"log", std::move(log)}};
    body["fieldMask"] = {{"paths", std::move(paths)}};
    DET_TRY(const auto answer, session.patch("/api/v1/master/config", body));
    if (!chosen->level.empty())
      session.console().line("Set the log level of the master to {}", chosen->level);
    if (!chosen->color.empty())
      session.console().line("Turned the colors of the master's log {}", chosen->color);
    return 0;
  };
}

Command config_commands() {
  return {.names = {"config"},
          .help = "Show or change the configuration of the master",
          .example = "det -u admin master config --json\ndet -u admin master config set --log.level debug",
          .children = {{{"show"}, "Show the configuration of the master", "", define_master_config},
                       {{"set"},
                        "Change the configuration of the running master",
                        "det -u admin master config set --log.level debug",
                        define_master_config_set}},
          .default_child = "show"};
}

// "2026-01-02T03:04:05.123456Z [INFO]: text"
void show_master_entry(Console& console, const json::value& entry, bool as_json) {
  if (as_json) return console.write_line(json::serialize(entry));
  auto level = text_at(entry, "level");
  if (level.starts_with("LOG_LEVEL_")) level.erase(0, 10);
  console.log_line(fmt::format("{} [{}]: {}", text_at(entry, "timestamp"), level, text_at(entry, "message")));
}

Action define_master_logs(CLI::App& app) {
  struct Options {
    bool follow = false;
    bool json = false;
    std::optional<int> tail;
  };
  const auto options = std::make_shared<Options>();
  app.add_flag("-f,--follow", options->follow, "Follow the log");
  app.add_option("--tail", options->tail, "Show only the last N lines")->type_name("N")->check(at_least(0));
  app.add_flag("--json", options->json, "Print one JSON object per line");
  return [options](Session& session) -> Result<int> {
    QueryItems query;
    if (options->tail == 0 && !options->follow) return 0;
    bool hidden = options->tail == 0;  // to follow from the end on, its last line is read and not shown
    if (options->tail) query.emplace_back("offset", std::to_string(-std::max(*options->tail, 1)));
    if (options->follow) query.emplace_back("follow", "true");
    auto& console = session.console();
    auto read = session.stream("/api/v1/master/logs", query, [&](const json::value& result) {
      if (!std::exchange(hidden, false)) show_master_entry(console, at(result, "logEntry"), options->json);
      if (options->follow) console.flush();
      return true;
    });
    if (!read) return tl::unexpected(read.error());
    return 0;
  };
}

constexpr const char* kMessagePath = "/api/v1/master/cluster_message";

Action define_message_get(CLI::App& app) {
  const auto form = std::make_shared<OutputForm>();
  add_document_flags(app, *form);
  return [form](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.get(kMessagePath));
    if (at(answer, "clusterMessage").is_null() && !form->json && !form->yaml)
      session.console().line("No message is set.");
    else
      show_document(session.console(), *form, at(answer, "clusterMessage"));
    return 0;
  };
}

Action define_message_set(CLI::App& app) {
  struct Options {
    std::string message, start, end;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("-m,--message,message", options->message, "Text of at most 250 bytes")
      ->type_name("TEXT")
      ->required();
  app.add_option("-s,--start", options->start, "Start time, such as 2026-11-22T18:00:00Z (default: now)");
  app.add_option("-e,--end", options->end, "End time (default: until the message is cleared or replaced)");
  return [options](Session& session) -> Result<int> {
    json::object body{{"message", options->message}};
    if (!options->start.empty()) body["startTime"] = options->start;
    if (!options->end.empty()) body["endTime"] = options->end;
    DET_TRY(const auto answer, session.put(kMessagePath, body));
    session.console().line("Set the message to all users");
    return 0;
  };
}

Action define_message_clear(CLI::App&) {
  return [](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.del(kMessagePath));
    session.console().line("Cleared the message to all users");
    return 0;
  };
}

Command message_commands() {
  return {.names = {"cluster-message"},
          .help = "Manage the message that all users see",
          .example = "det -u admin master cluster-message set 'Maintenance at 18:00' -e 2026-11-22T20:00:00Z",
          .children = {{{"get"}, "Show the message", "", define_message_get},
                       {{"set"}, "Set the message", "", define_message_set},
                       {{"clear"}, "Clear the message", "", define_message_clear}},
          .default_child = "get"};
}

Action define_version(CLI::App& app) {
  const auto form = std::make_shared<OutputForm>();
  add_document_flags(app, *form);
  return [form](Session& session) -> Result<int> {
    json::object document;
    document["client"] = {{"version", DET_VERSION}};
    const auto master = anonymous_get(session, "/info");  // now it is known which of several leads
    DET_TRY(const auto url, session.master_url());
    document["master_address"] = url;
    json::object known;
    for (const auto* name : {"cluster_id", "master_id", "version"})
      known[name] = master ? at(*master, name) : json::value(nullptr);
    document["master"] = std::move(known);
    show_document(session.console(), *form, document);
    return 0;
  };
}

}  // namespace

Command master_commands() {
  return {
      .names = {"master"},
      .help = "Show the state, configuration and logs of the master",
      .example = "det master info\ndet master logs -f",
      .children = {{{"info"}, "Show information about the master", "", define_info},
                   config_commands(),
                   {{"logs"}, "Show logs of the master", "det master logs -f --tail 20", define_master_logs},
                   message_commands()}};
}

Command version_command() {
  return {.names = {"version"},
          .help = "Show the versions of the client and the master",
          .example = "",
          .define = define_version};
}

}  // namespace det::cli
