// Roles and the audit log on the command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "det/cli/test_master.h"

namespace det::cli::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

void know_roles(TestMaster& master) {
  master.answer("POST /api/v1/roles/search",
                R"({"roles":[{"roleId":5,"name":"Editor"},{"roleId":4,"name":"Viewer"}]})");
  master.answer("GET /api/v1/users/ann/by-username", R"({"user":{"id":7,"username":"ann"}})");
  master.answer(
      "GET /api/v1/workspaces",
      R"({"workspaces":[{"id":1,"name":"Uncategorized"},{"id":3,"name":"vision"}],"pagination":{"total":2}})");
  master.answer("GET /api/v1/master", R"({"rbacEnabled":true})");
}

TEST(RbacCli, AssignSendsTheNumbersOfWhatWasNamed) {
  TestMaster master;
  know_roles(master);
  master.answer("POST /api/v1/roles/add-assignments", "{}");
  EXPECT_THAT(det("rbac assign-role Editor -u ann -w vision", master).out,
              HasSubstr("Assigned role Editor to user 'ann' in workspace 'vision'"));
  const auto body = master.last_body("POST /api/v1/roles/add-assignments");
  const auto& assignment = body.at("userRoleAssignments").at(0);
  EXPECT_EQ(assignment.at("userId"), json::value(7));
  EXPECT_EQ(assignment.at("roleAssignment").at("role").at("roleId"), json::value(5));
  EXPECT_EQ(assignment.at("roleAssignment").at("scopeWorkspaceId"), json::value(3));
}

TEST(RbacCli, WithoutAWorkspaceItIsForTheWholeCluster) {
  TestMaster master;
  know_roles(master);
  master.answer("POST /api/v1/roles/remove-assignments", "{}");
  EXPECT_THAT(det("rbac unassign-role Viewer -u ann", master).out,
              HasSubstr("Removed role Viewer from user 'ann' for the whole cluster"));
  const auto body = master.last_body("POST /api/v1/roles/remove-assignments");
  EXPECT_EQ(body.at("userRoleAssignments").at(0).at("roleAssignment").at("scopeCluster"), json::value(true));
}

TEST(RbacCli, WhatIsNotThereIsNamedWithWhatIs) {
  TestMaster master;
  know_roles(master);
  const auto role = det("rbac assign-role Chief -u ann", master);
  EXPECT_EQ(role.code, 1);
  EXPECT_THAT(role.err, HasSubstr("role 'Chief' not found; there are Editor, Viewer"));
  EXPECT_THAT(det("rbac assign-role Editor -u ann -w speech", master).err,
              HasSubstr("workspace 'speech' not found"));
}

TEST(AuditCli, ListsWhoDidWhatToWhat) {
  TestMaster master;
  master.answer(
      "GET /api/v1/audit",
      R"({"entries":[{"id":9,"time":"2026-01-02T03:04:05Z","username":"ann","address":"10.0.0.1:5",)"
      R"("operation":"POST /api/v1/experiments/{id}/kill","path":"/api/v1/experiments/7/kill",)"
      R"("about":"experiment 7","status":403}]})");
  const auto listed = det("audit list -u ann --refused", master);
  EXPECT_THAT(listed.out, HasSubstr("POST /api/v1/experiments/7/kill"));
  EXPECT_THAT(listed.out, HasSubstr("experiment 7"));
  EXPECT_THAT(master.asked(), Contains(HasSubstr("username=ann&refused=true")));
}

}  // namespace
}  // namespace det::cli::test
