#include "det/cli/tasks/interactive.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "det/cli/follow/logs.h"
#include "det/cli/output/format.h"
#include "det/cli/output/numbers.h"
#include "det/cli/output/output.h"
#include "det/cli/session/lookup.h"
#include "det/cli/tasks/tunnel.h"

namespace det::cli {

std::string task_path(const TaskKind& kind, const std::string& id) {
  return fmt::format("/api/v1/{}/{}", kind.plural, url_encode(id));
}

Result<std::string> find_task_id(Session& session, const TaskKind& kind, const std::string& text) {
  constexpr std::size_t kUuidLength = 36;
  if (text.size() >= kUuidLength) return text;
  DET_TRY(const auto tasks, session.pages(fmt::format("/api/v1/{}", kind.plural), {}, kind.plural));
  std::string found;
  for (const auto& task : tasks) {
    const auto id = text_at(task, "id");
    if (id == text) return id;
    if (!id.starts_with(text)) continue;
    if (!found.empty()) return invalid_argument("partial UUID '{}' not unique", text);
    found = id;
  }
  if (found.empty()) return not_found("partial UUID '{}' not found", text);
  return found;
}

namespace {

template <const TaskKind& kind>
Action define_task_list(CLI::App& app) {
  struct Options {
    bool quiet = false, all = false;
    std::string sort = "start-time", order = "asc", workspace;
    std::int64_t limit = 0, offset = 0;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_flag("-q,--quiet", options->quiet, "Print only the IDs");
  app.add_flag("-a,--all", options->all, "Include tasks of other users");
  app.add_option("--sort-by", options->sort, "Sort key: id, description or start-time")
      ->type_name("KEY")
      ->check(CLI::IsMember({"id", "description", "start-time"}));
  app.add_option("--order-by", options->order, "Sort order: asc or desc")
      ->type_name("ORDER")
      ->check(CLI::IsMember({"asc", "desc"}));
  app.add_option("-w,--workspace-name", options->workspace, "Show only tasks of this workspace")
      ->type_name("WORKSPACE");
  app.add_option("--limit", options->limit, "Maximum number of tasks (default: all)")
      ->type_name("N")
      ->check(at_least(1));
  app.add_option("--offset", options->offset, "Number of tasks to skip (default: 0)")
      ->type_name("N")
      ->check(at_least(0));
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    QueryItems query;
    if (!options->all) query.emplace_back("users", "me");
    if (options->sort != "start-time")
      query.emplace_back("sortBy", options->sort == "id" ? "SORT_BY_ID" : "SORT_BY_DESCRIPTION");
    if (options->order == "desc") query.emplace_back("orderBy", "ORDER_BY_DESC");
    if (!options->workspace.empty()) {
      DET_TRY(const auto workspace, find_workspace(session, options->workspace));
      query.emplace_back("workspaceId", std::to_string(integer_at(workspace, "id")));
    }
    const auto path = fmt::format("/api/v1/{}", kind.plural);
    json::array tasks;
    if (options->limit > 0 || options->offset > 0) {
      if (options->limit > 0) query.emplace_back("limit", std::to_string(options->limit));
      query.emplace_back("offset", std::to_string(options->offset));
      DET_TRY(const auto page, session.get(path, query));
      tasks = list_at(page, kind.plural);
    } else {
      DET_TRY(tasks, session.pages(path, query, kind.plural));
    }
    if (options->quiet) {
      for (const auto& task : tasks) session.console().line("{}", text_at(task, "id"));
      return 0;
    }
    const bool board = &kind == &kTensorboardKind;
    std::vector<std::string> headers = {"Id",    "Owner",       "Description",
                                        "State", "Exit Status", "Resource Pool"};
    if (board) headers.insert(headers.end(), {"Experiment Ids", "Trial Ids"});
    Table table(std::move(headers));
    const auto listed = [](const json::array& ids) {
      std::string text;
      for (const auto& id : ids) text += (text.empty() ? "" : ", ") + cell_text(id);
      return json::value(text);
    };
    for (const auto& task : tasks) {
      std::vector<json::value> row = {at(task, "id"),          at(task, "username"),
                                      at(task, "description"), state_cell(at(task, "state")),
                                      at(task, "exitStatus"),  at(task, "resourcePool")};
      if (board) {
        row.push_back(listed(list_at(task, "experimentIds")));
        row.push_back(listed(list_at(task, "trialIds")));
      }
      table.add(std::move(row));
    }
    show(session.console(), options->form, tasks, table);
    return 0;
  };
}

template <const TaskKind& kind>
Action define_logs(CLI::App& app) {
  struct Options {
    std::string id;
    LogOptions logs;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("id", options->id, "ID of the task, or a unique prefix of it")->type_name("ID")->required();
  add_log_flags(app, options->logs);
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto id, find_task_id(session, kind, options->id));
    const auto path = "/api/v1/tasks/" + url_encode(id) + "/logs";
    if (auto shown = show_logs(session, path, options->logs); !shown) return tl::unexpected(shown.error());
    return 0;
  };
}

template <const TaskKind& kind>
Action define_kill(CLI::App& app) {
  struct Options {
    std::vector<std::string> ids;
    bool force = false;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("id", options->ids, "IDs of the tasks, or unique prefixes of them")
      ->type_name("ID")
      ->required();
  app.add_flag("-f,--force", options->force, "Continue with the other tasks if one cannot be killed");
  return [options](Session& session) -> Result<int> {
    auto& console = session.console();
    for (std::size_t i = 0; i < options->ids.size(); ++i) {
      auto id = find_task_id(session, kind, options->ids[i]);
      Result<json::value> done = json::value();
      if (id) done = session.post(task_path(kind, *id) + "/kill");
      if (id && done) {
        console.good(fmt::format("Killed {} {}", kind.word, *id));
        continue;
      }
      const auto& error = id ? done.error() : id.error();
      if (!options->force) {
        for (auto rest = i + 1; rest < options->ids.size(); ++rest)
          console.warn("Cowardly not killing " + options->ids[rest]);
        return tl::unexpected(error);
      }
      console.fail(fmt::format("Skipping: {}", error.message()));
    }
    return 0;
  };
}

/// The reply about one task.
Result<json::value> get_one(Session& session, const TaskKind& kind, const std::string& text) {
  DET_TRY(const auto id, find_task_id(session, kind, text));
  return session.get(task_path(kind, id));
}

template <const TaskKind& kind>
Action define_task_describe(CLI::App& app) {
  const auto id = std::make_shared<std::string>();
  const auto form = std::make_shared<OutputForm>();
  app.add_option("id", *id, "ID of the task, or a unique prefix of it")->type_name("ID")->required();
  add_document_flags(app, *form);
  return [id, form](Session& session) -> Result<int> {
    DET_TRY(const auto answer, get_one(session, kind, *id));
    show_document(session.console(), *form, at(answer, kind.word));
    return 0;
  };
}

template <const TaskKind& kind>
Action define_config(CLI::App& app) {
  const auto id = std::make_shared<std::string>();
  const auto form = std::make_shared<OutputForm>();
  app.add_option("id", *id, "ID of the task, or a unique prefix of it")->type_name("ID")->required();
  add_document_flags(app, *form);
  return [id, form](Session& session) -> Result<int> {
    DET_TRY(const auto answer, get_one(session, kind, *id));
    show_document(session.console(), *form, at(answer, "config"));
    return 0;
  };
}

template <const TaskKind& kind>
Action define_set_priority(CLI::App& app) {
  struct Options {
    std::string id;
    int priority = 0;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("id", options->id, "ID of the task, or a unique prefix of it")->type_name("ID")->required();
  app.add_option("priority", options->priority, "1 to 99; a lower number is more important")
      ->type_name("PRIORITY")
      ->required();
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto id, find_task_id(session, kind, options->id));
    DET_TRY(const auto answer, session.post(task_path(kind, id) + "/set_priority",
                                            json::object{{"priority", options->priority}}));
    session.console().line("Set the priority of {} {} to {}", kind.word, id, options->priority);
    return 0;
  };
}

template <const TaskKind& kind>
Action define_open(CLI::App& app) {
  struct Options {
    std::string id;
    bool no_browser = false;
    SshWish ssh;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("id", options->id, "ID of the task, or a unique prefix of it")->type_name("ID")->required();
  if (&kind == &kShellKind) {
    app.add_option("ssh_options", options->ssh.options, "Options for ssh, after --")->type_name("SSH_OPTION");
    app.add_option("--command", options->ssh.command, "Run this command instead of a shell")
        ->type_name("COMMAND");
    app.add_flag("--show-ssh-command", options->ssh.show, "Print the ssh command, for use in an editor");
  } else {
    app.add_flag("--no-browser", options->no_browser, "Print the address, and open no browser");
  }
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto id, find_task_id(session, kind, options->id));
    DET_TRY(const auto answer, session.get(task_path(kind, id)));
    if (text_at(answer, fmt::format("{}.state", kind.word)) == "STATE_TERMINATED")
      return failed_precondition("{} {} must be in a running state; it has ended: {}", kind.title, id,
                                 text_at(answer, fmt::format("{}.exitStatus", kind.word)));
    return open_task(session, kind, id, !options->no_browser, options->ssh);
  };
}

