#include "det/cli/tasks/generic.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "det/cli/context/context.h"
#include "det/cli/experiment/experiment_document.h"
#include "det/cli/follow/logs.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"

namespace det::cli {
namespace {

struct CreateTaskOptions {
  std::string config_file, context, parent, original, template_name;
  std::vector<std::string> overrides, includes;
  std::optional<std::int64_t> project_id;
  bool follow = false, inherit_context = false, no_pause = false;
};

std::string path_of(const std::string& id) {
  return "/api/v1/tasks/" + url_encode(id);
}

/// Shows its log until it ends. As exit status its own; 1 where it has none.
Result<int> follow_task(Session& session, const std::string& id) {
  FollowHooks hooks;
  json::value last;
  hooks.is_over = [&]() -> Result<bool> {
    DET_TRY(last, session.get(path_of(id)));
    return !text_at(last, "task.endTime").empty();
  };
  LogOptions logs;
  logs.follow = true;
  if (auto shown = show_logs(session, path_of(id) + "/logs", logs, hooks); !shown)
    return tl::unexpected(shown.error());
  DET_TRY(last, session.get(path_of(id)));
  const auto runs = list_at(last, "task.allocations");
  const auto state = text_at(last, "task.taskState").substr(std::string_view("GENERIC_TASK_STATE_").size());
  if (state == "COMPLETED") {
    session.console().good(fmt::format("Task {} is {}", id, state));
    return 0;
  }
  session.console().fail(fmt::format("Task {} is {}{}{}", id, state, runs.empty() ? "" : ": ",
                                     runs.empty() ? "" : text_at(runs.back(), "exitReason")));
  const auto code = runs.empty() ? std::nullopt : json::to_int64(at(runs.back(), "statusCode"));
  return code && *code != 0 ? static_cast<int>(*code) : 1;
}

Result<int> create(Session& session, const json::object& body, bool follow) {
  auto& console = session.console();
  DET_TRY(const auto answer, session.post("/api/v1/generic-tasks", body));
  const auto id = text_at(answer, "taskId");
  console.good("Created task " + id);
  if (!list_at(answer, "warnings").empty()) {
    const auto reason = text_at(answer, "launchReason");
    console.warn(fmt::format("Warning: no agent of the cluster can run the task{}{}; it waits until one can.",
                             reason.empty() ? "" : ": it ", reason));
  }
  for (const auto& warning : list_at(answer, "configWarnings"))
    console.warn("Warning: " + cell_text(warning));
  console.flush();
  if (!follow) return 0;
  return follow_task(session, id);
}

void add_common_flags(CLI::App& app, CreateTaskOptions& options) {
  app.add_flag("-f,--follow", options.follow, "Show the log until the task ends, and exit with its status");
  app.add_option("--project-id,--project_id", options.project_id, "Project of the task")->type_name("ID");
}

Action on_task(CLI::App& app, const char* verb, const char* done) {
  const auto ids = std::make_shared<std::vector<std::string>>();
  app.add_option("task_id", *ids, "IDs of the generic tasks")->type_name("TASK_ID")->required();
  return [ids, verb, done](Session& session) -> Result<int> {
    for (const auto& id : *ids) {
      DET_TRY(const auto answer, session.post(fmt::format("{}/{}", path_of(id), verb)));
      session.console().good(fmt::format("{} task {}", done, id));
    }
    return 0;
  };
}

}  // namespace

Action define_task_create(CLI::App& app) {
  const auto options = std::make_shared<CreateTaskOptions>();
  app.add_option("config_file", options->config_file, "Configuration file (YAML)")
      ->type_name("FILE")
      ->required();
  app.add_option("-c,--context", options->context, "Directory whose files the task gets")->type_name("DIR");
  app.add_option("-i,--include", options->includes,
                 "Additional file or directory that the task gets; may be repeated")
      ->type_name("PATH")
      ->allow_extra_args(false);
  app.add_option("--config", options->overrides,
                 "Override a setting, such as resources.slots=0; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--template", options->template_name, "Configuration template to apply")->type_name("NAME");
  add_common_flags(app, *options);
  app.add_option("--fork", options->original, "Task whose files to use where none are given")
      ->type_name("TASK_ID");
  app.add_option("-p,--parent", options->parent, "Parent of the task: when it is killed, so is the task")
      ->type_name("TASK_ID");
  app.add_flag("--inherit-context,--inherit_context", options->inherit_context,
               "Use the files of the parent");
  app.add_flag("--no-pause,--no_pause", options->no_pause, "The task cannot be paused or preempted");
  return [options](Session& session) -> Result<int> {
    DET_TRY(auto file, read_experiment_document(options->config_file, options->overrides));
    json::object body{{"config", file.text}, {"contextDirectory", json::array{}}};
    if (!options->context.empty() || !options->includes.empty()) {
      DET_TRY(auto context, pack_context(options->context, options->includes));
      for (const auto& sentence : context.skipped) session.console().warn(sentence);
      body["contextDirectory"] = context_json(std::move(context));
    }
    for (const auto& [name, text] : {std::pair{"templateName", &options->template_name},
                                     {"forkedFrom", &options->original},
                                     {"parentId", &options->parent}})
      if (!text->empty()) body[name] = *text;
    if (options->project_id) body["projectId"] = *options->project_id;
    if (options->inherit_context) body["inheritContext"] = true;
    if (options->no_pause) body["noPause"] = true;
    return create(session, body, options->follow);
  };
}

Action define_task_fork(CLI::App& app) {
  const auto options = std::make_shared<CreateTaskOptions>();
  app.add_option("task_id", options->original, "ID of the generic task to fork")
      ->type_name("TASK_ID")
      ->required();
  add_common_flags(app, *options);
  return [options](Session& session) -> Result<int> {
    json::object body{{"config", ""}, {"contextDirectory", json::array{}}, {"forkedFrom", options->original}};
    if (options->project_id) body["projectId"] = *options->project_id;
    return create(session, body, options->follow);
  };
}

Action define_task_describe_any(CLI::App& app) {
  const auto id = std::make_shared<std::string>();
  const auto form = std::make_shared<OutputForm>();
  app.add_option("task_id", *id, "ID of the task")->type_name("TASK_ID")->required();
  add_document_flags(app, *form);
  return [id, form](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.get(path_of(*id)));
    show_document(session.console(), *form, at(answer, "task"));
    return 0;
  };
}

Action define_task_config(CLI::App& app) {
  const auto id = std::make_shared<std::string>();
  const auto form = std::make_shared<OutputForm>();
  app.add_option("task_id", *id, "ID of the task")->type_name("TASK_ID")->required();
  add_document_flags(app, *form);
  return [id, form](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.get(path_of(*id) + "/config"));
    DET_TRY(const auto config, json::parse(text_at(answer, "config")));
    show_document(session.console(), *form, config);
    return 0;
  };
}

Action define_task_pause(CLI::App& app) {
  return on_task(app, "pause", "Paused");
}
Action define_task_unpause(CLI::App& app) {
  return on_task(app, "unpause", "Resumed");
}

}  // namespace det::cli
