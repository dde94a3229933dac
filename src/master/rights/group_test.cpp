// Groups of users and the roles that they give, over HTTP.

#include <gmock/gmock.h>

#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::HasSubstr;

class Groups : public testing::MasterTest {
 protected:
  void SetUp() override {
    authz_ = access::Mode::Rbac;
    restart();
    ann_ = make_user("ann");
    bob_ = make_user("bob");
    workspace_ =
        id_in(call(admin_, "POST", "/api/v1/workspaces", {{"name", "vision"}}).body.at("workspace"), "id");
    const auto known = call(admin_, "POST", "/api/v1/roles/search", json::object{}).body;
    for (const auto& role : known.at("roles").as_array())
      roles_[std::string(role.at("name").as_string())] = id_in(role, "roleId");
  }
  static std::int64_t id_in(const json::value& object, const char* field) {
    return *json::to_int64(object.at(field));
  }
  std::int64_t id_of(const std::string& user) {
    return id_in(call(admin_, "GET", fmt::format("/api/v1/users/{}/by-username", user)).body.at("user"),
                 "id");
  }
  std::int64_t create(const std::string& name, const std::vector<std::string>& users) {
    json::array ids;
    for (const auto& user : users) ids.push_back(id_of(user));
    const auto made = call(admin_, "POST", "/api/v1/groups", {{"name", name}, {"addUsers", ids}});
    EXPECT_EQ(made.status, 200) << made.text;
    return id_in(made.body.at("group"), "groupId");
  }
  testing::Answer assign(std::int64_t group, const std::string& role, bool add = true) {
    json::object assignment{{"role", {{"roleId", roles_.at(role)}}}};
    if (role == "ClusterAdmin")
      assignment["scopeCluster"] = true;
    else
      assignment["scopeWorkspaceId"] = workspace_;
    return call(admin_, "POST", add ? "/api/v1/roles/add-assignments" : "/api/v1/roles/remove-assignments",
                {{"groupRoleAssignments",
                  json::array{json::object{{"groupId", group}, {"roleAssignment", assignment}}}}});
  }
  /// Whether the user may make a project in the workspace, which takes an Editor.
  bool edits(const std::string& token) {
    const auto made = call(token, "POST", fmt::format("/api/v1/workspaces/{}/projects", workspace_),
                           {{"name", fmt::format("p{}", ++projects_)}});
    EXPECT_TRUE(made.status == 200 || made.status == 403 || made.status == 404) << made.text;
    return made.status == 200;
  }
  std::string path(std::int64_t group) { return fmt::format("/api/v1/groups/{}", group); }
  std::string ann_, bob_;
  std::int64_t workspace_ = 0;
  int projects_ = 0;
  std::map<std::string, std::int64_t> roles_;
};

TEST_F(Groups, GiveTheirRolesToTheirUsersAsLongAsTheyAreInThem) {
  const auto group = create("seeing", {"ann"});
  EXPECT_FALSE(edits(ann_));
  ASSERT_EQ(assign(group, "Editor").status, 200);
  EXPECT_TRUE(edits(ann_));
  EXPECT_FALSE(edits(bob_));
  const json::object bob{{"addUsers", json::array{id_of("bob")}}, {"removeUsers", json::array{id_of("ann")}}};
  ASSERT_EQ(call(admin_, "PUT", path(group), bob).status, 200);
  restart();
  EXPECT_TRUE(edits(bob_));
  EXPECT_FALSE(edits(ann_));
  ASSERT_EQ(call(admin_, "DELETE", path(group)).status, 200);
  EXPECT_FALSE(edits(bob_));
  EXPECT_EQ(call(admin_, "GET", path(group)).status, 404);
}

TEST_F(Groups, AreShownWithTheirUsersAndTheirRoles) {
  const auto group = create("seeing", {"ann", "bob"});
  create("empty", {});
  assign(group, "Editor");
  const auto shown = call(ann_, "GET", path(group));
  EXPECT_THAT(shown.text, HasSubstr("\"username\":\"bob\""));
  const auto found =
      call(ann_, "POST", "/api/v1/groups/search", {{"userId", id_of("ann")}}).body.at("groups").as_array();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].at("group").at("name"), "seeing");
  EXPECT_EQ(*json::to_int64(found[0].at("numMembers")), 2);
  EXPECT_EQ(call(ann_, "POST", "/api/v1/groups/search", json::object{}).body.at("groups").as_array().size(),
            2U);
  const auto members = call(ann_, "GET", fmt::format("/api/v1/roles/workspace/{}", workspace_)).body;
  EXPECT_EQ(members.at("groups").as_array().at(0).at("name"), "seeing");
  const auto own = call(ann_, "GET", fmt::format("/api/v1/roles/search/by-group/{}", group));
  EXPECT_THAT(own.text, HasSubstr("\"name\":\"Editor\""));
  EXPECT_THAT(call(ann_, "GET", "/api/v1/permissions/summary").text, HasSubstr("\"name\":\"Editor\""));
}

