#include "det/master/rights/assignment_rules.h"

#include <gmock/gmock.h>

namespace det::master {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kViewer = 4, kEditor = 5, kWorkspaceAdmin = 2, kClusterAdmin = 1;

AssignmentObject assignment_of(std::int64_t role, std::optional<std::int32_t> workspace,
                               bool scope_cluster = false) {
  AssignmentObject assignment;
  assignment.role.role_id = static_cast<std::int32_t>(role);
  assignment.scope_cluster = scope_cluster;
  assignment.scope_workspace_id = workspace;
  return assignment;
}

AssignmentsRequest to_user(std::int64_t user, AssignmentObject assignment) {
  AssignmentsRequest request;
  request.user_role_assignments.push_back({UserId(user), std::move(assignment)});
  return request;
}

AssignmentsRequest to_group(std::int64_t group, AssignmentObject assignment) {
  AssignmentsRequest request;
  request.group_role_assignments.push_back({GroupId(group), std::move(assignment)});
  return request;
}

TEST(RoleAssignments, NameWhatThereIs) {
  const std::map<UserId, store::UserRecord> users = {{UserId(2), {}}};
  const std::map<GroupId, store::GroupRecord> groups = {{GroupId(3), {}}};
  const std::map<store::WorkspaceId, store::WorkspaceRecord> workspaces = {{store::WorkspaceId(7), {}}};
  const auto none = std::optional<std::int32_t>();
  struct Row {
    AssignmentsRequest request;
    RoleBook::Record record;  // or
    const char* problem;
  };
  // clang-format off
  const Row rows[] = {
      {{},                                               {},                                 "are both empty"},
      {to_user(2,  assignment_of(kViewer, none)),         {UserId(2), kViewer, 0, GroupId{}}, ""},
      {to_user(2,  assignment_of(kViewer, none, true)),   {UserId(2), kViewer, 0, GroupId{}}, ""},
      {to_user(2,  assignment_of(kViewer, 7)),            {UserId(2), kViewer, 7, GroupId{}}, ""},
      {to_group(3, assignment_of(kEditor, 7)),            {UserId{},  kEditor, 7, GroupId(3)}, ""},
      {to_user(2,  assignment_of(kViewer, 7, true)),      {}, "role Viewer is assigned both for the whole cluster and in workspace 7"},
      {to_user(2,  assignment_of(kViewer, 8)),            {}, "workspace 8 not found"},
      {to_user(2,  assignment_of(99, 7)),                 {}, "role 99 not found"},
      {to_user(2,  assignment_of(kClusterAdmin, 7)),      {}, "role ClusterAdmin applies to the whole cluster"},
      {to_user(4,  assignment_of(kViewer, none)),         {}, "user '4' not found"},
      {to_group(4, assignment_of(kViewer, none)),         {}, "group 4 not found"}};
  // clang-format on
  for (const auto& row : rows) {
    const auto records = read_assignments(row.request, {users, groups, workspaces});
    ASSERT_EQ(records.has_value(), std::string(row.problem).empty()) << row.problem;
    if (records)
      EXPECT_EQ(*records, std::vector{row.record});
    else
      EXPECT_THAT(records.error().message(), HasSubstr(row.problem));
  }
}

TEST(RoleAssignments, InAWorkspaceAreFoundByTheNamesOfThoseWhoHaveThem) {
  store::UserRecord ann, bob;
  ann.username = "Ann";
  bob.username = "bob";
  const std::map<UserId, store::UserRecord> users = {{UserId(2), ann}, {UserId(4), bob}};
  const std::map<GroupId, store::GroupRecord> groups = {{GroupId(3), {GroupId(3), "Annotators", {}}}};
  const std::map<store::WorkspaceId, store::WorkspaceRecord> workspaces;
  const RoleBook::Record of_ann{UserId(2), kViewer, 7, GroupId{}}, of_bob{UserId(4), kViewer, 7, GroupId{}},
      of_group{UserId{}, kViewer, 7, GroupId(3)}, elsewhere{UserId(2), kViewer, 8, GroupId{}},
      everywhere{UserId(2), kViewer, 0, GroupId{}}, of_nobody{UserId(9), kViewer, 7, GroupId{}};
  struct Row {
    std::int64_t workspace;
    const char* name;
    std::vector<RoleBook::Record> found;
  };
  // clang-format off
  const Row rows[] = {
      {7, "",     {of_group, of_ann, of_bob}},
      {7, "ANN",  {of_group, of_ann}},
      {7, "bo",   {of_bob}},
      {7, "carl", {}},
      {8, "",     {elsewhere}},
      {9, "",     {}}};
  // clang-format on
  for (const auto& row : rows)
    EXPECT_EQ(assignments_in({of_ann, of_bob, of_group, elsewhere, everywhere, of_nobody},
                             store::WorkspaceId(row.workspace), row.name, {users, groups, workspaces}),
              row.found)
        << row.workspace << " " << row.name;
}

TEST(RoleAssignments, GiveNoMoreThanTheCallerHas) {
  const auto with = [](std::int64_t role, std::optional<std::int64_t> workspace) {
    return access::Caller{
        .user = UserId(2), .name = "ann", .admin = false, .grants = {{access::RoleId(role), workspace}}};
  };
  const auto place = [](std::int64_t role, std::int64_t workspace) {
    return RoleBook::Record{UserId(3), role, workspace, GroupId{}};
  };
  const auto nowhere = std::optional<std::int64_t>();
  struct Row {
    access::Caller caller;
    RoleBook::Record record;
    std::optional<ErrorCode> refused;
  };
  using enum ErrorCode;
  // clang-format off
  const Row rows[] = {
      // caller                        assigns
      {with(kClusterAdmin, nowhere),   place(kClusterAdmin, 0),   std::nullopt},
      {with(kClusterAdmin, nowhere),   place(kEditor, 7),         std::nullopt},
      {with(kWorkspaceAdmin, 7),       place(kWorkspaceAdmin, 7), std::nullopt},
      {with(kWorkspaceAdmin, 7),       place(kViewer, 7),         std::nullopt},
      {with(kWorkspaceAdmin, 7),       place(kClusterAdmin, 0),   PermissionDenied},
      {with(kWorkspaceAdmin, 7),       place(kViewer, 0),         PermissionDenied},
      {with(kWorkspaceAdmin, 7),       place(kViewer, 8),         NotFound},
      {with(kWorkspaceAdmin, nowhere), place(kClusterAdmin, 0),   PermissionDenied},
      {with(kEditor, 7),               place(kViewer, 7),         PermissionDenied}};
  // clang-format on
  for (const auto& row : rows) {
    const auto allowed =
        check_assigner(access::Mode::Rbac, row.caller, row.record, row.record.workspace == 0 ? "" : "vision");
    const auto refused = allowed ? std::nullopt : std::optional(allowed.error().code());
    EXPECT_EQ(refused, row.refused) << (allowed ? "" : allowed.error().message());
  }
  EXPECT_THAT(check_assigner(access::Mode::Rbac, with(kWorkspaceAdmin, nowhere), place(kClusterAdmin, 0), "")
                  .error()
                  .message(),
              HasSubstr("user 'ann' cannot assign role ClusterAdmin in the cluster: it grants permissions"));
}

TEST(RoleAssignments, AreTakenOnlyFromThoseWhoHaveThem) {
  const RoleBook::Record of_user{UserId(2), kViewer, 7, GroupId{}};
  const RoleBook::Record of_group{UserId{}, kEditor, 0, GroupId(3)};
  struct Row {
    std::vector<RoleBook::Record> removed;
    const char* problem;
  };
  // clang-format off
  const Row rows[] = {
      {{},                                           ""},
      {{of_user, of_group},                          ""},
      {{{UserId(2), kViewer, 0, GroupId{}}},          "user 2 does not have role Viewer there"},
      {{of_user, {UserId{}, kEditor, 7, GroupId(3)}}, "group 3 does not have role Editor there"}};
  // clang-format on
  for (const auto& row : rows) {
    const auto fine = check_assigned({of_user, of_group}, row.removed);
    EXPECT_EQ(fine ? "" : fine.error().message(), row.problem);
  }
}

TEST(LastClusterAdmin, KeepsTheRole) {
  struct Row {
    bool before, after, allowed;
  };
  // clang-format off
  const Row rows[] = {
      {true,  true,  true},
      {true,  false, false},
      {false, false, true}};
  // clang-format on
  for (const auto& row : rows)
    EXPECT_EQ(check_cluster_admin_stays(row.before, row.after).has_value(), row.allowed);
}

}  // namespace
}  // namespace det::master
