// Workspaces, their projects, and moving experiments between them. Users name both; the API wants numbers.

#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

#include "det/cli/command.h"
#include "det/cli/commands/agent_user_group.h"
#include "det/cli/experiment/experiment.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/cli/session/lookup.h"
#include "det/config/yaml/yaml.h"

namespace det::cli {
namespace {

std::string path_of(const char* kind, const json::value& object) {
  return fmt::format("/api/v1/{}/{}", kind, integer_at(object, "id"));
}

Result<json::value> find_project(Session& session, const std::string& workspace, const std::string& name) {
  DET_TRY(const auto in, find_workspace(session, workspace));
  DET_TRY(const auto found,
          session.pages(path_of("workspaces", in) + "/projects", {{"name", name}}, "projects", 500));
  for (const auto& project : found)
    if (text_at(project, "name") == name) return project;
  return not_found("project '{}' not found in workspace '{}'; 'det project list {}' shows all projects", name,
                   workspace, workspace);
}

Table workspace_table(const json::array& workspaces) {
  Table table({"ID", "Name", "# Projects", "Agent Uid", "Agent Gid", "Agent User", "Agent Group",
               "Default Compute Pool", "Default Aux Pool", "# Experiments", "Owner", "Archived", "Pinned"});
  for (const auto& w : workspaces)
    table.add({at(w, "id"), at(w, "name"), at(w, "numProjects"), at(w, "agentUserGroup.agentUid"),
               at(w, "agentUserGroup.agentGid"), at(w, "agentUserGroup.agentUser"),
               at(w, "agentUserGroup.agentGroup"), at(w, "defaultComputePool"), at(w, "defaultAuxPool"),
               at(w, "numExperiments"), at(w, "username"), at(w, "archived"), at(w, "pinned")});
  return table;
}

Table project_table(const json::array& projects) {
  Table table({"ID", "Key", "Name", "Description", "# Experiments", "# Active Experiments", "Archived"});
  for (const auto& p : projects)
    table.add({at(p, "id"), at(p, "key"), at(p, "name"), at(p, "description"), at(p, "numExperiments"),
               at(p, "numActiveExperiments"), at(p, "archived")});
  return table;
}

void show_one(Session& session, const OutputForm& form, const json::value& object,
              Table (*table)(const json::array&)) {
  const json::array one{object};
  show(session.console(), form, one, table(one));
}

/// What every command needs: the names before the rest.
struct Names {
  std::string workspace, project;
  bool yes = false, all = false;
  OutputForm form;
  std::string new_name, description, key;
  std::int64_t experiment = 0;
};

void add_workspace(CLI::App& app, Names& names) {
  app.add_option("workspace_name", names.workspace, "Name of the workspace")
      ->type_name("WORKSPACE")
      ->required();
}
void add_project(CLI::App& app, Names& names) {
  add_workspace(app, names);
  app.add_option("project_name", names.project, "Name of the project")->type_name("PROJECT")->required();
}

Action define_list_workspaces(CLI::App& app) {
  const auto names = std::make_shared<Names>();
  app.add_flag("-a,--all", names->all, "Include archived ones");
  add_output_flags(app, names->form);
  return [names](Session& session) -> Result<int> {
    QueryItems query;
    if (!names->all) query.emplace_back("archived", "false");
    DET_TRY(const auto found, session.pages("/api/v1/workspaces", query, "workspaces", 200));
    show(session.console(), names->form, found, workspace_table(found));
    return 0;
  };
}

Action define_list_projects(CLI::App& app) {
  const auto names = std::make_shared<Names>();
  add_workspace(app, *names);
  app.add_flag("-a,--all", names->all, "Include archived ones");
  add_output_flags(app, names->form);
  return [names](Session& session) -> Result<int> {
    DET_TRY(const auto workspace, find_workspace(session, names->workspace));
    QueryItems query;
    if (!names->all) query.emplace_back("archived", "false");
    DET_TRY(const auto found,
            session.pages(path_of("workspaces", workspace) + "/projects", query, "projects", 200));
    show(session.console(), names->form, found, project_table(found));
    return 0;
  };
}

/// What else of a workspace can be set.
struct WorkspaceSettings {
  std::optional<std::string> compute_pool, aux_pool;
  std::string storage, storage_file;
  AgentUserGroupFlags account;
};

void add_settings(CLI::App& app, WorkspaceSettings& settings) {
  app.add_option("--default-compute-pool", settings.compute_pool,
                 "Resource pool for tasks with slots that name no pool")
      ->type_name("POOL");
  app.add_option("--default-aux-pool", settings.aux_pool,
                 "Resource pool for tasks without slots that name no pool")
      ->type_name("POOL");
  auto* text =
      app.add_option(
             "--checkpoint-storage-config", settings.storage,
             "Checkpoint storage of its experiments as JSON, such as {\"type\": …}; {}: the cluster's")
          ->type_name("JSON");
  app.add_option("--checkpoint-storage-config-file", settings.storage_file,
                 "Checkpoint storage of its experiments from a file (YAML)")
      ->type_name("FILE")
      ->excludes(text);
  settings.account.add_to(app, false);
}

Result<void> read_settings(const WorkspaceSettings& settings, json::object& body) {
  if (settings.compute_pool) body["defaultComputePool"] = *settings.compute_pool;
  if (settings.aux_pool) body["defaultAuxPool"] = *settings.aux_pool;
  if (auto account = settings.account.body()) body["agentUserGroup"] = *std::move(account);
  auto text = settings.storage;
  if (!settings.storage_file.empty()) {
    std::ifstream file(settings.storage_file, std::ios::binary);
    if (!file) return not_found("cannot open the checkpoint storage file {}", settings.storage_file);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  if (settings.storage.empty() && settings.storage_file.empty()) return {};
  const auto parsed = config::parse_yaml(text);  // which JSON is, too
  if (!parsed)
    return invalid_argument("the checkpoint storage is neither JSON nor YAML: {}",
                            parsed.error().front().text);
  body["checkpointStorageConfig"] = parsed->value.is_null() ? json::object() : parsed->value;
  return {};
}

Action define_create_workspace(CLI::App& app) {
  const auto names = std::make_shared<Names>();
  const auto settings = std::make_shared<WorkspaceSettings>();
  app.add_option("name", names->workspace, "Name of the new workspace")->type_name("NAME")->required();
  add_settings(app, *settings);
  add_output_flags(app, names->form);
  return [names, settings](Session& session) -> Result<int> {
    json::object body{{"name", names->workspace}};
    if (auto read = read_settings(*settings, body); !read) return tl::unexpected(read.error());
    DET_TRY(const auto made, session.post("/api/v1/workspaces", body));
    show_one(session, names->form, at(made, "workspace"), workspace_table);
    return 0;
  };
}

Action define_describe_workspace(CLI::App& app) {
  const auto names = std::make_shared<Names>();
  add_workspace(app, *names);
  add_output_flags(app, names->form);
  return [names](Session& session) -> Result<int> {
    DET_TRY(const auto workspace, find_workspace(session, names->workspace));
    show_one(session, names->form, workspace, workspace_table);
    return 0;
  };
}

Action define_edit_workspace(CLI::App& app) {
  const auto names = std::make_shared<Names>();
  add_workspace(app, *names);
  const auto settings = std::make_shared<WorkspaceSettings>();
  auto* new_name =
      app.add_option("new_name", names->new_name, "New name of the workspace")->type_name("NAME");
  app.add_option("--name", names->new_name, "New name of the workspace")
      ->type_name("NAME")
      ->excludes(new_name);
  add_settings(app, *settings);
  return [names, settings](Session& session) -> Result<int> {
    json::object body;
    if (!names->new_name.empty()) body["name"] = names->new_name;
    if (auto read = read_settings(*settings, body); !read) return tl::unexpected(read.error());
    if (body.empty()) return invalid_argument("nothing to change; give a new name or an option");
    DET_TRY(const auto workspace, find_workspace(session, names->workspace));
    DET_TRY(const auto changed, session.patch(path_of("workspaces", workspace), body));
    if (body.size() == 1 && body.contains("name"))
      session.console().line("Renamed workspace '{}' to '{}'", names->workspace, names->new_name);
    else
      session.console().line("Changed workspace '{}'", text_at(changed, "workspace.name"));
    return 0;
  };
}

Action define_list_pools(CLI::App& app) {
  const auto names = std::make_shared<Names>();
  const auto form = std::make_shared<OutputForm>();
  add_workspace(app, *names);
  add_document_flags(app, *form);
  return [names, form](Session& session) -> Result<int> {
    DET_TRY(const auto workspace, find_workspace(session, names->workspace));
    DET_TRY(const auto answer, session.get(path_of("workspaces", workspace) + "/available-resource-pools"));
    const auto& pools = list_at(answer, "resourcePools");
    if (form->json || form->yaml) {
      show_document(session.console(), *form, pools);
      return 0;
    }
    for (const auto& pool : pools) session.console().line("{}", std::string_view(pool.as_string()));
    return 0;
  };
}

/// archive, unarchive, delete of a workspace ("workspaces") or of a project ("projects").
Action define_verb(CLI::App& app, bool of_project, std::string verb, const char* done) {
  const auto names = std::make_shared<Names>();
  if (of_project)
    add_project(app, *names);
  else
    add_workspace(app, *names);
  const bool deletes = verb == "delete";
  if (deletes) app.add_flag("-y,--yes", names->yes, "Skip the confirmation prompt");
  return [names, of_project, deletes, verb, done](Session& session) -> Result<int> {
    DET_TRY(const auto object, of_project ? find_project(session, names->workspace, names->project)
                                          : find_workspace(session, names->workspace));
    const auto path = path_of(of_project ? "projects" : "workspaces", object);
    const auto what = fmt::format("{} '{}'", of_project ? "project" : "workspace", text_at(object, "name"));
    const auto held = integer_at(object, "numExperiments");
    const auto inside =
        held == 1 ? std::string("the experiment in it") : fmt::format("the {} experiments in it", held);
    const auto with = held == 0 ? std::string() : " and " + inside;
    if (deletes && !names->yes && !session.console().confirm(fmt::format("Delete {}{}?", what, with))) {
      session.console().line("Aborting deletion of {}.", what);
      return 0;
    }
    DET_TRY(const auto answer, deletes ? session.del(path) : session.post(path + "/" + verb));
    if (deletes && at(answer, "completed") == false)
      session.console().line("Deletion of {} is in progress; it ends when {} {} deleted", what, inside,
                             held == 1 ? "is" : "are");
    else
      session.console().line("{} {}", done, what);
    return 0;
  };
}

Action define_create_project(CLI::App& app) {
  const auto names = std::make_shared<Names>();
  add_project(app, *names);
  app.add_option("--description", names->description, "Description of the project");
  app.add_option("--key", names->key,
                 "Short name of at most five letters A-Z and digits (default: made from the name)");
  add_output_flags(app, names->form);
  return [names](Session& session) -> Result<int> {
    DET_TRY(const auto workspace, find_workspace(session, names->workspace));
    const json::object body{
        {"name", names->project}, {"description", names->description}, {"key", names->key}};
    DET_TRY(const auto made, session.post(path_of("workspaces", workspace) + "/projects", body));
    show_one(session, names->form, at(made, "project"), project_table);
    return 0;
  };
}

/// As `det experiment list` would say them: the user's own that are not archived, or all.
Result<json::array> experiments_in(Session& session, const json::value& project, bool all) {
  QueryItems query = {{"projectId", std::to_string(integer_at(project, "id"))}};
  if (!all) {
    DET_TRY(const auto user, session.user());
    query.emplace_back("archived", "false");
    query.emplace_back("users", user);
  }
  return session.pages("/api/v1/experiments", query, "experiments", 200);
}

constexpr const char* kAllExperiments = "Include archived experiments and those of other users";

/// The project, then its experiments.
Action define_describe_project(CLI::App& app) {
  const auto names = std::make_shared<Names>();
  add_project(app, *names);
  app.add_flag("-a,--all", names->all, kAllExperiments);
  add_output_flags(app, names->form);
  return [names](Session& session) -> Result<int> {
    DET_TRY(auto project, find_project(session, names->workspace, names->project));
    DET_TRY(const auto experiments, experiments_in(session, project, names->all));
    const bool as_document = names->form.json || names->form.yaml;
    if (as_document && project.is_object()) project.get_object()["experiments"] = experiments;
    show_one(session, names->form, project, project_table);
    if (as_document) return 0;
    session.console().write_line("\nExperiments:");
    show_experiments(session.console(), names->form, experiments, false, names->all);
    return 0;
  };
}

Action define_list_experiments(CLI::App& app) {
  const auto names = std::make_shared<Names>();
  add_project(app, *names);
  app.add_flag("-a,--all", names->all, kAllExperiments);
  add_output_flags(app, names->form);
  return [names](Session& session) -> Result<int> {
    DET_TRY(const auto project, find_project(session, names->workspace, names->project));
    DET_TRY(const auto found, experiments_in(session, project, names->all));
    show_experiments(session.console(), names->form, found, false, names->all);
    return 0;
  };
}

Action define_edit_project(CLI::App& app) {
  const auto names = std::make_shared<Names>();
  add_project(app, *names);
  auto* name =
      app.add_option("--new_name,--name", names->new_name, "New name of the project")->type_name("NAME");
  auto* description = app.add_option("--description", names->description, "New description of the project");
  auto* key = app.add_option("--key", names->key, "New short name of the project");
  const auto given = [](const CLI::Option* option) { return option->count() > 0; };
  return [names, name, description, key, given](Session& session) -> Result<int> {
    json::object change;
    if (given(name)) change["name"] = names->new_name;
    if (given(description)) change["description"] = names->description;
    if (given(key)) change["key"] = names->key;
    if (change.empty()) return invalid_argument("nothing to change; give --name, --description or --key");
    DET_TRY(const auto project, find_project(session, names->workspace, names->project));
    DET_TRY(const auto changed, session.patch(path_of("projects", project), change));
    session.console().line("Changed project '{}'", text_at(changed, "project.name"));
    return 0;
  };
}

Action workspace_verb(CLI::App& app, const char* verb, const char* done) {
  return define_verb(app, false, verb, done);
}
Action project_verb(CLI::App& app, const char* verb, const char* done) {
  return define_verb(app, true, verb, done);
}

}  // namespace

Action define_move(CLI::App& app) {
  const auto names = std::make_shared<Names>();
  app.add_option("experiment_id", names->experiment, "ID of the experiment")
      ->type_name("EXPERIMENT_ID")
      ->required();
  add_project(app, *names);
  return [names](Session& session) -> Result<int> {
    DET_TRY(const auto project, find_project(session, names->workspace, names->project));
    const json::object body{{"destinationProjectId", integer_at(project, "id")}};
    DET_TRY(const auto moved, session.post(experiment_path(names->experiment) + "/move", body));
    session.console().line("Moved experiment {} to project \"{}\"", names->experiment, names->project);
    return 0;
  };
}

Command workspace_commands() {
  return {.names = {"workspace", "w"},
          .help = "Manage workspaces",
          .example = "det workspace create vision\ndet project create vision detectors",
          .children =
              {{{"list", "ls"}, "List workspaces", "", define_list_workspaces},
               {{"list-projects", "lp"}, "List the projects of a workspace", "", define_list_projects},
               {{"list-pools"}, "List the resource pools of a workspace", "", define_list_pools},
               {{"list-members"}, "List the members of a workspace and their roles", "", define_list_members},
               {{"create"}, "Create a workspace", "det workspace create vision", define_create_workspace},
               {{"describe"}, "Describe a workspace", "", define_describe_workspace},
               {{"edit"},
                "Edit a workspace",
                "det workspace edit vision --default-compute-pool gpu",
                define_edit_workspace},
               {{"delete"},
                "Delete a workspace",
                "",
                [](CLI::App& app) { return workspace_verb(app, "delete", "Deleted"); }},
               {{"archive"},
                "Archive a workspace",
                "",
                [](CLI::App& app) { return workspace_verb(app, "archive", "Archived"); }},
               {{"unarchive"},
                "Unarchive a workspace",
                "",
                [](CLI::App& app) { return workspace_verb(app, "unarchive", "Unarchived"); }}},
          .default_child = "list"};
}

Command project_commands() {
  return {.names = {"project", "p"},
          .help = "Manage projects",
          .example = "det project create vision detectors --description 'boxes in pictures'",
          .children = {{{"list", "ls"}, "List the projects of a workspace", "", define_list_projects},
                       {{"list-experiments", "le"},
                        "List the experiments of a project",
                        "det project list-experiments vision detectors --all",
                        define_list_experiments},
                       {{"create"}, "Create a project", "", define_create_project},
                       {{"describe"},
                        "Describe a project",
                        "det project describe vision detectors --all",
                        define_describe_project},
                       {{"edit"}, "Edit a project", "", define_edit_project},
                       {{"delete"},
                        "Delete a project",
                        "",
                        [](CLI::App& app) { return project_verb(app, "delete", "Deleted"); }},
                       {{"archive"},
                        "Archive a project",
                        "",
                        [](CLI::App& app) { return project_verb(app, "archive", "Archived"); }},
                       {{"unarchive"}, "Unarchive a project", "", [](CLI::App& app) {
                          return project_verb(app, "unarchive", "Unarchived");
                        }}}};
}

}  // namespace det::cli
