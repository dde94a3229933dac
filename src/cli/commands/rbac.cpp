// Roles: who may do what where. Users name roles, users and workspaces; the API wants numbers.

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "det/cli/command.h"
#include "det/cli/output/format.h"
#include "det/cli/output/output.h"
#include "det/cli/session/lookup.h"

namespace det::cli {
namespace {

using Names = std::map<std::int64_t, std::string>;

Result<json::value> all_roles(Session& session) {
  return session.post("/api/v1/roles/search", json::object{{"limit", 0}});
}

Result<json::value> find_role(Session& session, const std::string& name) {
  DET_TRY(const auto found, all_roles(session));
  std::vector<std::string> names;
  for (const auto& role : list_at(found, "roles")) {
    if (text_at(role, "name") == name || std::to_string(integer_at(role, "roleId")) == name) return role;
    names.push_back(text_at(role, "name"));
  }
  return not_found("role '{}' not found; there are {}", name, fmt::join(names, ", "));
}

/// Id and name of each that the caller sees.
Result<std::map<std::int64_t, std::string>> workspaces(Session& session) {
  DET_TRY(const auto found, session.pages("/api/v1/workspaces", {}, "workspaces", 500));
  std::map<std::int64_t, std::string> names;
  for (const auto& workspace : found) names[integer_at(workspace, "id")] = text_at(workspace, "name");
  return names;
}

Result<std::int64_t> workspace_id(Session& session, const std::string& name) {
  DET_TRY(const auto workspace, find_workspace(session, name));
  return integer_at(workspace, "id");
}

std::string scope_text(const std::map<std::int64_t, std::string>& names, std::int64_t workspace) {
  if (workspace == 0) return "the cluster";
  const auto found = names.find(workspace);
  return found == names.end() ? fmt::format("workspace {}", workspace) : found->second;
}

bool enforced(Session& session) {
  const auto master = session.get("/api/v1/master");
  return master && at(*master, "rbacEnabled") == json::value(true);
}

void say_whether_enforced(Session& session, const OutputForm& form) {
  if (!form.json && !form.yaml && !form.csv && !enforced(session))
    session.console().line(
        "This master does not enforce roles; to enforce them, start it with --authz rbac.");
}

json::value where_cell(const json::value& object) {
  return at(object, "scopeTypeMask.workspace") == json::value(true) ? json::value("cluster, workspace")
                                                                    : json::value("cluster");
}

Action define_list_roles(CLI::App& app) {
  const auto form = std::make_shared<OutputForm>();
  add_output_flags(app, *form);
  return [form](Session& session) -> Result<int> {
    DET_TRY(const auto found, all_roles(session));
    Table table({"ID", "Name", "Summary", "Where"});
    for (const auto& role : list_at(found, "roles"))
      table.add({at(role, "roleId"), at(role, "name"), at(role, "summary"), where_cell(role)});
    show(session.console(), *form, list_at(found, "roles"), table);
    return 0;
  };
}

Action define_describe_role(CLI::App& app) {
  struct Options {
    std::string role;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("role_name", options->role, "Name of the role")->type_name("ROLE")->required();
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto role, find_role(session, options->role));
    Table table({"Permission", "Name", "Where"});
    for (const auto& permission : list_at(role, "permissions"))
      table.add({at(permission, "id"), at(permission, "name"), where_cell(permission)});
    show(session.console(), options->form, role, table);
    return 0;
  };
}

Table summary_table(const json::value& summary, const Names& names) {
  Names roles;
  for (const auto& role : list_at(summary, "roles"))
    roles[integer_at(role, "roleId")] = text_at(role, "name");
  Table table({"Role", "Where"});
  for (const auto& assignment : list_at(summary, "assignments")) {
    const auto& role = roles[integer_at(assignment, "roleId")];
    if (at(assignment, "scopeCluster") == json::value(true))
      table.add({json::value(role), json::value(scope_text(names, 0))});
    for (const auto& id : list_at(assignment, "scopeWorkspaceIds"))
      table.add({json::value(role), json::value(scope_text(names, json::to_int64(id).value_or(0)))});
  }
  return table;
}

Action define_my_permissions(CLI::App& app) {
  const auto form = std::make_shared<OutputForm>();
  add_output_flags(app, *form);
  return [form](Session& session) -> Result<int> {
    DET_TRY(const auto summary, session.get("/api/v1/permissions/summary"));
    DET_TRY(const auto names, workspaces(session));
    show(session.console(), *form, summary, summary_table(summary, names));
    say_whether_enforced(session, *form);
    return 0;
  };
}

json::value name_of(const Names& names, std::int64_t id) {
  const auto found = names.find(id);
  return found == names.end() ? json::value(id) : json::value(found->second);
}

/// Role and place of each of `roles`, which the API gives with their assignments.
Table assignment_table(const json::array& roles, const Names& names, const Names& users,
                       const Names& groups) {
  Table table({"User", "Group", "Role", "Where"});
  for (const auto& entry : roles) {
    const auto place = [&](const json::value& assignment) {
      const auto& workspace = at(assignment, "roleAssignment.scopeWorkspaceId");
      return json::value(scope_text(names, json::to_int64(workspace).value_or(0)));
    };
    for (const auto& assignment : list_at(entry, "groupRoleAssignments"))
      table.add({json::value(""), name_of(groups, integer_at(assignment, "groupId")), at(entry, "role.name"),
                 place(assignment)});
    for (const auto& assignment : list_at(entry, "userRoleAssignments"))
      table.add({name_of(users, integer_at(assignment, "userId")), json::value(""), at(entry, "role.name"),
                 place(assignment)});
  }
  return table;
}

Result<std::map<std::int64_t, std::string>> usernames(Session& session) {
  DET_TRY(const auto found, session.pages("/api/v1/users", {}, "users", 500));
  std::map<std::int64_t, std::string> names;
  for (const auto& user : found) names[integer_at(user, "id")] = text_at(user, "username");
  return names;
}

Action define_list_users_roles(CLI::App& app) {
  struct Options {
    std::string user;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("username", options->user, "Name of the user")->type_name("USER")->required();
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto id, user_id(session, options->user));
    DET_TRY(const auto found, session.get(fmt::format("/api/v1/roles/search/by-user/{}", id)));
    DET_TRY(const auto names, workspaces(session));
    const auto& roles = list_at(found, "roles");
    show(session.console(), options->form, roles, assignment_table(roles, names, {{id, options->user}}, {}));
    say_whether_enforced(session, options->form);
    return 0;
  };
}

