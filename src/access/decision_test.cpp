#include "det/access/decision.h"

#include <gtest/gtest.h>

namespace det::access {
namespace {

using enum Permission;

constexpr std::int64_t kVision = 7, kSpeech = 8;

Object in_vision(std::vector<UserId> owners = {UserId(2)}) {
  return {
      .what = "experiment 3", .workspace = kVision, .workspace_name = "vision", .owners = std::move(owners)};
}
Object cluster() {
  return {.what = "the cluster", .workspace = std::nullopt, .workspace_name = {}, .owners = {}};
}
Caller user(std::int64_t id, std::vector<Grant> grants = {}) {
  return {.user = UserId(id), .name = "ann", .admin = false, .grants = std::move(grants)};
}
Caller with(std::string_view role, std::optional<std::int64_t> workspace = std::nullopt) {
  return user(2, {{find_role(role)->id, workspace}});
}

TEST(Basic, EverybodySeesChangesAndKillsAllButDeletingIsForOwnersAndAdministrators) {
  const Caller owner = user(2), other = user(3);
  Caller admin = user(1);
  admin.admin = true;
  struct Row {
    Permission permission;
    bool owner, other, admin;
  };
  for (const auto& row : std::vector<Row>{{ViewExperimentMetadata, true, true, true},
                                          {ViewExperimentArtifacts, true, true, true},
                                          {CreateExperiment, true, true, true},
                                          {UpdateExperiment, true, true, true},
                                          {UpdateExperimentMetadata, true, true, true},
                                          {DeleteExperiment, true, false, true},
                                          {CreateNsc, true, true, true},
                                          {UpdateNsc, true, true, true},
                                          {CreateWorkspace, true, true, true},
                                          {UpdateWorkspace, true, false, true},
                                          {DeleteWorkspace, true, false, true},
                                          {UpdateProject, true, false, true},
                                          {EditModelRegistry, true, true, true},
                                          {DeleteModelRegistry, true, false, true},
                                          {DeleteModelVersion, true, false, true},
                                          {UpdateAgents, false, false, true},
                                          {AdministrateUser, false, false, true},
                                          {AssignRoles, false, false, true},
                                          {ViewAuditLog, false, false, true}}) {
    const auto says = [&](const Caller& caller) {
      return decide(Mode::Basic, caller, row.permission, in_vision()).answer == Answer::Yes;
    };
    EXPECT_EQ(says(owner), row.owner) << info(row.permission).wire;
    EXPECT_EQ(says(other), row.other) << info(row.permission).wire;
    EXPECT_EQ(says(admin), row.admin) << info(row.permission).wire;
  }
}

TEST(Basic, NothingIsHiddenAndRolesDoNotCount) {
  for (const auto& permission : permissions())
    EXPECT_NE(decide(Mode::Basic, user(3), permission.permission, in_vision()).answer, Answer::Hidden);
  EXPECT_EQ(decide(Mode::Basic, with("ClusterAdmin"), UpdateAgents, cluster()).answer, Answer::No);
}

TEST(Roles, EachGrantsWhatItsRowSays) {
  struct Row {
    std::string_view role;
    bool registry, view, run, project, task, model, workspace, agents;
  };
  for (const auto& row :
       std::vector<Row>{{"ModelRegistryViewer", true, false, false, false, false, false, false, false},
                        {"Viewer", true, true, false, false, false, false, false, false},
                        {"EditorRestricted", true, true, true, true, false, false, false, false},
                        {"EditorProjectRestricted", true, true, true, false, true, false, false, false},
                        {"Editor", true, true, true, true, true, true, false, false},
                        {"WorkspaceAdmin", true, true, true, true, true, true, true, false},
                        {"WorkspaceCreator", false, false, false, false, false, false, false, false},
                        {"TokenCreator", false, false, false, false, false, false, false, false},
                        {"ClusterAdmin", true, true, true, true, true, true, true, true}}) {
    const auto may = [&](Permission permission, const Object& object) {
      return decide(Mode::Rbac, with(row.role), permission, object).answer == Answer::Yes;
    };
    EXPECT_EQ(may(ViewModelRegistry, in_vision()), row.registry) << row.role;
    EXPECT_EQ(may(ViewExperimentMetadata, in_vision()), row.view) << row.role;
    EXPECT_EQ(may(UpdateExperiment, in_vision()), row.run) << row.role;
    EXPECT_EQ(may(CreateProject, in_vision()), row.project) << row.role;
    EXPECT_EQ(may(CreateNsc, in_vision()), row.task) << row.role;
    EXPECT_EQ(may(EditModelRegistry, in_vision()), row.model) << row.role;
    EXPECT_EQ(may(AssignRoles, in_vision()), row.workspace) << row.role;
    EXPECT_EQ(may(UpdateAgents, cluster()), row.agents) << row.role;
  }
}

TEST(Roles, OfOneWorkspaceSayNothingOfAnother) {
  const auto editor = with("Editor", kVision);
  EXPECT_EQ(decide(Mode::Rbac, editor, UpdateExperiment, in_vision({UserId(9)})).answer, Answer::Yes);
  auto elsewhere = in_vision();
  elsewhere.workspace = kSpeech;
  EXPECT_EQ(decide(Mode::Rbac, editor, UpdateExperiment, elsewhere).answer, Answer::Hidden)
      << "not even its owner, once it is where the owner has no role";
  EXPECT_EQ(where(Mode::Rbac, editor, ViewExperimentMetadata), std::set<std::int64_t>{kVision});
  EXPECT_EQ(where(Mode::Rbac, with("Editor"), ViewExperimentMetadata), std::nullopt);
  EXPECT_EQ(where(Mode::Rbac, user(2), ViewExperimentMetadata), std::set<std::int64_t>{});
}

TEST(Roles, WhatIsClusterWideIsNotHadByARoleInAWorkspace) {
  for (const auto& permission : permissions())
    if (permission.cluster_only) {
      EXPECT_EQ(decide(Mode::Rbac, with("ClusterAdmin", kVision), permission.permission, cluster()).answer,
                Answer::No)
          << permission.wire;
    }
}

TEST(Roles, AdministratorsByFlagAreNobodyInParticular) {
  Caller admin = user(1);
  admin.admin = true;
  EXPECT_EQ(decide(Mode::Rbac, admin, UpdateAgents, cluster()).answer, Answer::No);
  EXPECT_FALSE(is_administrator(Mode::Rbac, admin));
  EXPECT_TRUE(is_administrator(Mode::Basic, admin));
  EXPECT_TRUE(is_administrator(Mode::Rbac, with("ClusterAdmin")));
  EXPECT_FALSE(is_administrator(Mode::Rbac, with("ClusterAdmin", kVision)));
}

TEST(Roles, AnEditorDeletesItsOwnModelsAndAnAdministratorOfTheWorkspaceThoseOfAll) {
  EXPECT_EQ(decide(Mode::Rbac, with("Editor"), DeleteModelRegistry, in_vision({UserId(2)})).answer,
            Answer::Yes);
  EXPECT_EQ(decide(Mode::Rbac, with("Editor"), DeleteModelRegistry, in_vision({UserId(9)})).answer,
            Answer::No);
  EXPECT_EQ(
      decide(Mode::Rbac, with("WorkspaceAdmin", kVision), DeleteModelRegistry, in_vision({UserId(9)})).answer,
      Answer::Yes);
}

TEST(Tasks, HaveTheRightsOfTheirUserButNeverActAsAdministrators) {
  for (const auto mode : {Mode::Basic, Mode::Rbac}) {
    auto task = with("ClusterAdmin");
    task.admin = true;
    task.is_task = true;
    EXPECT_EQ(decide(mode, task, UpdateExperiment, in_vision({UserId(2)})).answer, Answer::Yes);
    for (const auto& permission : permissions())
      if (is_administrative(permission.permission) && permission.basic == Basic::Admin) {
        const auto decision = decide(mode, task, permission.permission, cluster());
        EXPECT_EQ(decision.answer, Answer::No) << permission.wire;
        EXPECT_TRUE(decision.reason.ends_with("a task never acts as an administrator; log in as a user"))
            << decision.reason;
      }
    EXPECT_FALSE(is_administrator(mode, task));
  }
}

TEST(Refusals, NameWhoWhatAndTheRoleThatWouldBeNeeded) {
  EXPECT_EQ(
      decide(Mode::Rbac, with("Viewer", kVision), UpdateExperiment, in_vision()).reason,
      "user 'ann' cannot change experiment 3: that requires the role EditorRestricted, "
      "EditorProjectRestricted, Editor, WorkspaceAdmin or ClusterAdmin in workspace 'vision' or for the "
      "whole cluster");
  EXPECT_EQ(
      decide(Mode::Rbac, user(2), UpdateAgents, cluster()).reason,
      "user 'ann' cannot change agents of the cluster: that requires the role ClusterAdmin for the whole "
      "cluster");
  EXPECT_EQ(decide(Mode::Basic, user(3), DeleteExperiment, in_vision()).reason,
            "user 'ann' cannot delete experiment 3: it belongs to another user; only its owner and "
            "administrators can");
  EXPECT_EQ(decide(Mode::Basic, user(3), UpdateAgents, cluster()).reason,
            "user 'ann' cannot change agents of the cluster: the user is not an administrator");
}

TEST(Always, AgreesWithTheDecisionForEveryRoleAndPermission) {
  for (const auto mode : {Mode::Basic, Mode::Rbac})
    for (const auto& role : roles())
      for (const auto& permission : permissions()) {
        const auto caller = with(role.name);
        if (!always(mode, caller, permission.permission)) continue;
        EXPECT_EQ(decide(mode, caller, permission.permission, in_vision({UserId(9)})).answer, Answer::Yes)
            << role.name << " " << permission.wire;
      }
}

}  // namespace
}  // namespace det::access
