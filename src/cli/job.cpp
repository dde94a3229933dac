#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/format.h"
#include "det/cli/logs.h"
#include "det/cli/output.h"

namespace det::cli {
namespace {

// What a master that was not told a pool calls the first of them.
Result<std::string> default_pool(Session& session) {
  DET_TRY(const auto answer, session.get("/api/v1/resource-pools"));
  const auto& pools = list_at(answer, "resourcePools");
  for (const auto& pool : pools)
    if (at(pool, "defaultComputePool") == json::value(true)) return text_at(pool, "name");
  return pools.empty() ? std::string("default") : text_at(pools[0], "name");
}

json::value without_prefix(const json::value& text, std::string_view prefix) {
  if (!text.is_string() || !std::string_view(text.get_string()).starts_with(prefix)) return text;
  return json::value(std::string_view(text.get_string()).substr(prefix.size()));
}

Action define_job_list(CLI::App& app) {
  struct Options {
    std::string pool;
    bool reverse = false;
    bool table = false;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("-p,--resource-pool", options->pool, "which pool's queue (the default pool's)")
      ->type_name("NAME");
  app.add_flag("--reverse", options->reverse, "last first");
  app.add_flag("--table", options->table, "a table, which is what you get anyway");
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    std::string pool = options->pool;
    if (pool.empty()) {
      DET_TRY(pool, default_pool(session));
    }
    DET_TRY(const auto entries,
            session.pages(
                "/api/v1/job-queues-v2",
                {{"resourcePool", pool}, {"orderBy", options->reverse ? "ORDER_BY_DESC" : "ORDER_BY_ASC"}},
                "jobs", 100));
    Table table({"#", "ID", "Type", "Job Name", "Priority or Weight", "Submitted", "Slots (acquired/needed)",
                 "State", "User"});
    for (const auto& entry : entries) {
      const auto& job = at(entry, "full").is_null() ? at(entry, "limited") : at(entry, "full");
      const auto ahead = json::to_int64(at(job, "summary.jobsAhead"));
      const auto& priority = at(job, "priority");
      table.add({ahead && *ahead >= 0 ? json::value(std::to_string(*ahead)) : json::value("N/A"),
                 at(job, "jobId"), without_prefix(at(job, "type"), "TYPE_"), at(job, "name"),
                 priority.is_null() ? at(job, "weight") : priority, time_cell(at(job, "submissionTime")),
                 json::value(fmt::format("{}/{}", integer_at(job, "allocatedSlots"),
                                         integer_at(job, "requestedSlots"))),
                 state_cell(at(job, "summary.state")), at(job, "username")});
    }
    show(session.console(), options->form, entries, table);
    return 0;
  };
}

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
  app.add_option("task_id", options->id, "which task")->type_name("TASK_ID")->required();
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

}  // namespace

Command job_commands() {
  return {.names = {"job", "j"},
          .help = "look at the queue of a resource pool",
          .example = "det job list -p default",
          .children = {{{"list", "ls"}, "list jobs", "det job list --json", define_job_list}},
          .default_child = "list"};
}

Command task_commands() {
  return {.names = {"task"},
          .help = "look at what runs on the cluster",
          .example = "det task list\ndet task logs -f 7.677de5d8-09a4-446c-93de-a19f155159a5",
          .children = {{{"list", "ls"}, "list tasks", "", define_task_list},
                       {{"logs"}, "show logs of task", "", define_task_logs}},
          .default_child = "list"};
}

}  // namespace det::cli