Action define_list_groups_roles(CLI::App& app) {
  struct Options {
    std::string group;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("group_name", options->group, "Name of the group")->type_name("GROUP")->required();
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto id, group_id(session, options->group));
    DET_TRY(const auto found, session.get(fmt::format("/api/v1/roles/search/by-group/{}", id)));
    DET_TRY(const auto names, workspaces(session));
    show(session.console(), options->form, found, summary_table(found, names));
    say_whether_enforced(session, options->form);
    return 0;
  };
}

/// `det workspace list-members` and `det rbac` share who and where.
struct Assignment {
  std::string role, user, group, workspace;
};

void add_assignment(CLI::App& app, Assignment& assignment) {
  app.add_option("role_name", assignment.role, "Name of the role")->type_name("ROLE")->required();
  auto* user = app.add_option("-u,--username-to-assign", assignment.user, "User who gets or loses the role")
                   ->type_name("USER");
  app.add_option("-g,--group-name-to-assign", assignment.group, "Group that gets or loses the role")
      ->type_name("GROUP")
      ->excludes(user);
  app.add_option("-w,--workspace-name", assignment.workspace,
                 "Workspace of the role (default: the whole cluster)")
      ->type_name("WORKSPACE");
}

Result<int> change(Session& session, const Assignment& assignment, bool add) {
  DET_TRY(const auto role, find_role(session, assignment.role));
  const bool to_group = !assignment.group.empty();
  if (!to_group && assignment.user.empty())
    return invalid_argument("no user or group given; name a user with -u or a group with -g");
  DET_TRY(const auto whose,
          to_group ? group_id(session, assignment.group) : user_id(session, assignment.user));
  json::object to{{"role", json::object{{"roleId", at(role, "roleId")}}},
                  {"scopeCluster", assignment.workspace.empty()}};
  if (!assignment.workspace.empty()) {
    DET_TRY(const auto workspace, workspace_id(session, assignment.workspace));
    to["scopeWorkspaceId"] = workspace;
  }
  json::array assignments;
  assignments.push_back(
      json::object{{to_group ? "groupId" : "userId", whose}, {"roleAssignment", std::move(to)}});
  DET_TRY(const auto done,
          session.post(add ? "/api/v1/roles/add-assignments" : "/api/v1/roles/remove-assignments",
                       json::object{{to_group ? "groupRoleAssignments" : "userRoleAssignments",
                                     std::move(assignments)}}));
  session.console().line(
      "{} role {} {} {} '{}' {}", add ? "Assigned" : "Removed", text_at(role, "name"), add ? "to" : "from",
      to_group ? "group" : "user", to_group ? assignment.group : assignment.user,
      assignment.workspace.empty() ? std::string("for the whole cluster")
                                   : fmt::format("in workspace '{}'", assignment.workspace));
  if (add) say_whether_enforced(session, {});
  return 0;
}

