#include "det/master/identity/user_rules.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "det/master/objects.h"

namespace det::master {
namespace {

using ::testing::ElementsAreArray;

store::UserRecord person(std::int64_t id, std::string name, bool admin = false, bool active = true,
                         std::string display_name = "", std::int64_t modified = 0) {
  return {.id = UserId(id),
          .username = std::move(name),
          .display_name = std::move(display_name),
          .admin = admin,
          .active = active,
          .password_hash = {},
          .modified_at = Time{modified}};
}

UsersById by_id(const std::vector<store::UserRecord>& users) {
  UsersById all;
  for (const auto& user : users) all.emplace(user.id, user);
  return all;
}

std::string refusal(const Result<void>& result) {
  return result ? "" : result.error().message();
}

/// One administrator, one who was one, and two others.
UsersById team() {
  return by_id({person(1, "root", true, true, "", 40), person(2, "zoe", false, true, "Anna Z.", 30),
                person(3, "Bob", true, false, "", 20), person(4, "ann", false, true, "", 10)});
}

TEST(UserChange, IsForAdministratorsButForOnesOwnPasswordAndDisplayName) {
  const UserPrincipal admin{
      .id = UserId(1), .username = "root", .admin = true, .token_hash = {}, .allocation_id = {}};
  const UserPrincipal zoe{
      .id = UserId(2), .username = "zoe", .admin = false, .token_hash = {}, .allocation_id = {}};
  const auto may = [](const UserPrincipal& caller, std::int64_t id, UserPatchRequest request) {
    request.user_id = UserId(id);
    return refusal(check_user_change(caller, request)).empty();
  };
  struct Row {
    const char* what;
    UserPatchRequest request;
    bool own, others, by_admin;
  };
  // clang-format off
  const Row rows[] = {
      //                                                                own    others by_admin
      {"nothing",          {},                                          true,  false, true},
      {"password",         {.password = "secret"},                      true,  false, true},
      {"display name",     {.display_name = "Zoe"},                     true,  false, true},
      {"both",             {.display_name = "Zoe", .password = "s"},    true,  false, true},
      {"name",             {.username = "zo"},                          false, false, true},
      {"administrator",    {.admin = false},                            false, false, true},
      {"active",           {.active = true},                            false, false, true},
      {"remote",           {.remote = true},                            false, false, true},
      {"agent user group", {.agent_user_group = json::object()},        false, false, true},
      {"no such group",    {.agent_user_group = json::value(nullptr)},  true,  false, true},
      {"name and password", {.username = "zo", .password = "s"},        false, false, true}};
  // clang-format on
  for (const auto& row : rows) {
    EXPECT_EQ(may(zoe, 2, row.request), row.own) << row.what;
    EXPECT_EQ(may(zoe, 4, row.request), row.others) << row.what;
    EXPECT_EQ(may(admin, 2, row.request), row.by_admin) << row.what;
  }
  EXPECT_EQ(check_user_change(zoe, {.user_id = UserId(4)}).error(),
            Error(ErrorCode::PermissionDenied, "user 'zoe' is not an administrator"));
}

TEST(UserChange, LeavesWhatTheRequestDoesNotName) {
  const config::AgentUserGroup group{.agent_uid = 7, .agent_gid = 8, .agent_user = "u", .agent_group = "g"};
  auto record = person(2, "zoe", false, true, "Anna Z.");
  record.agent_user_group = group;
  const auto same = patched_user(record, {.password = "secret"});
  ASSERT_TRUE(same);
  EXPECT_EQ(to_api(*same).display_name, "Anna Z.");
  EXPECT_TRUE(same->agent_user_group);
  const auto other = patched_user(record, {.username = "zo",
                                           .display_name = "",
                                           .admin = true,
                                           .active = false,
                                           .remote = true,
                                           .agent_user_group = json::object()});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->username, "zo");
  EXPECT_EQ(other->display_name, "");
  EXPECT_TRUE(other->admin);
  EXPECT_FALSE(other->active);
  EXPECT_FALSE(other->agent_user_group);
  EXPECT_TRUE(other->remote);
  EXPECT_TRUE(patched_user(record, {.agent_user_group = json::value(nullptr)})->agent_user_group);
  const auto wrong = patched_user(record, {.agent_user_group = json::value("root")});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), ErrorCode::InvalidArgument);
}

TEST(LastAdministrator, CannotBeTakenAway) {
  auto two = team();
  two.at(UserId(4)).admin = true;
  const std::string last =
      "user 'root' is the last active administrator; make another user an administrator first";
  struct Row {
    const char* what;
    UsersById users;
    store::UserRecord changed;
    std::string refused;
  };
  // clang-format off
  const Row rows[] = {
      {"keeps both",                team(), person(1, "chief", true,  true),  ""},
      {"is no administrator",       team(), person(1, "root",  false, true),  last},
      {"is deactivated",            team(), person(1, "root",  true,  false), last},
      {"is renamed and both",       team(), person(1, "x",     false, false), last},
      {"another is left",           two,    person(1, "root",  false, true),  ""},
      {"another is deactivated",    team(), person(2, "zoe",   false, false), ""},
      {"who was inactive is none",  team(), person(3, "Bob",   false, false), ""}};
  // clang-format on
  for (const auto& row : rows)
    EXPECT_EQ(refusal(check_administrator_remains(row.users, row.changed)), row.refused) << row.what;
}

