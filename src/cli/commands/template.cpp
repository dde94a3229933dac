#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/cli/session/lookup.h"
#include "det/config/yaml/yaml.h"

namespace det::cli {
namespace {

std::string template_path(const std::string& name) {
  return "/api/v1/templates/" + url_encode(name);
}

/// The names of the workspaces that the templates are in, by id.
Result<std::map<std::int64_t, std::string>> workspace_names(Session& session, const json::array& templates) {
  std::map<std::int64_t, std::string> names;
  if (templates.empty()) return names;
  DET_TRY(const auto workspaces, session.pages("/api/v1/workspaces", {}, "workspaces", 500));
  for (const auto& workspace : workspaces) names[integer_at(workspace, "id")] = text_at(workspace, "name");
  return names;
}

Action define_template_list(CLI::App& app) {
  const auto details = std::make_shared<bool>(false);
  const auto workspace = std::make_shared<std::string>();
  const auto form = std::make_shared<OutputForm>();
  app.add_flag("-d,--details", *details, "Show the configurations");
  app.add_option("-w,--workspace-name", *workspace, "Show only templates of this workspace")
      ->type_name("NAME");
  add_output_flags(app, *form);
  return [details, workspace, form](Session& session) -> Result<int> {
    QueryItems query;
    if (!workspace->empty()) {
      DET_TRY(const auto place, find_workspace(session, *workspace));
      query.emplace_back("workspaceIds", std::to_string(integer_at(place, "id")));
    }
    DET_TRY(const auto templates, session.pages("/api/v1/templates", query, "templates", 500));
    DET_TRY(const auto names, workspace_names(session, templates));
    std::vector<std::string> columns = {"Name", "Workspace"};
    if (*details) columns.emplace_back("Config");
    Table table(std::move(columns));
    for (const auto& entry : templates) {
      const auto place = names.find(integer_at(entry, "workspaceId"));
      std::vector<json::value> row = {at(entry, "name"),
                                      place == names.end() ? json::value() : json::value(place->second)};
      if (*details) row.push_back(json::value(config::emit_yaml(at(entry, "config"))));
      table.add(std::move(row));
    }
    show(session.console(), *form, templates, table);
    return 0;
  };
}

Action define_template_describe(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  const auto form = std::make_shared<OutputForm>();
  app.add_option("template_name", *name, "Name of the template")->type_name("NAME")->required();
  add_document_flags(app, *form);
  return [name, form](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.get(template_path(*name)));
    show_document(session.console(), *form, at(answer, "template.config"));
    return 0;
  };
}

Result<json::object> read_template(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return not_found("cannot open the template file {}", path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto parsed = config::parse_yaml(text);
  if (!parsed) {
    std::string problems;
    for (const auto& problem : parsed.error()) problems += '\n' + config::to_text("<template>", problem);
    return invalid_argument("the template file {} is not valid YAML:{}", path, problems);
  }
  if (!parsed->value.is_object())
    return invalid_argument("the template file {} must be a map of settings", path);
  return parsed->value.get_object();
}

struct TemplateFile {
  std::string name, file, workspace;
};

/// What a new template is; without a workspace it goes to "Uncategorized".
Result<json::object> new_template(Session& session, const TemplateFile& options, const json::object& config) {
  json::object body{{"name", options.name}, {"config", config}, {"workspaceId", 1}};
  if (options.workspace.empty()) return body;
  DET_TRY(const auto workspace, find_workspace(session, options.workspace));
  body["workspaceId"] = integer_at(workspace, "id");
  return body;
}

std::shared_ptr<TemplateFile> add_template_file(CLI::App& app) {
  const auto options = std::make_shared<TemplateFile>();
  app.add_option("template_name", options->name, "Name of the template")->type_name("NAME")->required();
  app.add_option("template_file", options->file, "Configuration file (YAML)")->type_name("FILE")->required();
  return options;
}

Action define_template_create(CLI::App& app) {
  const auto options = add_template_file(app);
  app.add_option("-w,--workspace-name", options->workspace, "Workspace of the template (Uncategorized)")
      ->type_name("NAME");
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto config, read_template(options->file));
    DET_TRY(const auto body, new_template(session, *options, config));
    DET_TRY(const auto answer, session.post(template_path(options->name), body));
    session.console().good(fmt::format("Created template {}", options->name));
    return 0;
  };
}

Action define_template_set_config(CLI::App& app) {
  const auto options = add_template_file(app);
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto config, read_template(options->file));
    DET_TRY(const auto answer, session.patch(template_path(options->name), config));
    session.console().good(fmt::format("Updated template {}", options->name));
    return 0;
  };
}

// Creates the template, or replaces the configuration of the one that is there.
Action define_template_set(CLI::App& app) {
  const auto options = add_template_file(app);
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto config, read_template(options->file));
    const auto path = template_path(options->name);
    const auto present = session.get(path);
    if (!present && present.error().code() != ErrorCode::NotFound) return tl::unexpected(present.error());
    DET_TRY(const auto body, new_template(session, *options, config));
    DET_TRY(const auto answer, present ? session.patch(path, config) : session.post(path, body));
    session.console().good(fmt::format("Set template {}", options->name));
    return 0;
  };
}

Action define_template_remove(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  app.add_option("template_name", *name, "Name of the template")->type_name("NAME")->required();
  return [name](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.del(template_path(*name)));
    session.console().good(fmt::format("Removed template {}", *name));
    return 0;
  };
}

}  // namespace

Command template_commands() {
  return {.names = {"template", "tpl"},
          .help = "Manage configuration templates",
          .example =
              "det template set small-gpu small-gpu.yaml\ndet experiment create const.yaml . --template "
              "small-gpu",
          .children = {{{"list", "ls"}, "List templates", "", define_template_list},
                       {{"describe"}, "Describe a template", "", define_template_describe},
                       {{"set"},
                        "Create or replace a template",
                        "det template set small-gpu small-gpu.yaml",
                        define_template_set},
                       {{"create"},
                        "Create a template",
                        "det template create small-gpu small-gpu.yaml -w vision",
                        define_template_create},
                       {.names = {"set-value"},
                        .help = "Change a template",
                        .children = {{{"config"},
                                      "Set the configuration of a template",
                                      "det template set-value config small-gpu small-gpu.yaml",
                                      define_template_set_config}}},
                       {{"remove", "rm"}, "Remove a template", "", define_template_remove}},
          .default_child = "list"};
}

}  // namespace det::cli
