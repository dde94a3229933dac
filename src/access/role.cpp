#include "det/access/role.h"

#include <vector>

namespace det::access {
namespace {

using enum Permission;
using Set = std::set<Permission>;

Set operator+(Set a, const Set& b) {
  a.insert(b.begin(), b.end());
  return a;
}

std::vector<Role> make() {
  const Set registry = {ViewModelRegistry};
  const Set viewer =
      registry + Set{ViewWorkspace, ViewProject, ViewExperimentMetadata, ViewExperimentArtifacts, ViewNsc,
                     ViewTemplates, ViewWebhooks};
  const Set experiments = {CreateExperiment, UpdateExperiment, UpdateExperimentMetadata, DeleteExperiment};
  const Set projects = {CreateProject, UpdateProject, DeleteProject};
  const Set tasks = {CreateNsc, UpdateNsc};
  const Set restricted = viewer + experiments + projects;
  const Set editor = restricted + tasks + Set{CreateModelRegistry, EditModelRegistry, DeleteModelRegistry,
                                              DeleteModelVersion,  CreateTemplates,   UpdateTemplates,
                                              DeleteTemplates};
  const Set workspace_admin = editor + Set{UpdateWorkspace,
                                           DeleteWorkspace,
                                           AssignRoles,
                                           EditWebhooks,
                                           ModifyWorkspaceConfigPolicies,
                                           DeleteOtherUserModelRegistry,
                                           DeleteOtherUserModelVersion};
  Set all;
  for (const auto& permission : permissions()) all.insert(permission.permission);
  return {
      {RoleId(6), "ModelRegistryViewer", "Can view the model registry", registry},
      {RoleId(4), "Viewer", "Can view everything and change nothing", viewer},
      {RoleId(7), "EditorRestricted",
       "Can also run and delete experiments, but cannot start commands or notebooks", restricted},
      {RoleId(9), "EditorProjectRestricted",
       "Can also run experiments, commands and notebooks, but cannot create or change projects",
       viewer + experiments + tasks},
      {RoleId(5), "Editor", "Can also run commands and notebooks, and change models and templates", editor},
      {kWorkspaceAdmin, "WorkspaceAdmin",
       "Can also change the workspace and its policies, and assign roles in it", workspace_admin},
      {RoleId(3),
       "WorkspaceCreator",
       "Can create workspaces, and is the administrator of those it created",
       {CreateWorkspace},
       true},
      {RoleId(10), "TokenCreator", "Can create access tokens for itself", {CreateToken}, true},
      {kClusterAdmin, "ClusterAdmin", "Can do everything", all, true},
  };
}

const std::vector<Role>& all_roles() {
  static const std::vector<Role> kRoles = make();
  return kRoles;
}

}  // namespace

std::span<const Role> roles() {
  return all_roles();
}

const Role* find_role(RoleId id) {
  for (const auto& role : all_roles())
    if (role.id == id) return &role;
  return nullptr;
}

const Role* find_role(std::string_view name) {
  for (const auto& role : all_roles())
    if (role.name == name) return &role;
  return nullptr;
}

}  // namespace det::access
