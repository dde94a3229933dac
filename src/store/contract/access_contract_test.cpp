#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

class AccessContract : public StoreContract {
 protected:
  AuditRecord entry(std::int64_t seconds, const std::string& username, int status) {
    return {.time = Time{} + seconds * kSecond,
            .user = UserId(2),
            .username = username,
            .address = "127.0.0.1:5",
            .operation = "POST /api/v1/experiments/{id}/kill",
            .path = "/api/v1/experiments/7/kill",
            .about = "experiment 7",
            .status = status};
  }
};
TEST_P(AccessContract, ARoleIsAssignedOnceAndTakenAwayAgain) {
  const RoleAssignmentRecord viewer{UserId(2), 4, 0}, editor{UserId(2), 5, 7};
  commit(PutRoleAssignment{editor}, PutRoleAssignment{viewer}, PutRoleAssignment{viewer});
  reopen();
  EXPECT_EQ(store->role_assignments(), (std::vector{viewer, editor}));
  commit(DeleteRoleAssignment{viewer});
  EXPECT_EQ(store->role_assignments(), std::vector{editor});
}

TEST_P(AccessContract, AGroupHasItsMembersAndItsRolesUntilItGoes) {
  const RoleAssignmentRecord of_group{UserId{}, 4, 7, GroupId(1)}, of_user{UserId(1), 4, 7};
  commit(PutGroup{{GroupId(1), "vision", {UserId(2), UserId(3)}}}, PutGroup{{GroupId(2), "empty", {}}},
         PutRoleAssignment{of_group}, PutRoleAssignment{of_user});
  commit(PutGroup{{GroupId(1), "seeing", {UserId(3), UserId(4)}}});
  reopen();
  const auto groups = store->groups();
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].name, "seeing");
  EXPECT_EQ(groups[0].members, (std::set{UserId(3), UserId(4)}));
  EXPECT_TRUE(groups[1].members.empty());
  EXPECT_EQ(store->role_assignments(), (std::vector{of_group, of_user}));
  commit(DeleteRoleAssignment{of_group}, DeleteGroup{GroupId(1)});
  EXPECT_EQ(store->groups().size(), 1U);
  EXPECT_EQ(store->role_assignments(), std::vector{of_user});
}

TEST_P(AccessContract, TheAuditLogIsReadNewestFirstByUserTimeTextAndOutcome) {
  commit(AppendAudit{entry(1, "ann", 200)}, AppendAudit{entry(2, "bob", 403)},
         AppendAudit{entry(3, "ann", 404)});
  reopen();
  const auto all = store->audit({});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].status, 404);
  EXPECT_EQ(all[2].username, "ann");
  EXPECT_EQ(all[2].path, "/api/v1/experiments/7/kill");
  EXPECT_EQ(all[2].about, "experiment 7");
  EXPECT_EQ(store->audit({.username = "ann"}).size(), 2u);
  EXPECT_EQ(store->audit({.text = "EXPERIMENT 7"}).size(), 3u);
  EXPECT_EQ(store->audit({.text = "delete"}).size(), 0u);
  EXPECT_EQ(store->audit({.only_refused = true}).size(), 2u);
  EXPECT_EQ(store->audit({.after = Time{} + 2 * kSecond}).size(), 2u);
  EXPECT_EQ(store->audit({.before = Time{} + 2 * kSecond}).size(), 1u);
  EXPECT_EQ(store->audit({.before_id = all[0].id, .limit = 1}).at(0).id, all[1].id);
}

TEST_P(AccessContract, WhatIsOlderThanTheLimitGoes) {
  commit(AppendAudit{entry(1, "ann", 200)}, AppendAudit{entry(2, "ann", 200)});
  commit(PruneAudit{Time{} + 2 * kSecond});
  EXPECT_EQ(store->audit({}).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Backends, AccessContract, kBackends,
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace det::store
