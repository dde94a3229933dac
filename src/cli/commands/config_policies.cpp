// What administrators decide about the configurations of others.

#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/cli/session/lookup.h"

namespace det::cli {
namespace {

/// Which policy: for what, and of whom.
struct Target {
  std::string workload, workspace;
};

void add_target(CLI::App& app, Target& target) {
  app.add_option("workload_type", target.workload,
                 "Workload type: experiment, or tasks for commands, notebooks, shells and TensorBoards")
      ->type_name("WORKLOAD")
      ->check(CLI::IsMember({"experiment", "tasks"}, CLI::ignore_case))
      ->required();
  app.add_option("-w,--workspace-name", target.workspace,
                 "Workspace of the policy (default: the whole cluster)")
      ->type_name("WORKSPACE");
}

Result<std::string> path_of_policies(Session& session, const Target& target) {
  const auto* type = target.workload == "experiment" ? "EXPERIMENT" : "NTSC";
  if (target.workspace.empty()) return fmt::format("/api/v1/config-policies/global/{}", type);
  DET_TRY(const auto workspace, find_workspace(session, target.workspace));
  return fmt::format("/api/v1/config-policies/workspaces/{}/{}", integer_at(workspace, "id"), type);
}

std::string words_of(const Target& target) {
  return fmt::format("policy for {} of {}", target.workload == "experiment" ? "experiments" : "tasks",
                     target.workspace.empty() ? std::string("the cluster")
                                              : fmt::format("workspace '{}'", target.workspace));
}

Action define_policies_describe(CLI::App& app) {
  struct Options {
    Target target;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  add_target(app, options->target);
  add_document_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto path, path_of_policies(session, options->target));
    DET_TRY(const auto answer, session.get(path));
    const auto& policy = at(answer, "configPolicies");
    const bool is_empty = !policy.is_object() || policy.get_object().empty();
    if (is_empty && !options->form.json && !options->form.yaml) {
      session.console().line("No {} is set", words_of(options->target));
      return 0;
    }
    show_document(session.console(), options->form, policy);
    return 0;
  };
}

Action define_set(CLI::App& app) {
  struct Options {
    Target target;
    std::string file;
  };
  const auto options = std::make_shared<Options>();
  add_target(app, options->target);
  app.add_option("config_file", options->file, "Policy file (YAML), which replaces the existing policy")
      ->type_name("FILE")
      ->required();
  return [options](Session& session) -> Result<int> {
    std::ifstream file(options->file, std::ios::binary);
    if (!file) return not_found("cannot open the policy file {}", options->file);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    DET_TRY(const auto path, path_of_policies(session, options->target));
    DET_TRY(const auto answer, session.put(path, json::object{{"configPolicies", text}}));
    session.console().good(fmt::format("Set the {}", words_of(options->target)));
    return 0;
  };
}

Action define_policies_delete(CLI::App& app) {
  const auto target = std::make_shared<Target>();
  add_target(app, *target);
  return [target](Session& session) -> Result<int> {
    DET_TRY(const auto path, path_of_policies(session, *target));
    DET_TRY(const auto answer, session.del(path));
    session.console().good(fmt::format("Deleted the {}", words_of(*target)));
    return 0;
  };
}

}  // namespace

Command config_policies_commands() {
  const std::string set = "det config-policies set experiment policy.yaml -w vision";
  return {.names = {"config-policies", "cp"},
          .help = "Manage policies that fix and limit settings of configurations",
          .example = set,
          .children = {{{"describe"},
                        "Describe a policy",
                        "det config-policies describe tasks",
                        define_policies_describe},
                       {{"set"}, "Set a policy", set, define_set},
                       {{"delete"}, "Delete a policy", "", define_policies_delete}},
          .default_child = "describe"};
}

}  // namespace det::cli