Action define_show_ssh_command(CLI::App& app) {
  const auto id = std::make_shared<std::string>();
  const auto ssh =
      std::make_shared<SshWish>(SshWish{.options = {}, .command = {}, .show = true, .connect = false});
  app.add_option("id", *id, "ID of the shell, or a unique prefix of it")->type_name("ID")->required();
  app.add_option("ssh_options", ssh->options, "Options for ssh, after --")->type_name("SSH_OPTION");
  return [id, ssh](Session& session) -> Result<int> {
    DET_TRY(const auto shell, find_task_id(session, kShellKind, *id));
    return open_task(session, kShellKind, shell, false, *ssh);
  };
}

template <const TaskKind& kind>
Command group(std::vector<std::string> names, std::string example, Command start) {
  Command commands{
      .names = std::move(names),
      .help = fmt::format("Manage {}", kind.plural),
      .example = std::move(example),
      .children =
          {std::move(start),
           {{"list", "ls"}, fmt::format("List {}", kind.plural), "", define_task_list<kind>},
           {{"logs"}, fmt::format("Show the logs of a {}", kind.word), "", define_logs<kind>},
           {{"kill"}, fmt::format("Kill a {}", kind.word), "", define_kill<kind>},
           {{"describe"}, fmt::format("Describe a {}", kind.word), "", define_task_describe<kind>},
           {{"config"}, fmt::format("Show the configuration of a {}", kind.word), "", define_config<kind>},
           {.names = {"set"},
            .help = fmt::format("Change a setting of a {}", kind.word),
            .children = {{{"priority"},
                          fmt::format("Set the priority of a {}", kind.word),
                          "",
                          define_set_priority<kind>}}}},
      .default_child = "list"};
  if (&kind != &kCommandKind)
    commands.children.push_back({{"open"}, fmt::format("Open a {}", kind.word), "", define_open<kind>});
  if (&kind == &kShellKind)
    commands.children.push_back({{"show-ssh-command", "show_ssh_command"},
                                 "Print the ssh command that opens a shell",
                                 "",
                                 define_show_ssh_command});
  return commands;
}

}  // namespace

