#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/experiment/log_retention.h"
#include "det/cli/follow/logs.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/cli/tasks/generic.h"

namespace det::cli {
namespace {

Action define_task_list(CLI::App& app) {
  const auto form = std::make_shared<OutputForm>();
  add_output_flags(app, *form);
  return [form](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.get("/api/v1/tasks"));
    const auto& summaries = at(answer, "allocationIdToSummary");
    std::vector<const json::value*> tasks;
    if (summaries.is_object())
      for (const auto& member : summaries.get_object()) tasks.push_back(&member.value());
    std::sort(tasks.begin(), tasks.end(), [](const auto* a, const auto* b) {
      return std::pair(text_at(*a, "registeredTime"), text_at(*a, "allocationId")) <
             std::pair(text_at(*b, "registeredTime"), text_at(*b, "allocationId"));
    });
    Table table({"Task ID", "Allocation ID", "Name", "Slots Needed", "Registered Time", "Agent", "Priority",
                 "Resource Pool", "Ports"});
    for (const auto* task : tasks) {
      std::string agents, ports;
      for (const auto& resources : list_at(*task, "resources"))
        if (at(resources, "agentDevices").is_object())
          for (const auto& agent : at(resources, "agentDevices").get_object())
            agents += (agents.empty() ? "" : ", ") + std::string(agent.key());
      for (const auto& port : list_at(*task, "proxyPorts"))
        ports += (ports.empty() ? "" : ", ") + cell_text(at(port, "port"));
      table.add({at(*task, "taskId"), at(*task, "allocationId"), at(*task, "name"), at(*task, "slotsNeeded"),
                 time_cell(at(*task, "registeredTime")), json::value(agents.empty() ? "unassigned" : agents),
                 at(*task, "priority"), at(*task, "resourcePool"), json::value(ports)});
    }
    show(session.console(), *form, summaries, table);
    return 0;
  };
}

Action define_task_logs(CLI::App& app) {
  struct Options {
    std::string id;
    LogOptions logs;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("task_id", options->id, "ID of the task")->type_name("TASK_ID")->required();
  add_log_flags(app, options->logs);
  return [options](Session& session) -> Result<int> {
    const auto path = "/api/v1/tasks/" + url_encode(options->id) + "/logs";
    if (auto shown = show_logs(session, path, options->logs); !shown) return tl::unexpected(shown.error());
    if (!options->logs.json)
      session.console().good(
          fmt::format("Task log stream ended. To reopen log stream, run: det task logs -f {}", options->id));
    return 0;
  };
}

Action define_task_kill(CLI::App& app) {
  struct Options {
    std::vector<std::string> ids;
    bool root = false;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("task_id", options->ids, "IDs of the tasks")->type_name("TASK_ID")->required();
  app.add_flag("--root", options->root,
               "Kill the first ancestor of a generic task, and with it all of that one's descendants");
  return [options](Session& session) -> Result<int> {
    json::object body;
    if (options->root) body["killFromRoot"] = true;
    for (const auto& id : options->ids) {
      DET_TRY(const auto answer, session.post("/api/v1/tasks/" + url_encode(id) + "/kill", body));
      session.console().good("Killed task " + id);
    }
    return 0;
  };
}

}  // namespace

Command task_commands() {
  return {.names = {"task"},
          .help = "Manage tasks: everything that runs on the cluster",
          .example = "det task list\ndet task logs -f 7.677de5d8-09a4-446c-93de-a19f155159a5",
          .children = {{{"list", "ls"}, "List tasks", "", define_task_list},
                       {{"logs"}, "Show the logs of a task", "", define_task_logs},
                       {{"create"},
                        "Create a generic task: a command that can be paused, forked, and have children",
                        "det task create task.yaml --context . --follow",
                        define_task_create},
                       {{"fork"}, "Start a generic task again, as a new one", "", define_task_fork},
                       {{"describe"}, "Show a task and its allocations", "", define_task_describe_any},
                       {{"config"}, "Show the configuration of a task", "", define_task_config},
                       {{"pause"},
                        "Pause a generic task and its descendants: they give their slots back",
                        "",
                        define_task_pause},
                       {{"unpause"},
                        "Resume a generic task and its descendants: their commands run again",
                        "",
                        define_task_unpause},
                       {{"kill"}, "Kill a task, and the descendants of a generic task", "", define_task_kill},
                       {{"cleanup-logs"},
                        "Delete the logs whose retention time is over",
                        "det -u admin task cleanup-logs",
                        define_cleanup_logs}},
          .default_child = "list"};
}

}  // namespace det::cli
