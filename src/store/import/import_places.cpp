#include "det/store/import/importer.h"

// Who works in the cluster, and where.

namespace det::store {

namespace {

const std::string kRenamed = "renamed, because another one here has its name";
constexpr UserId kAdministrator{1};
constexpr std::int64_t kUsersOfANewMaster = 2;
constexpr std::int64_t kUncategorized = 1;  // workspace and project

std::vector<Change> one(Change change) {
  std::vector<Change> changes;
  changes.push_back(std::move(change));
  return changes;
}

}  // namespace

void NamedHere::add(std::int64_t id, const std::string& name) {
  if (const auto before = names.find(id); before != names.end()) {
    if (const auto held = ids.find(before->second); held != ids.end() && held->second == id) ids.erase(held);
  }
  names[id] = name;
  ids.emplace(name, id);
}

std::string NamedHere::free_name(const std::string& name, std::int64_t id) const {
  const auto found = ids.find(name);
  return found == ids.end() || found->second == id ? name : fmt::format("{} ({})", name, id);
}

void Importer::make_unique(std::string_view what, std::string& name, std::int64_t id, NamedHere& here) {
  auto given = here.free_name(name, id);
  if (given != name) target_.changed(what, kRenamed, fmt::format("{} -> {}", name, given));
  name = std::move(given);
  here.add(id, name);
}

void Importer::give_owner(std::string_view what, UserId& owner, const std::string& example) {
  if (users_.taken.contains(owner.value())) return;
  target_.changed(what, "their owner was not imported; they belong to the administrator now", example);
  owner = kAdministrator;
}

void Importer::users() {
  users_.built_in = kUsersOfANewMaster;
  for (const auto& user : target_.store().users()) users_.add(user.id.value(), user.username);
  std::string account;
  for (const char* name : {"uid", "gid", "user_", "group_"})
    account += fmt::format(", {} AS \"{}\"", source_.column("agent_user_groups", "a", name), name);
  const auto join =
      source_.has("agent_user_groups") ? "LEFT JOIN agent_user_groups a ON a.user_id = u.id" : "";
  simple(
      "users",
      fmt::format("SELECT {}{} FROM users u {} ORDER BY u.id",
                  source_.columns("users", "u",
                                  {"id", "username", "display_name", "admin", "active", "password_hash",
                                   "modified_at", "remote"}),
                  account, join),
      "id",
      [this](const SourceRow& row) {
        auto user = to_user(row);
        make_unique("users", user.username, user.id.value(), users_);
        return one(PutUser{std::move(user)});
      },
      &users_);
}

void Importer::groups() {
  if (!source_.has("groups") || !source_.has("user_group_membership")) return;
  for (const auto& group : target_.store().groups()) groups_.add(group.id.value(), group.name);
  const auto personal = source_.has("groups", "user_id") ? "WHERE g.user_id IS NULL" : "";
  simple(
      "groups",
      fmt::format(
          "SELECT {}, (SELECT CAST(json_agg(m.user_id ORDER BY m.user_id) AS text) FROM "
          "user_group_membership m WHERE m.group_id = g.id) AS members FROM groups g {} ORDER BY g.id",
          source_.columns("groups", "g", {"id", "group_name"}), personal),
      "id",
      [&](const SourceRow& row) {
        auto group = to_group(row);
        std::erase_if(group.members, [this](UserId user) { return !users_.taken.contains(user.value()); });
        make_unique("groups", group.name, group.id.value(), groups_);
        return one(PutGroup{std::move(group)});
      },
      &groups_);
}

void Importer::roles() {
  if (!source_.has("role_assignments", "group_id") || !source_.has("role_assignment_scopes")) return;
  simple("role assignments",
         fmt::format("SELECT {}, {}, {}, concat_ws('-', a.group_id, a.role_id, a.scope_id) AS key FROM "
                     "role_assignments a LEFT JOIN role_assignment_scopes s ON s.id = a.scope_id LEFT JOIN "
                     "groups g ON g.id = a.group_id ORDER BY a.group_id, a.role_id, a.scope_id",
                     source_.columns("role_assignments", "a", {"role_id", "group_id"}),
                     source_.columns("role_assignment_scopes", "s", {"scope_workspace_id"}),
                     source_.columns("groups", "g", {"user_id"})),
         "key", [&](const SourceRow& row) {
           const auto assignment = to_role_assignment(row);
           const bool known =
               assignment &&
               (assignment->user ? users_.taken.contains(assignment->user.value())
                                 : groups_.taken.contains(assignment->group.value())) &&
               (assignment->workspace == 0 || workspaces_.taken.contains(assignment->workspace));
           if (known) return one(PutRoleAssignment{*assignment});
           if (assignment) {
             target_.left_out("role assignments", "their user, group or workspace was not imported",
                              row.text("key"));
             return std::vector<Change>{};
           }
           target_.left_out("role assignments", "the role is not one of the original's ten",
                            "role " + row.text("role_id"));
           return std::vector<Change>{};
         });
}

void Importer::workspaces() {
  workspaces_.built_in = kUncategorized;
  for (const auto& workspace : target_.store().workspaces())
    workspaces_.add(workspace.id.value(), workspace.name);
  simple(
      "workspaces",
      fmt::format(
          "SELECT {} FROM workspaces w ORDER BY w.id",
          source_.columns("workspaces", "w",
                          {"id", "name", "archived", "user_id", "created_at", "uid", "gid", "user_", "group_",
                           "checkpoint_storage_config", "default_compute_pool", "default_aux_pool"})),
      "id",
      [this](const SourceRow& row) {
        auto workspace = to_workspace(row);
        make_unique("workspaces", workspace.name, workspace.id.value(), workspaces_);
        give_owner("workspaces", workspace.owner, workspace.name);
        return one(PutWorkspace{std::move(workspace)});
      },
      &workspaces_);
}

void Importer::projects() {
  // Names are unique in a workspace, keys everywhere.
  const auto in_workspace = [](const ProjectRecord& project) {
    return fmt::format("{}/{}", project.workspace, project.name);
  };
  NamedHere keys;
  projects_.built_in = kUncategorized;
  for (const auto& project : target_.store().projects()) {
    projects_.add(project.id.value(), in_workspace(project));
    keys.add(project.id.value(), project.key);
  }
  simple(
      "projects",
      fmt::format("SELECT {} FROM projects p ORDER BY p.id",
                  source_.columns("projects", "p",
                                  {"id", "name", "workspace_id", "key", "description", "notes", "archived",
                                   "user_id", "created_at"})),
      "id",
      [&](const SourceRow& row) {
        auto project = to_project(row);
        const auto id = project.id.value();
        if (!workspaces_.taken.contains(project.workspace.value())) {
          target_.changed("projects", "their workspace was not imported; they are in the first one now",
                          project.name);
          project.workspace = WorkspaceId(kUncategorized);
        }
        if (const auto name = in_workspace(project); projects_.free_name(name, id) != name) {
          const auto before = project.name;
          project.name = fmt::format("{} ({})", before, id);
          target_.changed("projects", kRenamed, fmt::format("{} -> {}", before, project.name));
        }
        projects_.add(id, in_workspace(project));
        make_unique("keys of projects", project.key, id, keys);
        give_owner("projects", project.owner, project.name);
        return one(PutProject{std::move(project)});
      },
      &projects_);
}

void Importer::pins() {
  if (!source_.has("workspace_pins", "user_id")) return;
  simple("pins",
         fmt::format("SELECT {}, concat_ws('-', p.user_id, p.workspace_id) AS key FROM workspace_pins p",
                     source_.columns("workspace_pins", "p", {"user_id", "workspace_id", "created_at"})),
         "key", [this](const SourceRow& row) {
           const auto pin = to_pin(row);
           const bool known = pin && users_.taken.contains(pin->user.value()) &&
                              workspaces_.taken.contains(pin->workspace.value());
           return known ? one(PutPin{*pin}) : std::vector<Change>{};
         });
}

void Importer::templates() {
  if (!source_.has("templates", "config")) return;
  simple("templates",
         fmt::format("SELECT {} FROM templates t ORDER BY t.name",
                     source_.columns("templates", "t", {"name", "config", "workspace_id"})),
         "name", [this](const SourceRow& row) {
           auto record = to_template(row);
           if (!workspaces_.taken.contains(record.workspace.value()))
             record.workspace = WorkspaceId(kUncategorized);
           if (row.document("config").is_object()) return one(PutTemplate{std::move(record)});
           target_.left_out("templates", "their configuration is no map", row.text("name"));
           return std::vector<Change>{};
         });
}

void Importer::policies() {
  if (!source_.has("task_config_policies", "workload_type")) return;
  simple("config policies",
         fmt::format("SELECT {}, concat_ws('-', p.workspace_id, p.workload_type) AS key FROM "
                     "task_config_policies p",
                     source_.columns("task_config_policies", "p",
                                     {"workspace_id", "workload_type", "invariant_config", "constraints"})),
         "key", [&](const SourceRow& row) {
           const auto policy = to_config_policy(row);
           if (policy) return one(PutConfigPolicy{*policy});
           target_.left_out("config policies", "there is no such workload here", row.text("workload_type"));
           return std::vector<Change>{};
         });
}

void Importer::webhooks() {
  if (!source_.has("webhooks", "url") || !source_.has("webhook_triggers", "condition")) return;
  std::map<std::string, std::vector<SourceRow>> triggers;
  source_.each_row(fmt::format("SELECT {} FROM webhook_triggers t ORDER BY t.id",
                               source_.columns("webhook_triggers", "t",
                                               {"id", "trigger_type", "condition", "webhook_id"})),
                   [&](SourceRow row) { triggers[row.text("webhook_id")].push_back(std::move(row)); });
  std::int64_t highest = 0;
  simple("webhooks",
         fmt::format(
             "SELECT {}, (SELECT CAST(COUNT(*) AS text) FROM webhook_triggers t WHERE t.webhook_id = "
             "w.id) AS triggers FROM webhooks w ORDER BY w.id",
             source_.columns("webhooks", "w", {"id", "name", "url", "webhook_type", "mode", "workspace_id"})),
         "id", [&](const SourceRow& row) {
           auto webhook = to_webhook(row);
           highest = std::max(highest, webhook.id.value());
           for (const auto& of_webhook : triggers[row.text("id")])
             if (auto trigger = to_trigger(of_webhook))
               webhook.triggers.push_back(*std::move(trigger));
             else
               target_.left_out("webhook triggers", "there is no such trigger here",
                                of_webhook.text("trigger_type"));
           if (webhook.triggers.empty()) {
             target_.left_out("webhooks", "it has no trigger that there is here", row.text("id"));
             return std::vector<Change>{};
           }
           return one(PutWebhook{std::move(webhook)});
         });
}

void Importer::sources_left_out() {
  struct Table {
    const char *what, *table, *condition, *why;
  };
  for (const auto& [what, table, condition, why] :
       {Table{"sessions", "user_sessions", "expiry > now()",
              "log-ins and access tokens are signed by the original; log in again, or create new tokens"},
        Table{"web interface settings", "user_web_settings", "true", "they are of the original's pages"},
        Table{"other tasks", "tasks", "CAST(task_type AS text) <> 'TRIAL'",
              "commands, notebooks, shells, TensorBoards and garbage collections are not imported, nor their "
              "logs"}}) {
    if (!source_.has(table)) continue;
    if (std::string_view(table) == "user_sessions" && !source_.has(table, "expiry")) continue;
    target_.left_out(what, why, "",
                     source_.number(fmt::format("SELECT COUNT(*) FROM {} WHERE {}", table, condition)));
  }
}

}  // namespace det::store