Command command_commands() {
  return group<kCommandKind>({"command", "cmd"}, "det command run --config resources.slots=0 nvidia-smi -L",
                             {{"run"},
                              "Run a command",
                              "det command run python -c 'print(6 * 7)'\n"
                              "det cmd run -d --context . --config resources.slots=2 ./prepare.sh",
                              define_command_run});
}

Command notebook_commands() {
  return group<kNotebookKind>({"notebook"}, "det notebook start --config resources.slots=0",
                              {{"start"}, "Start a notebook", "", define_notebook_start});
}

Command shell_commands() {
  return group<kShellKind>({"shell"}, "det shell start --config resources.slots=1",
                           {{"start"}, "Start a shell", "", define_shell_start});
}

Command tunnel_command() {
  return {{"tunnel"},
          "Connect to a port of a task through the master",
          "det tunnel 5f0c8d1e-6a0b-4c0e-9d53-0c1e5f3c7a11 --listener 8080:5000",
          define_tunnel};
}

Command tensorboard_commands() {
  return group<kTensorboardKind>({"tensorboard"}, "det tensorboard start 7",
                                 {{"start"},
                                  "Start a TensorBoard",
                                  "det tensorboard start 7 8\ndet tensorboard start -t 12",
                                  define_tensorboard_start});
}

}  // namespace det::cli