Action define_assign_role(CLI::App& app) {
  const auto assignment = std::make_shared<Assignment>();
  add_assignment(app, *assignment);
  return [assignment](Session& session) { return change(session, *assignment, true); };
}

Action define_unassign_role(CLI::App& app) {
  const auto assignment = std::make_shared<Assignment>();
  add_assignment(app, *assignment);
  return [assignment](Session& session) { return change(session, *assignment, false); };
}

}  // namespace

Action define_list_members(CLI::App& app) {
  struct Options {
    std::string workspace;
    OutputForm form;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("workspace_name", options->workspace, "Name of the workspace")
      ->type_name("WORKSPACE")
      ->required();
  add_output_flags(app, options->form);
  return [options](Session& session) -> Result<int> {
    DET_TRY(const auto id, workspace_id(session, options->workspace));
    DET_TRY(const auto members, session.get(fmt::format("/api/v1/roles/workspace/{}", id)));
    DET_TRY(const auto users, usernames(session));
    const auto& roles = list_at(members, "assignments");
    Names groups;
    for (const auto& group : list_at(members, "groups"))
      groups[integer_at(group, "groupId")] = text_at(group, "name");
    show(session.console(), options->form, roles,
         assignment_table(roles, {{id, options->workspace}}, users, groups));
    return 0;
  };
}

Command rbac_commands() {
  return {.names = {"rbac"},
          .help = "Manage roles of users and groups",
          .example = "det rbac assign-role Editor -u ann -w vision",
          .children =
              {{{"my-permissions"}, "Show your roles", "", define_my_permissions},
               {{"list-roles"}, "List roles", "", define_list_roles},
               {{"describe-role"}, "Describe a role", "det rbac describe-role Editor", define_describe_role},
               {{"list-users-roles"},
                "List the roles of a user",
                "det rbac list-users-roles ann",
                define_list_users_roles},
               {{"list-groups-roles"},
                "List the roles of a group",
                "det rbac list-groups-roles seeing",
                define_list_groups_roles},
               {{"assign-role"}, "Assign a role", "det rbac assign-role Viewer -u ann", define_assign_role},
               {{"unassign-role"},
                "Remove a role",
                "det rbac unassign-role Viewer -u ann",
                define_unassign_role}},
          .default_child = "my-permissions"};
}

}  // namespace det::cli
