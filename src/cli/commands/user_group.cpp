// Groups of users. Users name groups and users; the API wants numbers.

#include <CLI/CLI.hpp>
#include <memory>

#include "det/base/text.h"
#include "det/cli/command.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/cli/session/lookup.h"

namespace det::cli {
namespace {

json::value member_count(const json::value& found) {
  return json::value(integer_at(found, "numMembers"));
}

Action define_group_list(CLI::App& app) {
  struct Options {
    std::string user;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("--groups-user-belongs-to", options->user, "Show only groups of this user")
      ->type_name("USER");
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    json::object wanted{{"limit", 0}};
    if (!options->user.empty()) {
      DET_TRY(const auto id, user_id(session, options->user));
      wanted["userId"] = id;
    }
    DET_TRY(const auto found, session.post("/api/v1/groups/search", wanted));
    Table table({"Group ID", "Group Name", "# Users"});
    for (const auto& group : list_at(found, "groups"))
      table.add({at(group, "group.groupId"), at(group, "group.name"), member_count(group)});
    show(session.console(), options->form, list_at(found, "groups"), table);
    return 0;
  };
}

Result<json::value> group_named(Session& session, const std::string& name) {
  DET_TRY(const auto id, group_id(session, name));
  DET_TRY(const auto answer, session.get(fmt::format("/api/v1/groups/{}", id)));
  return at(answer, "group");
}

Action define_group_describe(CLI::App& app) {
  struct Options {
    std::string name;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("group_name", options->name, "Name of the group")->type_name("GROUP")->required();
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto group, group_named(session, options->name));
    Table table({"User ID", "Username", "Display Name", "Active"});
    for (const auto& user : list_at(group, "users"))
      table.add({at(user, "id"), at(user, "username"), at(user, "displayName"), at(user, "active")});
    if (!options->form.json && !options->form.yaml && !options->form.csv)
      session.console().line("group ID {}; group name {}; users:", integer_at(group, "groupId"),
                             text_at(group, "name"));
    show(session.console(), options->form, group, table);
    return 0;
  };
}

Result<json::array> user_ids(Session& session, const std::vector<std::string>& names) {
  json::array ids;
  for (const auto& listed : names)
    for (const auto& name : split(listed, ',')) {
      DET_TRY(const auto id, user_id(session, std::string(trim(name))));
      ids.push_back(id);
    }
  return ids;
}

Action define_group_create(CLI::App& app) {
  struct Options {
    std::string name;
    std::vector<std::string> users;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("group_name", options->name, "Name of the new group")->type_name("GROUP")->required();
  app.add_option("--add-user", options->users, "User to add; may be repeated")->type_name("USER");
  return [options](Session& session) -> Result<int> {
    DET_TRY(auto ids, user_ids(session, options->users));
    const auto count = ids.size();
    DET_TRY(const auto made, session.post("/api/v1/groups", json::object{{"name", options->name},
                                                                         {"addUsers", std::move(ids)}}));
    session.console().line("user group with name {} and ID {} created, of {} {}", options->name,
                           integer_at(made, "group.groupId"), count, count == 1 ? "user" : "users");
    return 0;
  };
}

/// Puts users into a group, or takes them out.
Action define_members(CLI::App& app, bool add) {
  struct Options {
    std::string name;
    std::vector<std::string> users;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("group_name", options->name, "Name of the group")->type_name("GROUP")->required();
  app.add_option("usernames", options->users, "Names of the users, separated by commas or spaces")
      ->type_name("USERS")
      ->required();
  return [options, add](Session& session) -> Result<int> {
    DET_TRY(const auto id, group_id(session, options->name));
    DET_TRY(auto ids, user_ids(session, options->users));
    DET_TRY(const auto done, session.put(fmt::format("/api/v1/groups/{}", id),
                                         json::object{{add ? "addUsers" : "removeUsers", std::move(ids)}}));
    session.console().line("user group with ID {} name {}", id, options->name);
    for (const auto& user : options->users)
      session.console().line("user {} {} the group", user, add ? "added to" : "removed from");
    return 0;
  };
}
Action define_add_user(CLI::App& app) {
  return define_members(app, true);
}
Action define_remove_user(CLI::App& app) {
  return define_members(app, false);
}

Action define_change_name(CLI::App& app) {
  struct Options {
    std::string from, to;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("old_group_name", options->from, "Name of the group")->type_name("GROUP")->required();
  app.add_option("new_group_name", options->to, "New name of the group")->type_name("NAME")->required();
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto id, group_id(session, options->from));
    DET_TRY(const auto done,
            session.put(fmt::format("/api/v1/groups/{}", id), json::object{{"name", options->to}}));
    session.console().line("user group with ID {} name changed from {} to {}", id, options->from,
                           options->to);
    return 0;
  };
}

Action define_group_delete(CLI::App& app) {
  struct Options {
    std::string name;
    bool yes = false;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("group_name", options->name, "Name of the group")->type_name("GROUP")->required();
  app.add_flag("-y,--yes", options->yes, "Skip the confirmation prompt");
  return [options](Session& session) -> Result<int> {
    if (!options->yes && !session.console().confirm("Deleting a group removes its roles from its users. "
                                                    "Do you wish to proceed?")) {
      session.console().line("Skipping group deletion.");
      return 0;
    }
    DET_TRY(const auto id, group_id(session, options->name));
    DET_TRY(const auto done, session.del(fmt::format("/api/v1/groups/{}", id)));
    session.console().line("user group with name {} and ID {} deleted", options->name, id);
    return 0;
  };
}

}  // namespace

Command user_group_commands() {
  return {.names = {"user-group"},
          .help = "Manage groups of users",
          .example = "det -u admin user-group create seeing --add-user ann --add-user bob",
          .children =
              {{{"list", "ls"}, "List groups", "", define_group_list},
               {{"describe"}, "Show a group and its users", "", define_group_describe},
               {{"create"},
                "Create a group",
                "det -u admin user-group create seeing --add-user ann",
                define_group_create},
               {{"add-user"},
                "Add users to a group",
                "det -u admin user-group add-user seeing ann,bob",
                define_add_user},
               {{"remove-user"},
                "Remove users from a group",
                "det -u admin user-group remove-user seeing bob",
                define_remove_user},
               {{"change-name"},
                "Rename a group",
                "det -u admin user-group change-name seeing vision",
                define_change_name},
               {{"delete"}, "Delete a group", "det -u admin user-group delete vision", define_group_delete}},
          .default_child = "list"};
}

}  // namespace det::cli
