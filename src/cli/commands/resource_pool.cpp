// Resource pools, and which workspaces alone may use them.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"

namespace det::cli {
namespace {

std::string bindings_path(const std::string& pool) {
  return "/api/v1/resource-pools/" + url_encode(pool) + "/workspace-bindings";
}

void add_pool_name(CLI::App& app, std::string& pool) {
  app.add_option("pool_name", pool, "Which resource pool")->type_name("POOL")->required();
}

enum class Rebind { Add, Remove, Replace };

Action define_rebind(CLI::App& app, Rebind change) {
  struct Options {
    std::string pool;
    std::vector<std::string> workspaces;
  };
  const auto options = std::make_shared<Options>();
  add_pool_name(app, options->pool);
  app.add_option("workspace_names", options->workspaces,
                 change == Rebind::Replace ? "Names of the workspaces; none: open the pool to all"
                                           : "Names of the workspaces")
      ->type_name("WORKSPACE")
      ->required(change != Rebind::Replace);
  return [options, change](Session& session) -> Result<int> {
    json::object body;
    body["workspaceNames"] = json::array(options->workspaces.begin(), options->workspaces.end());
    const auto path = bindings_path(options->pool);
    DET_TRY(const auto answer, change == Rebind::Add      ? session.post(path, body)
                               : change == Rebind::Remove ? session.del(path, body)
                                                          : session.put(path, body));
    const auto names = fmt::format("{}", fmt::join(options->workspaces, ", "));
    auto& console = session.console();
    if (change == Rebind::Add)
      console.line("Bound resource pool {} to {}", options->pool, names);
    else if (change == Rebind::Remove)
      console.line("Unbound resource pool {} from {}", options->pool, names);
    else if (options->workspaces.empty())
      console.line("Resource pool {} is open to all workspaces", options->pool);
    else
      console.line("Bound resource pool {} to exactly {}", options->pool, names);
    return 0;
  };
}
Action define_add_bindings(CLI::App& app) {
  return define_rebind(app, Rebind::Add);
}
Action define_remove_bindings(CLI::App& app) {
  return define_rebind(app, Rebind::Remove);
}
Action define_replace_bindings(CLI::App& app) {
  return define_rebind(app, Rebind::Replace);
}

Action define_list_bindings(CLI::App& app) {
  struct Options {
    std::string pool;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  add_pool_name(app, options->pool);
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto bound, session.pages(bindings_path(options->pool), {}, "workspaceIds", 500));
    json::array workspaces;
    Table table({"ID", "Name"});
    for (const auto& id : bound) {
      DET_TRY(const auto found, session.get(fmt::format("/api/v1/workspaces/{}", json::serialize(id))));
      table.add({id, at(found, "workspace.name")});
      workspaces.push_back(at(found, "workspace"));
    }
    if (workspaces.empty() && !options->form.json && !options->form.yaml && !options->form.csv)
      session.console().line("Resource pool {} is open to all workspaces.", options->pool);
    else
      show(session.console(), options->form, workspaces, table);
    return 0;
  };
}

Action define_list_resource_pools(CLI::App& app) {
  const auto form = std::make_shared<OutputForm>();
  add_output_flags(app, *form);
  return [form](Session& session) -> Result<int> {
    DET_TRY(const auto pools, session.pages("/api/v1/resource-pools", {}, "resourcePools", 500));
    Table table({"Name", "Description", "Scheduler", "Agents", "Slots", "Slots Used"});
    for (const auto& pool : pools)
      table.add({at(pool, "name"), at(pool, "description"), at(pool, "scheduler"), at(pool, "numAgents"),
                 at(pool, "slotsAvailable"), at(pool, "slotsUsed")});
    show(session.console(), *form, pools, table);
    return 0;
  };
}

std::string agents_text(const json::value& allotment) {
  std::vector<std::string> ids;
  for (const auto& id : list_at(allotment, "agents")) ids.push_back(cell_text(id));
  return fmt::format("{}", fmt::join(ids, ", "));
}

Action define_describe_resource_pool(CLI::App& app) {
  struct Options {
    std::string pool;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  add_pool_name(app, options->pool);
  app.add_flag("--json", options->json, "Print JSON");
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto pools, session.pages("/api/v1/resource-pools", {}, "resourcePools", 500));
    const auto found =
        std::ranges::find_if(pools, [&](const auto& pool) { return text_at(pool, "name") == options->pool; });
    if (found == pools.end()) return fail(ErrorCode::NotFound, "resource pool '{}' not found", options->pool);
    json::object whole{{"pool", *found}, {"provider", nullptr}};
    if (!text_at(*found, "provider").empty()) {
      DET_TRY(auto provider,
              session.get("/api/v1/resource-pools/" + url_encode(options->pool) + "/provider"));
      whole["provider"] = std::move(provider);
    }
    auto& console = session.console();
    if (options->json) {
      show_json(console, whole);
      return 0;
    }
    Table facts({"Resource pool", ""});
    facts.add({"Name", at(*found, "name")});
    facts.add({"Description", at(*found, "description")});
    facts.add({"Scheduler", at(*found, "scheduler")});
    facts.add({"Agents", at(*found, "numAgents")});
    facts.add({"Slots", json::value(fmt::format("{} of {} used", cell_text(at(*found, "slotsUsed")),
                                                cell_text(at(*found, "slotsAvailable"))))});
    const auto& provider = whole["provider"];
    if (provider.is_object()) {
      facts.add({"Provider", at(provider, "provider")});
      facts.add(
          {"Nodes",
           json::value(fmt::format(
               "{} running, {} requested, {} leaving; {} to {}", cell_text(at(provider, "nodesRunning")),
               cell_text(at(provider, "nodesRequested")), cell_text(at(provider, "nodesLeaving")),
               cell_text(at(provider, "minNodes")), cell_text(at(provider, "maxNodes"))))});
      const auto say = [&](const char* title, const char* member) {
        if (const auto text = cell_text(at(provider, member)); !text.empty())
          facts.add({title, json::value(text)});
      };
      say("Trouble", "trouble");
      say("Why not more", "whyNotMore");
      say("Last failure", "lastFailure");
    }
    show(console, {}, nullptr, facts);
    if (!provider.is_object()) return 0;
    Table table(
        {"Allotment", "Nodes", "State", "Job", "Reason", "Requested", "Ends", "Agents", "For", "Log"});
    for (const auto& a : list_at(provider, "allotments"))
      table.add({at(a, "id"), at(a, "nodes"), at(a, "state"), at(a, "engineId"), at(a, "reason"),
                 time_cell(at(a, "requested")), time_cell(at(a, "ends")), json::value(agents_text(a)),
                 at(a, "taskId"), at(a, "log")});
    show(console, {}, nullptr, table);
    return 0;
  };
}

Command binding_commands() {
  return {.names = {"bindings"},
          .help = "Reserve a resource pool for workspaces",
          .example = "det -u admin resource-pool bindings add gpu vision speech",
          .children = {{{"add"}, "Bind a resource pool to workspaces", "", define_add_bindings},
                       {{"remove"}, "Unbind a resource pool from workspaces", "", define_remove_bindings},
                       {{"replace"}, "Replace all bindings of a resource pool", "", define_replace_bindings},
                       {{"list-workspaces", "list"},
                        "List the workspaces of a resource pool",
                        "det resource-pool bindings list-workspaces gpu",
                        define_list_bindings}}};
}

}  // namespace

Command resource_pool_commands() {
  return {.names = {"resource-pool", "rp"},
          .help = "Manage resource pools",
          .example = "det resource-pool list",
          .children = {{{"list", "ls"}, "List resource pools", "", define_list_resource_pools},
                       {{"describe"},
                        "Show a resource pool and the machines that its provider gives",
                        "det resource-pool describe gpu",
                        define_describe_resource_pool},
                       binding_commands()}};
}

}  // namespace det::cli