TEST(LastClusterAdmin, CannotBeDeactivated) {
  const auto bound_to = [](std::vector<std::int64_t> ids) {
    return [ids](const UsersById& users) {
      return std::ranges::any_of(ids, [&](std::int64_t id) { return users.at(UserId(id)).active; });
    };
  };
  const std::string last =
      "user 'root' is the last active ClusterAdmin; assign that role to another user first";
  struct Row {
    const char* what;
    std::vector<std::int64_t> cluster_admins;
    store::UserRecord changed;
    std::string refused;
  };
  // clang-format off
  const Row rows[] = {
      {"the only one",             {1},    person(1, "root", true,  false), last},
      {"the only one stays",       {1},    person(1, "root", false, true),  ""},
      {"another is left",          {1, 4}, person(1, "root", true,  false), ""},
      {"the other is inactive",    {1, 3}, person(1, "root", true,  false), last},
      {"has not the role",         {1},    person(2, "zoe",  false, false), ""},
      {"was inactive before",      {3},    person(3, "Bob",  true,  false), ""}};
  // clang-format on
  for (const auto& row : rows)
    EXPECT_EQ(refusal(check_cluster_admin_remains(team(), row.changed, bound_to(row.cluster_admins))),
              row.refused)
        << row.what;
}

TEST(UsersToChange, AreFoundByAPartOfANameInAnyCaseAndNeverTheCaller) {
  struct Row {
    UserFilters filters;
    std::vector<std::int64_t> found;
  };
  // clang-format off
  const Row rows[] = {
      {{.name = "",     .admin = std::nullopt}, {2, 3, 4}},
      {{.name = "ANN",  .admin = std::nullopt}, {2, 4}},
      {{.name = "bob",  .admin = std::nullopt}, {3}},
      {{.name = "root", .admin = std::nullopt}, {}},
      {{.name = "",     .admin = true},         {3}},
      {{.name = "n",    .admin = false},        {2, 4}}};
  // clang-format on
  for (const auto& row : rows) {
    std::vector<std::int64_t> found;
    for (const auto id : filtered_users(team(), row.filters, UserId(1))) found.push_back(id.value());
    EXPECT_THAT(found, ElementsAreArray(row.found)) << row.filters.name;
  }
}

TEST(UserList, IsFilteredAndSorted) {
  struct Row {
    UsersQuery query;
    std::vector<std::string> names;
  };
  // clang-format off
  const Row rows[] = {
      {{},                                                             {"root", "zoe", "Bob", "ann"}},
      {{.order_by = "ORDER_BY_DESC"},                                  {"ann", "Bob", "zoe", "root"}},
      {{.active = true},                                               {"root", "zoe", "ann"}},
      {{.active = false},                                              {"Bob"}},
      {{.admin = true},                                                {"root", "Bob"}},
      {{.active = true, .admin = true},                                {"root"}},
      {{.name = "o"},                                                  {"root", "zoe", "Bob"}},
      {{.name = "bob"},                                                {}},
      {{.sort_by = "SORT_BY_USER_NAME"},                               {"Bob", "ann", "root", "zoe"}},
      {{.sort_by = "2", .order_by = "2"},                              {"zoe", "root", "ann", "Bob"}},
      {{.sort_by = "SORT_BY_ADMIN"},                                   {"zoe", "ann", "root", "Bob"}},
      {{.sort_by = "SORT_BY_ACTIVE"},                                  {"Bob", "root", "zoe", "ann"}},
      {{.sort_by = "SORT_BY_MODIFIED_TIME"},                           {"ann", "Bob", "zoe", "root"}},
      {{.sort_by = "SORT_BY_DISPLAY_NAME"},                            {"root", "Bob", "ann", "zoe"}},
      {{.sort_by = "SORT_BY_NAME"},                                    {"zoe", "Bob", "ann", "root"}},
      {{.sort_by = "SORT_BY_WHAT_A_LATER_VERSION_KNOWS"},              {"root", "zoe", "Bob", "ann"}}};
  // clang-format on
  for (const auto& row : rows) {
    const auto listed = list_users(team(), row.query);
    ASSERT_TRUE(listed) << row.query.sort_by;
    std::vector<std::string> names;
    for (const auto& user : *listed) names.push_back(user.username);
    EXPECT_THAT(names, ElementsAreArray(row.names)) << json::serialize(json::to_json(row.query));
  }
  EXPECT_FALSE(list_users(team(), {.sort_by = "name"}));
  EXPECT_FALSE(list_users(team(), {.order_by = "down"}));
}

}  // namespace
}  // namespace det::master
