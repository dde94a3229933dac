#include <CLI/CLI.hpp>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/cli/session/lookup.h"

namespace det::cli {
namespace {

std::string model_path(const std::string& name) {
  return "/api/v1/models/" + url_encode(name);
}

/// The API's name of a choice: "name" is "SORT_BY_NAME".
std::string constant(const std::string& prefix, std::string word) {
  for (auto& c : word) c = static_cast<char>(c == '_' ? c : c - 'a' + 'A');
  return prefix + word;
}

json::value lines(const json::value& v) {
  return v.is_null() || (v.is_object() && v.get_object().empty()) ? json::value(nullptr)
                                                                  : json::value(json::pretty(v, 4));
}

json::value joined(const json::value& labels) {
  std::string text;
  if (labels.is_array())
    for (const auto& label : labels.get_array())
      if (label.is_string()) text += (text.empty() ? "" : ", ") + std::string(label.get_string());
  return json::value(text);
}

Table model_table(const json::array& models) {
  Table table({"ID", "Workspace ID", "Name", "Description", "Creation Time", "Last Updated Time", "Versions",
               "Labels", "Archived", "Metadata"});
  for (const auto& model : models)
    table.add({at(model, "id"), at(model, "workspaceId"), at(model, "name"), at(model, "description"),
               time_cell(at(model, "creationTime")), time_cell(at(model, "lastUpdatedTime")),
               at(model, "numVersions"), joined(at(model, "labels")), at(model, "archived"),
               lines(at(model, "metadata"))});
  return table;
}

Table version_table(const json::array& versions) {
  Table table({"Version #", "Trial ID", "Batch #", "Checkpoint UUID", "Validation Metrics", "Metadata"});
  for (const auto& version : versions)
    table.add({at(version, "version"), at(version, "checkpoint.training.trialId"),
               at(version, "checkpoint.metadata.steps_completed"), at(version, "checkpoint.uuid"),
               lines(at(version, "checkpoint.training.validationMetrics.avgMetrics")),
               lines(at(version, "metadata"))});
  return table;
}

json::array one(const json::value& v) {
  json::array list;
  list.push_back(v);
  return list;
}

/// A model and some of its versions, below each other.
void show_versions(Console& console, const json::value& model, const json::array& versions) {
  console.write(model_table(one(model)).text());
  console.write("\n");
  console.write(version_table(versions).text());
}

Action define_list_models(CLI::App& app) {
  struct Options {
    std::string sort_by = "last_updated_time", order_by = "desc", name;
    std::vector<std::string> workspaces;
    bool all = false;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("--sort-by", options->sort_by,
                 "Sort key: name, description, creation_time or last_updated_time")
      ->check(CLI::IsMember({"name", "description", "creation_time", "last_updated_time"}))
      ->capture_default_str();
  app.add_option("--order-by", options->order_by, "Sort order: asc or desc")
      ->check(CLI::IsMember({"asc", "desc"}))
      ->capture_default_str();
  app.add_option("--name", options->name, "Show only models whose name contains this text")
      ->type_name("TEXT");
  app.add_option("-w,--workspace-names", options->workspaces,
                 "Show only models of these workspaces, separated by commas")
      ->type_name("WORKSPACE")
      ->delimiter(',')
      ->take_all();
  app.add_flag("-a,--all", options->all, "Include archived models");
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    QueryItems query = {{"sortBy", constant("SORT_BY_", options->sort_by)},
                        {"orderBy", constant("ORDER_BY_", options->order_by)}};
    if (!options->name.empty()) query.emplace_back("name", options->name);
    for (const auto& workspace : options->workspaces) {
      DET_TRY([[maybe_unused]] const auto found, find_workspace(session, workspace));
      query.emplace_back("workspaceNames", workspace);
    }
    if (!options->all) query.emplace_back("archived", "false");
    DET_TRY(const auto models, session.pages("/api/v1/models", query, "models"));
    show(session.console(), options->form, models, model_table(models));
    return 0;
  };
}

Action define_create_model(CLI::App& app) {
  struct Options {
    std::string name, description, workspace;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("name", options->name, "Name of the new model")->type_name("NAME")->required();
  app.add_option("--description", options->description, "Description of the model");
  app.add_option("-w,--workspace-name", options->workspace, "Workspace of the model (default: Uncategorized)")
      ->type_name("WORKSPACE");
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    json::object body;
    body["name"] = options->name;
    body["description"] = options->description;
    if (!options->workspace.empty()) body["workspaceName"] = options->workspace;
    DET_TRY(const auto answer, session.post("/api/v1/models", body));
    const auto& model = at(answer, "model");
    show(session.console(), options->form, model, model_table(one(model)));
    return 0;
  };
}

Action define_describe_model(CLI::App& app) {
  struct Options {
    std::string name;
    std::int64_t version = 0;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("name", options->name, "Name or ID of the model")->type_name("NAME")->required();
  app.add_option("--version", options->version, "Number of the version (default: the latest)")
      ->type_name("N");
  add_document_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto found, session.get(model_path(options->name)));
    const auto& model = at(found, "model");
    const bool latest = options->version <= 0;
    json::array versions;
    if (!latest || integer_at(model, "numVersions") > 0) {
      const auto number = std::to_string(latest ? 0 : options->version);
      DET_TRY(const auto answer, session.get(model_path(options->name) + "/versions/" + number));
      versions.push_back(at(answer, "modelVersion"));
    }
    if (options->form.json || options->form.yaml) {
      json::object document;
      document["model"] = model;
      document["modelVersion"] = versions.empty() ? json::value(nullptr) : versions.front();
      show_document(session.console(), options->form, document);
    } else {
      show_versions(session.console(), model, versions);
    }
    return 0;
  };
}

Action define_list_versions(CLI::App& app) {
  struct Options {
    std::string name;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("name", options->name, "Name or ID of the model")->type_name("NAME")->required();
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto versions, session.pages(model_path(options->name) + "/versions",
                                               {{"orderBy", "ORDER_BY_DESC"}}, "modelVersions"));
    if (options->form.json || options->form.yaml || options->form.csv) {
      show(session.console(), options->form, versions, version_table(versions));
      return 0;
    }
    DET_TRY(const auto found, session.get(model_path(options->name)));
    show_versions(session.console(), at(found, "model"), versions);
    return 0;
  };
}

