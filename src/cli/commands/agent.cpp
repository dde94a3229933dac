#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"

namespace det::cli {
namespace {

std::string joined(const json::array& items) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + cell_text(item);
  return text;
}

std::size_t count_at(const json::value& v, std::string_view path) {
  const auto& members = at(v, path);
  return members.is_object() ? members.get_object().size() : 0;
}

std::string agent_path(const std::string& id) {
  return "/api/v1/agents/" + url_encode(id);
}

Action define_agent_list(CLI::App& app) {
  const auto form = std::make_shared<OutputForm>();
  add_output_flags(app, *form);
  return [form](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.get("/api/v1/agents"));
    Table table({"Agent ID", "Version", "Registered Time", "Slots", "Containers", "Resource Pool", "Enabled",
                 "Draining", "Addresses"});
    for (const auto& agent : list_at(answer, "agents"))
      table.add({at(agent, "id"), at(agent, "version"), time_cell(at(agent, "registeredTime")),
                 json::value(count_at(agent, "slots")), json::value(count_at(agent, "containers")),
                 json::value(joined(list_at(agent, "resourcePools"))), at(agent, "enabled"),
                 at(agent, "draining"), json::value(joined(list_at(agent, "addresses")))});
    show(session.console(), *form, at(answer, "agents"), table);
    return 0;
  };
}

Action define_agent_switch(CLI::App& app, bool enable) {
  struct Options {
    std::string id;
    bool all = false;
    bool drain = false;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("agent_id", options->id, "ID of the agent")->type_name("AGENT_ID");
  app.add_flag("--all", options->all, "All agents");
  if (!enable) app.add_flag("--drain", options->drain, "Let running tasks finish");
  return [options, enable](Session& session) -> Result<int> {
    auto& console = session.console();
    if (options->all == !options->id.empty()) {
      console.fail("Error: must specify exactly one of --all or agent_id");
      return 1;
    }
    std::vector<std::string> ids = {options->id};
    if (options->all) {
      DET_TRY(const auto answer, session.get("/api/v1/agents"));
      ids.clear();
      for (const auto& agent : list_at(answer, "agents")) ids.push_back(text_at(agent, "id"));
    }
    for (const auto& id : ids) {
      json::object body;
      if (!enable) body["drain"] = options->drain;
      DET_TRY(const auto answer, session.post(agent_path(id) + (enable ? "/enable" : "/disable"), body));
      console.line("{} agent {}", enable ? "Enabled" : "Disabled", id);
    }
    return 0;
  };
}

Action define_agent_enable(CLI::App& app) {
  return define_agent_switch(app, true);
}
Action define_agent_disable(CLI::App& app) {
  return define_agent_switch(app, false);
}

// The slots of an agent in the order of their numbers.
std::vector<std::pair<std::int64_t, const json::value*>> slots_of(const json::value& agent) {
  std::vector<std::pair<std::int64_t, const json::value*>> slots;
  if (at(agent, "slots").is_object())
    for (const auto& slot : at(agent, "slots").get_object())
      slots.emplace_back(integer_at(slot.value(), "id"), &slot.value());
  std::sort(slots.begin(), slots.end());
  return slots;
}

Action define_slot_list(CLI::App& app) {
  const auto form = std::make_shared<OutputForm>();
  add_output_flags(app, *form);
  return [form](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.get("/api/v1/agents"));
    DET_TRY(const auto tasks, session.get("/api/v1/tasks"));
    // Which allocation holds a container.
    std::map<std::string, const json::value*> by_container;
    if (at(tasks, "allocationIdToSummary").is_object())
      for (const auto& member : at(tasks, "allocationIdToSummary").get_object())
        for (const auto& resources : list_at(member.value(), "resources"))
          by_container[text_at(resources, "containerId")] = &member.value();
    Table table({"Agent ID", "Resource Pool", "Slot ID", "Enabled", "Draining", "Allocation ID", "Task Name",
                 "Type", "Device"});
    json::array objects;
    for (const auto& agent : list_at(answer, "agents")) {
      for (const auto& [number, slot] : slots_of(agent)) {
        const auto holder = by_container.find(text_at(*slot, "container.id"));
        const bool taken = !at(*slot, "container").is_null();
        json::value allocation = taken ? json::value("OCCUPIED") : json::value("FREE");
        json::value name = "None";
        if (taken && holder != by_container.end()) {
          allocation = at(*holder->second, "allocationId");
          name = at(*holder->second, "name");
        }
        auto type = text_at(*slot, "device.type");
        if (type.starts_with("TYPE_")) type.erase(0, 5);
        table.add({at(agent, "id"), json::value(joined(list_at(agent, "resourcePools"))), json::value(number),
                   at(*slot, "enabled"), at(*slot, "draining"), allocation, name, json::value(type),
                   at(*slot, "device.brand")});
        json::object object;
        object["agentId"] = at(agent, "id");
        object["resourcePools"] = at(agent, "resourcePools");
        object["slot"] = *slot;
        object["allocationId"] = taken && holder != by_container.end() ? allocation : json::value(nullptr);
        objects.push_back(std::move(object));
      }
    }
    show(session.console(), *form, objects, table);
    return 0;
  };
}

Action define_slot_switch(CLI::App& app, bool enable) {
  struct Options {
    std::string agent;
    std::int64_t slot = 0;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("agent_id", options->agent, "ID of the agent")->type_name("AGENT_ID")->required();
  app.add_option("slot_id", options->slot, "ID of the slot")->type_name("SLOT_ID")->required();
  return [options, enable](Session& session) -> Result<int> {
    const auto path = fmt::format("{}/slots/{}/{}", agent_path(options->agent), options->slot,
                                  enable ? "enable" : "disable");
    DET_TRY(const auto answer, session.post(path));
    session.console().line("{} slot {} of agent {}", enable ? "Enabled" : "Disabled", options->slot,
                           options->agent);
    return 0;
  };
}

Action define_slot_enable(CLI::App& app) {
  return define_slot_switch(app, true);
}
Action define_slot_disable(CLI::App& app) {
  return define_slot_switch(app, false);
}

}  // namespace

Command agent_commands() {
  return {.names = {"agent", "a"},
          .help = "Manage agents",
          .example = "det agent list\ndet agent disable node-3 --drain",
          .children =
              {{{"list", "ls"}, "List agents", "", define_agent_list},
               {{"enable"}, "Enable an agent", "det agent enable --all", define_agent_enable},
               {{"disable"}, "Disable an agent", "det agent disable node-3 --drain", define_agent_disable}},
          .default_child = "list"};
}

Command slot_commands() {
  return {.names = {"slot", "s"},
          .help = "Manage slots",
          .example = "det slot list\ndet slot disable node-3 0",
          .children = {{{"list", "ls"}, "List slots", "", define_slot_list},
                       {{"enable"}, "Enable a slot", "", define_slot_enable},
                       {{"disable"}, "Disable a slot", "det slot disable node-3 0", define_slot_disable}},
          .default_child = "list"};
}

}  // namespace det::cli
