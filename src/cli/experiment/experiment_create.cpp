#include <unistd.h>
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "det/base/text.h"
#include "det/cli/context/context.h"
#include "det/cli/context/git.h"
#include "det/cli/experiment/experiment.h"
#include "det/cli/experiment/experiment_document.h"
#include "det/cli/output/format.h"
#include "det/config/values/entrypoint.h"

namespace det::cli {
namespace {

struct CreateOptions {
  std::string config_file;
  std::string model_directory;
  std::vector<std::string> overrides;
  std::vector<std::string> includes;
  std::string template_name;
  std::optional<std::int64_t> project_id;
  bool paused = false;
  bool follow = false;
  std::vector<std::string> published;
  bool local = false;
  bool test = false;
  bool git = false;
};

// What runs a model definition without a cluster: Python, or for trials in C++ the program beside this one.
std::vector<std::string> local_program(Session& session, const ExperimentDocument& document) {
  const auto* entrypoint = document.document.if_contains("entrypoint");
  if (entrypoint != nullptr && entrypoint->is_string() &&
      config::is_cxx_entrypoint(entrypoint->get_string())) {
    if (const auto given = variable(session.variables(), "DET_TRIAL_PROGRAM")) return {*given, "local"};
    std::error_code error;
    const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
    return {own.parent_path() / "det-trial", "local"};
  }
  return {variable(session.variables(), "DET_PYTHON").value_or("python3"), "-m", "determined.exec.local"};
}

// Replaces this process by the local test run.
Result<int> run_locally(Session& session, const CreateOptions& options, const ExperimentDocument& document) {
  if (options.model_directory.empty())
    return invalid_argument("--local needs MODEL_DEF, the directory of the model definition");
  if (!std::filesystem::is_directory(options.model_directory))
    return invalid_argument("Path '{}' must be a directory", options.model_directory);
  auto config_file = options.config_file;
  const auto program = local_program(session, document);
  const bool python = program.size() > 2;
  if (python || !options.overrides.empty()) {
    // The test run reads a file; it may keep it open for as long as it likes. Python gets JSON, which it
    // reads without a package for YAML.
    std::string name = (std::filesystem::temp_directory_path() /
                        (python ? "det-config-XXXXXX.json" : "det-config-XXXXXX.yaml"))
                           .string();
    const auto text = python ? json::serialize(document.document) : document.text;
    const int fd = ::mkstemps(name.data(), 5);
    const bool written =
        fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (fd >= 0) ::close(fd);
    if (!written) return fail(ErrorCode::Unavailable, "cannot write {}: {}", name, std::strerror(errno));
    config_file = name;
  }
  auto words = program;
  words.insert(words.end(), {config_file, options.model_directory, "--test"});
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  session.console().flush();
  ::execvp(argv[0], argv.data());
  return fail(ErrorCode::Unavailable, "cannot start {}: {}; set {}", program[0], std::strerror(errno),
              python ? "DET_PYTHON to a Python that has the package determined"
                     : "DET_TRIAL_PROGRAM to the path of det-trial");
}

Result<json::array> pack(Console& console, const CreateOptions& options) {
  std::string shown = options.model_directory.empty() ? "" : display_path(options.model_directory);
  const auto text = [&](std::int64_t bytes, std::size_t entries) {
    return fmt::format("Preparing files{} to send to master... {} and {} files",
                       shown.empty() ? "" : " (" + shown + ")", human_size(bytes), entries);
  };
  console.status(text(0, 0));
  DET_TRY(auto context, pack_context(options.model_directory, options.includes,
                                     [&](std::int64_t bytes, std::size_t entries) {
                                       console.status(text(bytes, entries));
                                     }));
  for (const auto& sentence : context.skipped) console.warn(sentence);
  console.finish_status(text(context.bytes, context.entries.size()));
  return context_json(std::move(context));
}

void add_origin(json::object& body, const GitOrigin& origin) {
  for (const auto& [name, text] : {std::pair{"gitRemote", &origin.remote},
                                   {"gitCommit", &origin.commit},
                                   {"gitCommitter", &origin.committer},
                                   {"gitCommitDate", &origin.date},
                                   {"gitBranch", &origin.branch}})
    if (!text->empty()) body[name] = *text;
  if (origin.dirty) body["gitDirty"] = *origin.dirty;
}

json::object request_body(const CreateOptions& options, const std::string& config, json::array files,
                          const std::optional<GitOrigin>& origin) {
  json::object body;
  if (origin) add_origin(body, *origin);
  body["config"] = config;
  body["modelDefinition"] = std::move(files);
  body["activate"] = !options.paused;
  if (!options.template_name.empty()) body["template"] = options.template_name;
  if (options.project_id) body["projectId"] = *options.project_id;
  return body;
}

void show_warnings(Console& console, const json::value& answer) {
  for (const auto& warning : list_at(answer, "warnings")) {
    const auto name = cell_text(warning);
    if (name == "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED")
      console.note(fmt::format(
          "Warning: no agent of the cluster can run the experiment{}{}; it waits until one can.",
          text_at(answer, "launchReason").empty() ? "" : ": it ", text_at(answer, "launchReason")));
    else
      console.note("Warning: " + name);
  }
  // On standard error: scripts read the lines of `create`.
  for (const auto& warning : list_at(answer, "configWarnings"))
    console.warn("Warning: " + cell_text(warning));
}

Result<int> create_test(Session& session, const CreateOptions& options, const ExperimentDocument& document,
                        json::array files, const std::optional<GitOrigin>& origin) {
  auto& console = session.console();
  console.note("Validating experiment configuration...");
  auto check = request_body(options, document.text, {}, origin);
  check["validateOnly"] = true;
  DET_TRY(const auto valid, session.post("/api/v1/experiments", check));
  console.good("Experiment configuration validation succeeded! \U0001F389");
  show_warnings(console, valid);

  console.write_line("Creating test experiment...");
  console.flush();
  auto body = request_body(options, test_mode_text(document, at(valid, "config")), std::move(files), origin);
  body["activate"] = true;
  DET_TRY(const auto answer, session.post("/api/v1/experiments", body));
  const auto id = integer_at(answer, "experiment.id");
  console.line("Created test experiment {}", id);
  return watch_test_experiment(session, id);
}

Result<int> create(Session& session, const CreateOptions& options) {
  auto& console = session.console();
  if (options.local && !options.test)
    return invalid_argument("local training is not yet supported without test mode; add --test");
  DET_TRY(const auto document, read_experiment_document(options.config_file, options.overrides));
  if (options.local) return run_locally(session, options, document);

  std::optional<GitOrigin> origin;
  if (options.git) {
    DET_TRY(origin, git_origin(options.model_directory.empty() ? "." : options.model_directory));
  } else if (!options.model_directory.empty()) {
    origin = git_found(options.model_directory);
  }
  DET_TRY(auto files, pack(console, options));
  if (options.test) return create_test(session, options, document, std::move(files), origin);

  DET_TRY(const auto ports, PublishedPorts::listen(options.published));
  auto body = request_body(options, document.text, std::move(files), origin);
  DET_TRY(const auto answer, session.post("/api/v1/experiments", body));
  body.clear();
  const auto id = integer_at(answer, "experiment.id");
  console.line("Created experiment {}", id);
  show_warnings(console, answer);
  if (!options.paused) console.line("Activated experiment {}", id);
  console.flush();
  return options.follow ? follow_first_trial(session, id, &ports) : 0;
}

}  // namespace

Action define_create(CLI::App& app) {
  const auto options = std::make_shared<CreateOptions>();
  app.add_option("config_file", options->config_file, "Configuration file of the experiment (YAML)")
      ->type_name("CONFIG_FILE")
      ->required();
  app.add_option("model_def", options->model_directory, "Directory of the model definition")
      ->type_name("MODEL_DEF");
  auto* follow = app.add_flag("-f,--follow-first-trial,--follow", options->follow,
                              "Follow the log of the first trial until it ends");
  auto* paused = app.add_flag("--paused", options->paused, "Create the experiment paused");
  auto* test = app.add_flag("-t,--test-mode,--test", options->test,
                            "Test the model definition: train one batch, validate and checkpoint");
  app.add_flag("--local", options->local, "Run on this machine, without a cluster; needs --test");
  app.add_option("--config", options->overrides,
                 "Override a setting, such as searcher.max_trials=4; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("-i,--include", options->includes,
                 "Additional file or directory for the model definition; may be repeated")
      ->type_name("PATH")
      ->allow_extra_args(false);
  app.add_option("--template", options->template_name, "Configuration template to apply")->type_name("NAME");
  app.add_option("--project_id,--project-id", options->project_id, "ID of the project of the experiment")
      ->type_name("N");
  app.add_option("-p,--publish", options->published,
                 "While following, connect this port of this machine to that port of the first trial, which "
                 "is among its environment.proxy_ports; may be repeated")
      ->type_name("LOCAL[:REMOTE]")
      ->allow_extra_args(false)
      ->needs(follow);
  app.add_flag("-g,--git", options->git, "Require a clean git working directory, and record its commit");
  follow->excludes(paused)->excludes(test);
  return [options](Session& session) { return create(session, *options); };
}

}  // namespace det::cli