Action define_register_version(CLI::App& app) {
  struct Options {
    std::string name, uuid, version_name, comment;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("name", options->name, "Name or ID of the model")->type_name("NAME")->required();
  app.add_option("uuid", options->uuid, "UUID of the checkpoint")->type_name("UUID")->required();
  app.add_option("--name", options->version_name, "Name of the version");
  app.add_option("--comment", options->comment, "Comment about the version");
  add_document_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    json::object body;
    body["modelName"] = options->name;
    body["checkpointUuid"] = options->uuid;
    body["name"] = options->version_name;
    body["comment"] = options->comment;
    DET_TRY(const auto answer, session.post(model_path(options->name) + "/versions", body));
    const auto& version = at(answer, "modelVersion");
    if (options->form.json || options->form.yaml)
      show_document(session.console(), options->form, version);
    else
      show_versions(session.console(), at(version, "model"), one(version));
    return 0;
  };
}

Action define_archive_model(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  app.add_option("name", *name, "Name or ID of the model")->type_name("NAME")->required();
  return [name](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.post(model_path(*name) + "/archive"));
    session.console().good(fmt::format("Archived model {}", *name));
    return 0;
  };
}

Action define_unarchive_model(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  app.add_option("name", *name, "Name or ID of the model")->type_name("NAME")->required();
  return [name](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.post(model_path(*name) + "/unarchive"));
    session.console().good(fmt::format("Unarchived model {}", *name));
    return 0;
  };
}

Action define_move_model(CLI::App& app) {
  struct Options {
    std::string name, workspace;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("name", options->name, "Name or ID of the model")->type_name("NAME")->required();
  app.add_option("workspace_name", options->workspace, "Workspace to move the model to")
      ->type_name("WORKSPACE")
      ->required();
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto workspace, find_workspace(session, options->workspace));
    const json::object body{{"destinationWorkspaceId", at(workspace, "id")}};
    DET_TRY(const auto answer, session.post(model_path(options->name) + "/move", body));
    session.console().good(fmt::format("Moved model {} to workspace {}", options->name, options->workspace));
    return 0;
  };
}

Action define_delete_model(CLI::App& app) {
  struct Options {
    std::string name;
    bool yes = false;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("name", options->name, "Name or ID of the model")->type_name("NAME")->required();
  app.add_flag("-y,--yes", options->yes, "Skip the confirmation prompt");
  return [options](Session& session) -> Result<int> {
    if (!options->yes &&
        !session.console().confirm(
            "This deletes the model and its versions; garbage collection may then delete their checkpoints. "
            "Do you wish to proceed?")) {
      session.console().line("Aborting model deletion.");
      return 0;
    }
    DET_TRY(const auto answer, session.del(model_path(options->name)));
    session.console().good(fmt::format("Deleted model {}", options->name));
    return 0;
  };
}

}  // namespace

Command model_commands() {
  return {.names = {"model", "m"},
          .help = "Manage the model registry",
          .example =
              "det model create fashion --description \"clothes by their pictures\"\n"
              "det model register-version fashion 4afa9ec2-5d8e-4e2f-a7a1-2b6c1c3dd1de",
          .children = {{{"list", "ls"}, "List models", "", define_list_models},
                       {{"create"}, "Create a model", "det model create fashion", define_create_model},
                       {{"describe"},
                        "Describe a model",
                        "det model describe fashion --version 2",
                        define_describe_model},
                       {{"register-version"},
                        "Register a checkpoint as a version of a model",
                        "det model register-version fashion UUID",
                        define_register_version},
                       {{"list-versions"}, "List the versions of a model", "", define_list_versions},
                       {{"archive"}, "Archive a model", "", define_archive_model},
                       {{"unarchive"}, "Unarchive a model", "", define_unarchive_model},
                       {{"move"},
                        "Move a model to another workspace",
                        "det model move fashion vision",
                        define_move_model},
                       {{"delete"}, "Delete a model", "det model delete fashion --yes", define_delete_model}},
          .default_child = "list"};
}

}  // namespace det::cli
