#include "det/config/yaml/yaml.h"
#include "det/store/import/mapping.h"

namespace det::store {

namespace {

constexpr std::int64_t kRoles = 10;  // numbered from 1, as in the original

std::optional<config::AgentUserGroup> account_of(const SourceRow& row) {
  config::AgentUserGroup account;
  if (const auto uid = row.integer("uid")) account.agent_uid = static_cast<std::int32_t>(*uid);
  if (const auto gid = row.integer("gid")) account.agent_gid = static_cast<std::int32_t>(*gid);
  if (row.has("user_")) account.agent_user = row.text("user_");
  if (row.has("group_")) account.agent_group = row.text("group_");
  if (account == config::AgentUserGroup{}) return std::nullopt;
  return account;
}

}  // namespace

UserRecord to_user(const SourceRow& row) {
  return {.id = UserId(row.integer("id").value_or(0)),
          .username = row.text("username"),
          .display_name = row.text("display_name"),
          .admin = row.flag("admin"),
          .active = row.flag("active"),
          .password_hash = row.text("password_hash"),
          .modified_at = row.time("modified_at").value_or(Time{}),
          .agent_user_group = account_of(row),
          .remote = row.flag("remote")};
}

GroupRecord to_group(const SourceRow& row) {
  GroupRecord group{
      .id = GroupId(row.integer("id").value_or(0)), .name = row.text("group_name"), .members = {}};
  const auto members = row.document("members");
  if (const auto* array = members.if_array())
    for (const auto& member : *array)
      if (const auto id = json::to_int64(member)) group.members.insert(UserId(*id));
  return group;
}

std::optional<RoleAssignmentRecord> to_role_assignment(const SourceRow& row) {
  const auto role = row.integer("role_id").value_or(0);
  if (role < 1 || role > kRoles) return std::nullopt;
  RoleAssignmentRecord assignment{
      .user = {}, .role = role, .workspace = row.integer("scope_workspace_id").value_or(0)};
  // Every user has a group of their own, which assignments to users are made to.
  if (const auto user = row.integer("user_id"))
    assignment.user = UserId(*user);
  else
    assignment.group = GroupId(row.integer("group_id").value_or(0));
  return assignment;
}

WorkspaceRecord to_workspace(const SourceRow& row) {
  return {.id = WorkspaceId(row.integer("id").value_or(0)),
          .name = row.text("name"),
          .archived = row.flag("archived"),
          .owner = UserId(row.integer("user_id").value_or(0)),
          .creation_time = row.time("created_at").value_or(Time{}),
          .default_compute_pool = row.text("default_compute_pool"),
          .default_aux_pool = row.text("default_aux_pool"),
          .checkpoint_storage = row.document("checkpoint_storage_config"),
          .agent_user_group = account_of(row)};
}

ProjectRecord to_project(const SourceRow& row) {
  ProjectRecord project{.id = ProjectId(row.integer("id").value_or(0)),
                        .workspace = WorkspaceId(row.integer("workspace_id").value_or(1)),
                        .name = row.text("name"),
                        .key = row.text("key"),
                        .description = row.text("description"),
                        .notes = {},
                        .archived = row.flag("archived"),
                        .owner = UserId(row.integer("user_id").value_or(0)),
                        .creation_time = row.time("created_at").value_or(Time{})};
  if (project.key.empty()) project.key = "P" + row.text("id");
  const auto notes = row.document("notes");
  if (const auto* array = notes.if_array())
    for (const auto& note : *array)
      if (const auto* object = note.if_object())
        project.notes.push_back({json::text_member(*object, "name"), json::text_member(*object, "contents")});
  return project;
}

std::optional<WorkspacePin> to_pin(const SourceRow& row) {
  const auto user = row.integer("user_id"), workspace = row.integer("workspace_id");
  if (!user || !workspace) return std::nullopt;
  return WorkspacePin{UserId(*user), WorkspaceId(*workspace), row.time("created_at").value_or(Time{})};
}

TemplateRecord to_template(const SourceRow& row) {
  return {.name = row.text("name"),
          .yaml = config::emit_yaml(row.document("config")),
          .workspace = WorkspaceId(row.integer("workspace_id").value_or(1))};
}

std::optional<ConfigPolicyRecord> to_config_policy(const SourceRow& row) {
  const auto type = row.text("workload_type");
  if (type != "EXPERIMENT" && type != "NTSC") return std::nullopt;
  json::object document;
  for (const char* section : {"invariant_config", "constraints"})
    if (auto value = row.object(section); !value.empty()) document[section] = std::move(value);
  return ConfigPolicyRecord{
      .workspace = WorkspaceId(row.integer("workspace_id").value_or(0)),
      .workload = type == "NTSC" ? config::Workload::Task : config::Workload::Experiment,
      .yaml = config::emit_yaml(document)};
}

WebhookRecord to_webhook(const SourceRow& row) {
  return {.id = WebhookId(row.integer("id").value_or(0)),
          .name = row.text("name"),
          .url = row.text("url"),
          .type = row.text("webhook_type") == "SLACK" ? WebhookType::Slack : WebhookType::Default,
          .mode = row.text("mode") == "SPECIFIC" ? WebhookMode::Specific : WebhookMode::Workspace,
          .workspace = WorkspaceId(row.integer("workspace_id").value_or(0)),
          .triggers = {},
          .owner = {},
          .creation_time = {}};
}

std::optional<WebhookTrigger> to_trigger(const SourceRow& row) {
  const auto type = row.text("trigger_type");
  const auto condition = row.object("condition");
  WebhookTrigger trigger{.id = row.integer("id").value_or(0)};
  if (type == "EXPERIMENT_STATE_CHANGE") {
    trigger.condition = json::text_member(condition, "state");
    if (trigger.condition.starts_with("STATE_")) trigger.condition.erase(0, 6);
  } else if (type == "TASK_LOG") {
    trigger.type = TriggerType::TaskLog;
    trigger.condition = json::text_member(condition, "regex");
  } else if (type == "CUSTOM") {
    trigger.type = TriggerType::Custom;
  } else {
    return std::nullopt;
  }
  if (trigger.type != TriggerType::Custom && trigger.condition.empty()) return std::nullopt;
  return trigger;
}

}  // namespace det::store
