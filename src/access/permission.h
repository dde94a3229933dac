#pragma once

#include <span>
#include <string_view>

namespace det::access {

/// What a call can need. Most are those of the original's API, under its names (`PermissionInfo::wire`).
enum class Permission {
  AdministrateUser,
  CreateExperiment,
  ViewExperimentArtifacts,  ///< code, logs, checkpoints
  ViewExperimentMetadata,   ///< all the rest of it
  UpdateExperiment,
  UpdateExperimentMetadata,
  DeleteExperiment,  ///< also checkpoints and files of it
  CreateNsc,         ///< commands, notebooks, shells, TensorBoards
  ViewNsc,
  UpdateNsc,
  CreateWorkspace,
  ViewWorkspace,
  UpdateWorkspace,
  DeleteWorkspace,
  CreateProject,
  ViewProject,
  UpdateProject,
  DeleteProject,
  AssignRoles,
  ViewModelRegistry,
  CreateModelRegistry,
  EditModelRegistry,
  DeleteModelRegistry,
  DeleteOtherUserModelRegistry,
  DeleteModelVersion,
  DeleteOtherUserModelVersion,
  ViewTemplates,
  CreateTemplates,
  UpdateTemplates,
  DeleteTemplates,
  ViewWebhooks,
  EditWebhooks,
  ModifyGlobalConfigPolicies,
  ModifyWorkspaceConfigPolicies,
  ViewMasterLogs,
  ViewClusterUsage,
  UpdateAgents,
  ViewMasterConfig,
  UpdateMasterConfig,
  ModifyPoolBindings,  ///< of resource pools to workspaces
  CreateToken,
  AdministrateToken,  ///< tokens of others
  ViewAuditLog,       ///< ours; the API, whose clients know a fixed list, says ViewMasterConfig
};

/// Who has a permission where no roles are enforced.
enum class Basic {
  Anyone,  ///< who is logged in
  Owner,   ///< of the thing, and administrators
  Admin,
};

struct PermissionInfo {
  Permission permission;
  std::string_view wire;  ///< "PERMISSION_TYPE_VIEW_WORKSPACE": the original's, as its clients know no other
  std::string_view verb;  ///< for sentences, before the thing: "view", "kill or change"
  Basic basic;
  bool cluster_only = false;  ///< is had for the whole cluster or not at all
};

const PermissionInfo& info(Permission permission);
/// All, in the order of the enumeration.
std::span<const PermissionInfo> permissions();

/// What one must be allowed in order to know that the thing exists; itself where it is no secret.
Permission to_see(Permission permission);

/// What it takes where the thing is another user's; itself where that makes no difference to roles.
Permission for_things_of_others(Permission permission);

/// Whether it is for administrators, so that no task has it, whoever started it.
bool is_administrative(Permission permission);

}  // namespace det::access
