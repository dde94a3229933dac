#include "det/access/permission.h"

#include <array>
#include <cstddef>

namespace det::access {
namespace {

using enum Permission;
using enum Basic;

constexpr auto kPermissions = std::to_array<PermissionInfo>({
    {AdministrateUser, "PERMISSION_TYPE_ADMINISTRATE_USER", "administrate", Admin, true},
    {CreateExperiment, "PERMISSION_TYPE_CREATE_EXPERIMENT", "create experiments in", Anyone},
    {ViewExperimentArtifacts, "PERMISSION_TYPE_VIEW_EXPERIMENT_ARTIFACTS", "read code, logs and files of",
     Anyone},
    {ViewExperimentMetadata, "PERMISSION_TYPE_VIEW_EXPERIMENT_METADATA", "view", Anyone},
    {UpdateExperiment, "PERMISSION_TYPE_UPDATE_EXPERIMENT", "change", Anyone},
    {UpdateExperimentMetadata, "PERMISSION_TYPE_UPDATE_EXPERIMENT_METADATA", "describe", Anyone},
    {DeleteExperiment, "PERMISSION_TYPE_DELETE_EXPERIMENT", "delete", Owner},
    {CreateNsc, "PERMISSION_TYPE_CREATE_NSC", "start commands, notebooks, shells or TensorBoards in", Anyone},
    {ViewNsc, "PERMISSION_TYPE_VIEW_NSC", "view", Anyone},
    {UpdateNsc, "PERMISSION_TYPE_UPDATE_NSC", "kill or change", Anyone},
    {CreateWorkspace, "PERMISSION_TYPE_CREATE_WORKSPACE", "create workspaces in", Anyone, true},
    {ViewWorkspace, "PERMISSION_TYPE_VIEW_WORKSPACE", "view", Anyone},
    {UpdateWorkspace, "PERMISSION_TYPE_UPDATE_WORKSPACE", "change", Owner},
    {DeleteWorkspace, "PERMISSION_TYPE_DELETE_WORKSPACE", "delete", Owner},
    {CreateProject, "PERMISSION_TYPE_CREATE_PROJECT", "create projects in", Anyone},
    {ViewProject, "PERMISSION_TYPE_VIEW_PROJECT", "view", Anyone},
    {UpdateProject, "PERMISSION_TYPE_UPDATE_PROJECT", "change", Owner},
    {DeleteProject, "PERMISSION_TYPE_DELETE_PROJECT", "delete", Owner},
    {AssignRoles, "PERMISSION_TYPE_ASSIGN_ROLES", "assign roles in", Admin},
    {ViewModelRegistry, "PERMISSION_TYPE_VIEW_MODEL_REGISTRY", "view", Anyone},
    {CreateModelRegistry, "PERMISSION_TYPE_CREATE_MODEL_REGISTRY", "create models in", Anyone},
    {EditModelRegistry, "PERMISSION_TYPE_EDIT_MODEL_REGISTRY", "change", Anyone},
    {DeleteModelRegistry, "PERMISSION_TYPE_DELETE_MODEL_REGISTRY", "delete", Owner},
    {DeleteOtherUserModelRegistry, "PERMISSION_TYPE_DELETE_OTHER_USER_MODEL_REGISTRY", "delete", Owner},
    {DeleteModelVersion, "PERMISSION_TYPE_DELETE_MODEL_VERSION", "delete", Owner},
    {DeleteOtherUserModelVersion, "PERMISSION_TYPE_DELETE_OTHER_USER_MODEL_VERSION", "delete", Owner},
    {ViewTemplates, "PERMISSION_TYPE_VIEW_TEMPLATES", "view", Anyone},
    {CreateTemplates, "PERMISSION_TYPE_CREATE_TEMPLATES", "create", Anyone},
    {UpdateTemplates, "PERMISSION_TYPE_UPDATE_TEMPLATES", "change", Anyone},
    {DeleteTemplates, "PERMISSION_TYPE_DELETE_TEMPLATES", "delete", Anyone},
    {ViewWebhooks, "PERMISSION_TYPE_VIEW_WEBHOOKS", "view the webhooks of", Anyone},
    {EditWebhooks, "PERMISSION_TYPE_EDIT_WEBHOOKS", "change the webhooks of", Owner},
    {ModifyGlobalConfigPolicies, "PERMISSION_TYPE_MODIFY_GLOBAL_CONFIG_POLICIES",
     "change the configuration policies of", Admin, true},
    {ModifyWorkspaceConfigPolicies, "PERMISSION_TYPE_MODIFY_WORKSPACE_CONFIG_POLICIES",
     "change the configuration policies of", Owner},
    {ViewMasterLogs, "PERMISSION_TYPE_VIEW_MASTER_LOGS", "read the master's log of", Anyone, true},
    {ViewClusterUsage, "PERMISSION_TYPE_VIEW_CLUSTER_USAGE", "view the usage of", Anyone, true},
    {UpdateAgents, "PERMISSION_TYPE_UPDATE_AGENTS", "change agents of", Admin, true},
    {ViewMasterConfig, "PERMISSION_TYPE_VIEW_MASTER_CONFIG", "read the configuration of", Admin, true},
    {UpdateMasterConfig, "PERMISSION_TYPE_UPDATE_MASTER_CONFIG", "change the settings or the message of",
     Admin, true},
    {ModifyPoolBindings, "PERMISSION_TYPE_MODIFY_RP_WORKSPACE_BINDINGS", "bind resource pools of", Admin,
     true},
    {CreateToken, "PERMISSION_TYPE_CREATE_TOKEN", "create access tokens in", Anyone, true},
    {AdministrateToken, "PERMISSION_TYPE_ADMINISTRATE_TOKEN", "manage access tokens of other users in", Admin,
     true},
    {ViewAuditLog, "PERMISSION_TYPE_VIEW_MASTER_CONFIG", "read the audit log of", Admin, true},
});

constexpr bool in_order() {
  for (std::size_t i = 0; i < kPermissions.size(); ++i)
    if (kPermissions[i].permission != static_cast<Permission>(i)) return false;
  return kPermissions.size() == static_cast<std::size_t>(ViewAuditLog) + 1;
}
static_assert(in_order());

}  // namespace

const PermissionInfo& info(Permission permission) {
  return kPermissions[static_cast<std::size_t>(permission)];
}

std::span<const PermissionInfo> permissions() {
  return kPermissions;
}

Permission to_see(Permission permission) {
  switch (permission) {
    case ViewExperimentArtifacts:
    case UpdateExperiment:
    case UpdateExperimentMetadata:
    case DeleteExperiment: return ViewExperimentMetadata;
    case UpdateNsc: return ViewNsc;
    case CreateExperiment:
    case CreateNsc:
    case CreateProject:
    case AssignRoles:
    case UpdateWorkspace:
    case ModifyWorkspaceConfigPolicies:
    case DeleteWorkspace: return ViewWorkspace;
    case UpdateProject:
    case DeleteProject: return ViewProject;
    case CreateModelRegistry:
    case EditModelRegistry:
    case DeleteModelRegistry:
    case DeleteOtherUserModelRegistry:
    case DeleteModelVersion:
    case DeleteOtherUserModelVersion: return ViewModelRegistry;
    case CreateTemplates:
    case UpdateTemplates:
    case DeleteTemplates: return ViewTemplates;
    case EditWebhooks: return ViewWebhooks;
    default: return permission;
  }
}

Permission for_things_of_others(Permission permission) {
  if (permission == DeleteModelRegistry) return DeleteOtherUserModelRegistry;
  if (permission == DeleteModelVersion) return DeleteOtherUserModelVersion;
  return permission;
}

bool is_administrative(Permission permission) {
  return info(permission).cluster_only || permission == AssignRoles || permission == EditWebhooks ||
         permission == ModifyWorkspaceConfigPolicies;
}

}  // namespace det::access
