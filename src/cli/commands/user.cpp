#include <CLI/CLI.hpp>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/commands/agent_user_group.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/cli/session/lookup.h"

namespace det::cli {
namespace {

Error nobody() {
  return Error(ErrorCode::FailedPrecondition, "no password given");
}

Action define_login(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  app.add_option("username", *name, "Whom to log in (the active user, or determined)")->type_name("USERNAME");
  return [name](Session& session) -> Result<int> {
    DET_TRY(auto cache, session.cache());
    DET_TRY(const auto current, session.user());
    const auto user = name->empty() ? current : *name;
    auto password = variable(session.variables(), "DET_PASS");
    if (!password) password = session.console().ask_password(fmt::format("Password for user '{}': ", user));
    if (!password) return tl::unexpected(nobody());
    DET_TRY(const auto token, session.login(user, *password));
    if (auto stored = cache.store(user, token); !stored) return tl::unexpected(stored.error());
    return 0;
  };
}

Action define_logout(CLI::App& app) {
  const auto all = std::make_shared<bool>(false);
  app.add_flag("-a,--all", *all, "Log out all users of this machine");
  return [all](Session& session) -> Result<int> {
    DET_TRY(auto cache, session.cache());
    DET_TRY(const auto user, session.user());
    DET_TRY(const auto cached, cache.token(user));
    if (!cached && !*all) {
      session.console().line("Not logged in as user '{}'", user);
      return 0;
    }
    // The master forgets the token first. Where it cannot be told, the token
    // stays valid there until it expires, but is no longer known here.
    if (cached)
      if (const auto told = session.post("/api/v1/auth/logout"); !told)
        session.console().warn(told.error().message());
    auto dropped = *all ? cache.drop_all() : cache.drop(user);
    if (!dropped) return tl::unexpected(dropped.error());
    return 0;
  };
}

Action define_whoami(CLI::App& app) {
  const auto form = std::make_shared<OutputForm>();
  app.add_flag("--json", form->json, "Print the API object as JSON");
  return [form](Session& session) -> Result<int> {
    DET_TRY(const auto answer, session.get("/api/v1/me"));
    if (form->json)
      show_json(session.console(), at(answer, "user"));
    else
      session.console().line("You are logged in as user '{}'", text_at(answer, "user.username"));
    return 0;
  };
}

Action define_user_list(CLI::App& app) {
  const auto all = std::make_shared<bool>(false);
  const auto form = std::make_shared<OutputForm>();
  app.add_flag("-a,--all", *all, "Include inactive users");
  add_output_flags(app, *form);
  return [all, form](Session& session) -> Result<int> {
    QueryItems query;
    if (!*all) query.emplace_back("active", "true");
    DET_TRY(const auto users, session.pages("/api/v1/users", query, "users", 500));
    Table table({"User ID", "Username", "Display Name", "Admin", "Active", "Remote", "Agent Uid", "Agent Gid",
                 "Agent User", "Agent Group"});
    for (const auto& user : users)
      table.add({at(user, "id"), at(user, "username"), at(user, "displayName"), at(user, "admin"),
                 at(user, "active"), at(user, "remote"), at(user, "agentUserGroup.agentUid"),
                 at(user, "agentUserGroup.agentGid"), at(user, "agentUserGroup.agentUser"),
                 at(user, "agentUserGroup.agentGroup")});
    show(session.console(), *form, users, table);
    return 0;
  };
}

Action define_user_create(CLI::App& app) {
  struct Options {
    std::string name;
    std::optional<std::string> password;
    bool admin = false, remote = false;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("username", options->name, "Name of the new user")->type_name("USERNAME")->required();
  app.add_flag("--admin", options->admin, "Make the user an administrator");
  auto* password = app.add_option("--password", options->password, "Password of the user (default: empty)")
                       ->type_name("PASSWORD");
  app.add_flag("--remote", options->remote, "The user logs in elsewhere and has no password here")
      ->excludes(password);
  return [options](Session& session) -> Result<int> {
    json::object user;
    user["username"] = options->name;
    user["admin"] = options->admin;
    user["active"] = true;
    user["remote"] = options->remote;
    json::object body;
    body["user"] = std::move(user);
    body["password"] = password_hash(options->password.value_or(""));
    body["isHashed"] = true;
    DET_TRY(const auto answer, session.post("/api/v1/users", body));
    return 0;
  };
}

Result<void> patch_user(Session& session, const std::string& name, const json::object& change) {
  DET_TRY(const auto id, user_id(session, name));
  DET_TRY(const auto answer, session.patch(fmt::format("/api/v1/users/{}", id), change));
  return {};
}

Action define_change_password(CLI::App& app) {
  const auto target = std::make_shared<std::string>();
  app.add_option("target_user", *target, "Name of the user (default: you)")->type_name("USERNAME");
  return [target](Session& session) -> Result<int> {
    DET_TRY(const auto me, session.user());
    const auto name = target->empty() ? me : *target;
    auto& console = session.console();
    const auto password = console.ask_password(fmt::format("New password for user '{}': ", name));
    if (!password) return tl::unexpected(nobody());
    const auto again = console.ask_password("Confirm password: ");
    if (again != password) {
      console.fail("Passwords do not match");
      return 1;
    }
    json::object change;
    change["password"] = password_hash(*password);
    change["isHashed"] = true;
    if (auto changed = patch_user(session, name, change); !changed) return tl::unexpected(changed.error());
    return 0;
  };
}

Action define_user_rename(CLI::App& app) {
  struct Options {
    std::string from, to;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("target_user", options->from, "Name of the user")->type_name("USERNAME")->required();
  app.add_option("new_username", options->to, "New name of the user")->type_name("NAME")->required();
  return [options](Session& session) -> Result<int> {
    if (auto done = patch_user(session, options->from, json::object{{"username", options->to}}); !done)
      return tl::unexpected(done.error());
    return 0;
  };
}

Action define_user_edit(CLI::App& app) {
  struct Options {
    std::string name;
    std::optional<std::string> username, display_name;
    std::optional<bool> admin, active, remote;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("target_user", options->name, "Name of the user")->type_name("USERNAME")->required();
  app.add_option("--username", options->username, "New name of the user")->type_name("NAME");
  app.add_option("--display-name", options->display_name, "Display name")->type_name("TEXT");
  app.add_option("--admin", options->admin, "Whether the user is an administrator")->type_name("true|false");
  app.add_option("--active", options->active, "Whether the user may log in")->type_name("true|false");
  app.add_option("--remote", options->remote, "Whether the user logs in elsewhere, without a password here")
      ->type_name("true|false");
  return [options](Session& session) -> Result<int> {
    json::object change;
    std::vector<std::string> fields;
    const auto add = [&](const char* field, const char* words, const auto& value) {
      if (!value) return;
      change[field] = *value;
      fields.emplace_back(words);
    };
    add("username", "username", options->username);
    add("displayName", "display name", options->display_name);
    add("admin", "admin", options->admin);
    add("active", "active", options->active);
    add("remote", "remote", options->remote);
    if (fields.empty())
      return invalid_argument(
          "nothing to change; give --username, --display-name, --admin, --active or --remote");
    if (auto done = patch_user(session, options->name, change); !done) return tl::unexpected(done.error());
    session.console().line("Changes made to the following fields: {}", fmt::join(fields, ", "));
    return 0;
  };
}

Action define_user_switch(CLI::App& app, bool active) {
  const auto name = std::make_shared<std::string>();
  app.add_option("username", *name, "Name of the user")->type_name("USERNAME")->required();
  return [name, active](Session& session) -> Result<int> {
    json::object change;
    change["active"] = active;
    if (auto changed = patch_user(session, *name, change); !changed) return tl::unexpected(changed.error());
    return 0;
  };
}

Action define_user_link(CLI::App& app) {
  struct Options {
    std::string name;
    AgentUserGroupFlags account;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("det_username", options->name, "Name of the user")->type_name("USERNAME")->required();
  options->account.add_to(app, true);
  return [options](Session& session) -> Result<int> {
    json::object change;
    change["agentUserGroup"] = *options->account.body();
    if (auto done = patch_user(session, options->name, change); !done) return tl::unexpected(done.error());
    return 0;
  };
}

Action define_user_activate(CLI::App& app) {
  return define_user_switch(app, true);
}
Action define_user_deactivate(CLI::App& app) {
  return define_user_switch(app, false);
}

}  // namespace

Command user_commands() {
  return {
      .names = {"user", "u"},
      .help = "Manage users, log in and log out",
      .example = "det user login alice\ndet user whoami\ndet -u admin user create alice",
      .children =
          {{{"login"}, "Log in a user", "det user login alice", define_login},
           {{"logout"}, "Log out a user", "", define_logout},
           {{"whoami"}, "Show the current user", "", define_whoami},
           {{"list", "ls"}, "List users", "", define_user_list},
           {{"create"}, "Create a user", "det -u admin user create alice --admin", define_user_create},
           {{"change-password"}, "Change the password of a user", "", define_change_password},
           {{"rename"}, "Rename a user", "det -u admin user rename ann anne", define_user_rename},
           {{"edit"},
            "Edit a user",
            "det -u admin user edit ann --display-name 'Ann Lee' --admin true",
            define_user_edit},
           {{"link-with-agent-user"},
            "Set the account on the agents that the tasks of a user run as",
            "det -u admin user link-with-agent-user ann --agent-uid 1000 --agent-user ann --agent-gid 100 "
            "--agent-group users",
            define_user_link},
           {{"activate"}, "Activate a user", "", define_user_activate},
           {{"deactivate"}, "Deactivate a user", "", define_user_deactivate}},
      .default_child = "list"};
}

}  // namespace det::cli
