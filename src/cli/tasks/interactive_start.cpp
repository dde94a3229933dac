// Starting commands, notebooks, shells and TensorBoards, and waiting for them.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <thread>

#include "det/base/text.h"
#include "det/cli/context/context.h"
#include "det/cli/experiment/experiment_document.h"
#include "det/cli/follow/logs.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/cli/tasks/interactive.h"

extern char** environ;

namespace det::cli {
namespace {

using namespace std::chrono_literals;

struct StartOptions {
  std::string config_file, context, template_name, workspace;
  std::vector<std::string> overrides, includes, volumes;
  bool detach = false, no_browser = false, preview = false;
  SshWish ssh;
  std::vector<std::int64_t> experiment_ids, trial_ids;
};

void add_start_flags(CLI::App& app, StartOptions& options) {
  app.add_option("--config-file", options.config_file, "Configuration file (YAML)")->type_name("FILE");
  app.add_option("--config", options.overrides,
                 "Override a setting, such as resources.slots=0; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("-c,--context", options.context, "Directory whose files the task gets")->type_name("DIR");
  app.add_option("-i,--include", options.includes,
                 "Additional file or directory that the task gets; may be repeated")
      ->type_name("PATH")
      ->allow_extra_args(false);
  app.add_option("-v,--volume", options.volumes,
                 "Directory of the agent's machine, and where the task sees it; may be repeated")
      ->type_name("HOST:PATH")
      ->allow_extra_args(false);
  app.add_option("--template", options.template_name, "Configuration template to apply")->type_name("NAME");
  app.add_option("-w,--workspace-name", options.workspace, "Workspace of the task")->type_name("NAME");
  app.add_flag("--preview", options.preview, "Check and print the configuration without starting the task");
}

/// The body of the request that starts it. A file that nothing was added to goes as it is, so that lines in
/// errors fit.
Result<json::object> body_of(Console& console, const StartOptions& options,
                             const std::vector<std::string>& entrypoint) {
  DET_TRY(auto file, read_experiment_document(options.config_file, options.overrides));
  bool changed = options.config_file.empty();
  if (!entrypoint.empty()) {
    file.document["entrypoint"] = json::array(entrypoint.begin(), entrypoint.end());
    changed = true;
  }
  if (!options.workspace.empty()) {
    file.document["workspace"] = options.workspace;
    changed = true;
  }
  for (const auto& volume : options.volumes) {
    const auto colon = volume.find(':');
    if (colon == std::string::npos)
      return invalid_argument("volume '{}' must have the form HOST:PATH", volume);
    if (!file.document["bind_mounts"].is_array()) file.document["bind_mounts"].emplace_array();
    file.document["bind_mounts"].get_array().push_back(
        json::object{{"host_path", volume.substr(0, colon)}, {"container_path", volume.substr(colon + 1)}});
    changed = true;
  }
  json::object body;
  body["config"] = changed ? json::value(file.document) : json::value(file.text);
  if (!options.template_name.empty()) body["templateName"] = options.template_name;
  if (options.preview) body["preview"] = true;
  if (!options.experiment_ids.empty())
    body["experimentIds"] = json::array(options.experiment_ids.begin(), options.experiment_ids.end());
  if (!options.trial_ids.empty())
    body["trialIds"] = json::array(options.trial_ids.begin(), options.trial_ids.end());
  if (!options.context.empty() || !options.includes.empty()) {
    DET_TRY(auto context, pack_context(options.context, options.includes));
    for (const auto& sentence : context.skipped) console.warn(sentence);
    body["files"] = context_json(std::move(context));
  }
  return body;
}

/// Starts it; its id, or nothing where that was only tried.
Result<std::string> start(Session& session, const TaskKind& kind, const StartOptions& options,
                          const std::vector<std::string>& entrypoint) {
  auto& console = session.console();
  DET_TRY(auto body, body_of(console, options, entrypoint));
  DET_TRY(const auto answer, session.post(fmt::format("/api/v1/{}", kind.plural), body));
  for (const auto& warning : list_at(answer, "configWarnings"))
    console.warn("Warning: " + cell_text(warning));
  if (options.preview) {
    show_document(console, {.yaml = true}, at(answer, "config"));
    return std::string();
  }
  if (!list_at(answer, "warnings").empty()) {
    const auto reason = text_at(answer, "launchReason");
    console.warn(fmt::format("Warning: no agent of the cluster can run the {}{}{}; it waits until one can.",
                             kind.word, reason.empty() ? "" : ": it ", reason));
  }
  return text_at(answer, fmt::format("{}.id", kind.word));
}

/// Asks again while the master is away for a while.
Result<json::value> patient_get(Session& session, const std::string& path) {
  auto answer = session.get(path);
  for (int i = 0; i < 600 && !answer && answer.error().code() == ErrorCode::Unavailable; ++i) {
    std::this_thread::sleep_for(500ms);
    answer = session.get(path);
  }
  return answer;
}

Result<int> follow_command(Session& session, const std::string& id) {
  const auto path = task_path(kCommandKind, id);
  FollowHooks hooks;
  hooks.is_over = [&]() -> Result<bool> {
    DET_TRY(const auto answer, session.get(path));
    return text_at(answer, "command.state") == "STATE_TERMINATED";
  };
  LogOptions logs;
  logs.follow = true;
  if (auto shown = show_logs(session, "/api/v1/tasks/" + id + "/logs", logs, hooks); !shown)
    return tl::unexpected(shown.error());
  DET_TRY(const auto answer, patient_get(session, path));
  const auto status = text_at(answer, "command.exitStatus");
  const auto code = json::to_int64(at(answer, "command.exitCode"));
  if (code && *code == 0) {
    session.console().good(fmt::format("Command {} was terminated: {}", id, status));
    return 0;
  }
  session.console().fail(fmt::format("Command {} was terminated: {}", id, status));
  return static_cast<int>(code.value_or(1));
}

/// Whether a browser could show anything to the person at this terminal.
bool has_screen(const Session& session) {
  return variable(session.variables(), "DISPLAY").has_value() ||
         variable(session.variables(), "WAYLAND_DISPLAY").has_value();
}

void show_in_browser(const std::string& url) {
  std::string program = "xdg-open", address = url;
  char* words[] = {program.data(), address.data(), nullptr};
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  for (const int fd : {0, 1, 2}) posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_RDWR, 0);
  pid_t pid = 0;
  if (::posix_spawnp(&pid, words[0], &quiet, nullptr, words, environ) == 0) ::waitpid(pid, nullptr, WNOHANG);
  posix_spawn_file_actions_destroy(&quiet);
}

Action start_and_open(const TaskKind& kind, std::shared_ptr<StartOptions> options) {
  return [&kind, options](Session& session) -> Result<int> {
    if (&kind == &kTensorboardKind && options->experiment_ids.empty() && options->trial_ids.empty())
      return invalid_argument("Either experiment_ids or trial_ids must be specified.");
    DET_TRY(const auto id, start(session, kind, *options, {}));
    if (id.empty()) return 0;
    if (options->detach) {
      session.console().line("{}", id);
      return 0;
    }
    session.console().note(fmt::format("Scheduling {} (id: {})...", kind.title, id));
    session.console().flush();
    return open_task(session, kind, id, !options->no_browser, options->ssh);
  };
}

std::shared_ptr<StartOptions> interactive_flags(CLI::App& app, const TaskKind* kind) {
  const auto options = std::make_shared<StartOptions>();
  add_start_flags(app, *options);
  if (kind != &kShellKind)
    app.add_flag("--no-browser", options->no_browser, "Print the address, and open no browser");
  app.add_flag("-d,--detach", options->detach, "Print only the ID, and do not wait");
  return options;
}

}  // namespace

Result<int> open_task(Session& session, const TaskKind& kind, const std::string& id, bool browser,
                      const SshWish& wish) {
  auto& console = session.console();
  for (auto pause = 50ms;; pause = std::min(pause * 2, std::chrono::milliseconds(1s))) {
    DET_TRY(const auto answer, patient_get(session, task_path(kind, id)));
    const auto& task = at(answer, kind.word);
    const auto state = text_at(task, "state");
    if (state == "STATE_TERMINATED" || state == "STATE_TERMINATING") {
      console.clear_status();
      const auto how = text_at(task, "exitStatus");  // nothing yet while its processes end
      return failed_precondition("{} {} has ended{}{}; to see its log, run: det {} logs {}", kind.title, id,
                                 how.empty() ? "" : ": ", how, kind.word, id);
    }
    if (at(task, "isReady") == json::value(true)) {
      console.clear_status();
      if (&kind == &kShellKind) return open_shell(session, id, wish);
      DET_TRY(const auto master, session.master_url());
      const auto url = master + text_at(task, "serviceAddress");
      console.good(
          fmt::format("{}{} is running at: {}", &kind == &kNotebookKind ? "Jupyter " : "", kind.title, url));
      console.flush();
      if (browser && has_screen(session)) show_in_browser(url);
      return 0;
    }
    const auto waiting = text_at(task, "waitingReason");
    console.status(fmt::format("{} {}{}", kind.title, to_lower(state.substr(6)),
                               waiting.empty() ? "" : ": it " + waiting));
    std::this_thread::sleep_for(pause);
  }
}

Action define_command_run(CLI::App& app) {
  const auto options = std::make_shared<StartOptions>();
  add_start_flags(app, *options);
  app.add_flag("-d,--detach", options->detach, "Print only the ID, and do not wait");
  // What comes after the first word that is no option of ours belongs to the command.
  app.prefix_command();
  const auto words_of = [&app] {
    auto words = app.remaining();
    if (!words.empty() && words.front() == "--") words.erase(words.begin());
    return words;
  };
  app.final_callback([options, &app, words_of] {
    const auto usage = [](std::string text) {
      return CLI::ParseError(std::move(text), CLI::ExitCodes::InvalidError);
    };
    const auto given = app.remaining();
    if (!given.empty() && given.front() != "--" && given.front().starts_with('-'))
      throw usage(fmt::format("unexpected option '{}'; give options of det before the command to run",
                              given.front()));
    if (words_of().empty() && options->config_file.empty())
      throw usage("no command given; name a program and its arguments, such as: det command run echo hi");
  });
  return [options, words_of](Session& session) -> Result<int> {
    const auto words = words_of();
    DET_TRY(const auto id, start(session, kCommandKind, *options, words));
    if (id.empty()) return 0;
    if (options->detach) {
      session.console().line("{}", id);
      return 0;
    }
    session.console().note(fmt::format("Launched command (id: {}).", id));
    session.console().flush();
    return follow_command(session, id);
  };
}

Action define_notebook_start(CLI::App& app) {
  return start_and_open(kNotebookKind, interactive_flags(app, &kNotebookKind));
}

Action define_shell_start(CLI::App& app) {
  add_refused(app, "-p,--passphrase", "keys of shells have no passphrase", false);
  const auto options = interactive_flags(app, &kShellKind);
  app.add_option("ssh_options", options->ssh.options, "Options for ssh, after --")->type_name("SSH_OPTION");
  app.add_flag("--show-ssh-command", options->ssh.show, "Print the ssh command, for use in an editor");
  return start_and_open(kShellKind, options);
}

Action define_tensorboard_start(CLI::App& app) {
  const auto options = interactive_flags(app, &kTensorboardKind);
  app.add_option("experiment_ids", options->experiment_ids, "IDs of the experiments")
      ->type_name("EXPERIMENT_ID");
  app.add_option("-t,--trial-ids", options->trial_ids, "IDs of the trials")->type_name("TRIAL_ID");
  return start_and_open(kTensorboardKind, options);
}

}  // namespace det::cli