TEST_F(Groups, ManyUsersArePutIntoManyAtOnceOrNoneIs) {
  const auto seeing = create("seeing", {"ann"}), hearing = create("hearing", {"ann", "bob"});
  const auto many = [&](const std::string& token, json::array add) {
    return call(token, "PATCH", "/api/v1/users/assignments",
                {{"userIds", {id_of("ann"), id_of("bob")}}, {"addGroups", add}, {"removeGroups", {hearing}}});
  };
  const auto members = [&](std::int64_t group) {
    return call(admin_, "GET", path(group)).body.at("group").at("users").as_array().size();
  };
  EXPECT_EQ(many(ann_, {seeing}).status, 403);
  const auto refused = many(admin_, {seeing, 99});
  EXPECT_EQ(refused.status, 404) << refused.text;
  EXPECT_EQ(members(seeing), 1u);
  EXPECT_EQ(members(hearing), 2u);
  EXPECT_EQ(many(admin_, {seeing}).status, 200);
  restart();
  EXPECT_EQ(members(seeing), 2u);
  EXPECT_EQ(members(hearing), 0u);
}

TEST_F(Groups, AreChangedByAdministratorsOnly) {
  const auto group = create("seeing", {"ann"});
  assign(group, "Editor");
  EXPECT_EQ(call(ann_, "POST", "/api/v1/groups", {{"name", "mine"}}).status, 403);
  EXPECT_EQ(call(ann_, "PUT", path(group), {{"addUsers", json::array{id_of("bob")}}}).status, 403);
  EXPECT_EQ(call(ann_, "DELETE", path(group)).status, 403);
}

TEST_F(Groups, KeepTheLastAdministrator) {
  const auto group = create("admins", {"ann"});
  ASSERT_EQ(assign(group, "ClusterAdmin").status, 200);
  const json::object from_admin{
      {"userRoleAssignments", json::array{json::object{{"userId", id_of("admin")},
                                                       {"roleAssignment",
                                                        {{"role", {{"roleId", roles_.at("ClusterAdmin")}}},
                                                         {"scopeCluster", true}}}}}}};
  ASSERT_EQ(call(admin_, "POST", "/api/v1/roles/remove-assignments", from_admin).status, 200);
  const std::string last = "this change would remove the last ClusterAdmin";
  EXPECT_THAT(call(ann_, "PUT", path(group), {{"removeUsers", json::array{id_of("ann")}}}).text,
              HasSubstr(last));
  EXPECT_THAT(call(ann_, "DELETE", path(group)).text, HasSubstr(last));
  EXPECT_THAT(call(ann_, "PATCH", fmt::format("/api/v1/users/{}", id_of("ann")), {{"active", false}}).text,
              HasSubstr("last active ClusterAdmin"));
}

TEST_F(Groups, SayWhatIsWrong) {
  const auto group = create("seeing", {});
  EXPECT_THAT(call(admin_, "POST", "/api/v1/groups", {{"name", "seeing"}}).text,
              HasSubstr("group 'seeing' already exists"));
  EXPECT_THAT(call(admin_, "POST", "/api/v1/groups", {{"name", " "}}).text, HasSubstr("is not valid"));
  EXPECT_THAT(call(admin_, "POST", "/api/v1/groups", {{"name", "x"}, {"addUsers", json::array{99}}}).text,
              HasSubstr("user '99' not found"));
  EXPECT_THAT(call(admin_, "PUT", path(group), {{"removeUsers", json::array{id_of("ann")}}}).text,
              HasSubstr("is not in group 'seeing'"));
  EXPECT_EQ(call(admin_, "PUT", path(77), {{"name", "x"}}).status, 404);
  EXPECT_THAT(assign(77, "Editor").text, HasSubstr("group 77 not found"));
  EXPECT_THAT(assign(group, "Editor", false).text, HasSubstr("does not have role Editor there"));
}

}  // namespace
}  // namespace det::master
