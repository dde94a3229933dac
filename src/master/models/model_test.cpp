// Models and the workspaces that they are in, over HTTP.

#include <gmock/gmock.h>

#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::HasSubstr;

class ModelTest : public testing::MasterTest {
 protected:
  std::int64_t make_workspace(const std::string& name) {
    const auto made = call(admin_, "POST", "/api/v1/workspaces", {{"name", name}});
    return *json::to_int64(made.body.at("workspace").at("id"));
  }
  testing::Answer make_model(const std::string& token, const std::string& name,
                             const std::string& workspace) {
    return call(token, "POST", "/api/v1/models", {{"name", name}, {"workspaceName", workspace}});
  }
  testing::Answer move(const std::string& token, const std::string& model, std::int64_t workspace) {
    return call(token, "POST", "/api/v1/models/" + model + "/move", {{"destinationWorkspaceId", workspace}});
  }
  std::string names(const std::string& token, const std::string& query = "") {
    std::string text;
    const auto answer = call(token, "GET", "/api/v1/models?sortBy=SORT_BY_NAME" + query);
    EXPECT_EQ(answer.status, 200) << answer.text;
    for (const auto& model : answer.body.at("models").as_array())
      text += (text.empty() ? "" : " ") + std::string(model.at("name").get_string());
    return text;
  }
  std::int64_t place_of(const std::string& model) {
    return *json::to_int64(call(admin_, "GET", "/api/v1/models/" + model).body.at("model").at("workspaceId"));
  }
};

TEST_F(ModelTest, IsWhereItWasMadeOrMovedAlsoForTheNextMaster) {
  const auto vision = make_workspace("vision"), speech = make_workspace("speech");
  EXPECT_EQ(make_model(user_, "faces", "vision").status, 200);
  EXPECT_EQ(make_model(user_, "loose", "").status, 200);
  EXPECT_EQ(place_of("faces"), vision);
  EXPECT_EQ(place_of("loose"), 1);
  EXPECT_EQ(move(user_, "loose", speech).status, 200);
  EXPECT_EQ(call(user_, "PATCH", "/api/v1/models/faces", {{"workspaceName", "speech"}}).status, 200);
  restart();
  EXPECT_EQ(place_of("loose"), speech);
  EXPECT_EQ(place_of("faces"), speech);
}

TEST_F(ModelTest, IsListedByWorkspace) {
  const auto vision = make_workspace("vision");
  make_workspace("speech");
  for (const auto* workspace : {"vision", "speech"})
    make_model(user_, std::string("of-") + workspace, workspace);
  make_model(user_, "loose", "");
  EXPECT_EQ(names(user_), "loose of-speech of-vision");
  EXPECT_EQ(names(user_, "&workspaceNames=speech&workspaceNames=vision"), "of-speech of-vision");
  EXPECT_EQ(names(user_, fmt::format("&workspaceIds={}", vision)), "of-vision");
  EXPECT_EQ(names(user_, "&workspaceNames=nowhere"), "");
}

TEST_F(ModelTest, GoesIntoOpenWorkspacesOnlyAndKeepsItsOwnFromDeletion) {
  const auto vision = make_workspace("vision"), old = make_workspace("old");
  call(admin_, "POST", fmt::format("/api/v1/workspaces/{}/archive", old));
  EXPECT_THAT(make_model(user_, "m", "nowhere").text, HasSubstr("workspace 'nowhere' not found"));
  EXPECT_THAT(make_model(user_, "m", "old").text, HasSubstr("workspace 'old' is archived"));
  EXPECT_EQ(make_model(user_, "m", "vision").status, 200);
  EXPECT_THAT(move(user_, "m", old).text, HasSubstr("workspace 'old' is archived"));
  EXPECT_THAT(move(user_, "m", 99).text, HasSubstr("workspace 99 not found"));
  EXPECT_THAT(
      call(user_, "PATCH", "/api/v1/models/m", {{"workspaceId", vision}, {"workspaceName", "old"}}).text,
      HasSubstr("is workspace 'vision', but workspaceName is 'old'"));
  const auto path = fmt::format("/api/v1/workspaces/{}", vision);
  EXPECT_THAT(call(admin_, "DELETE", path).text, HasSubstr("has 1 model;"));
  move(user_, "m", 1);
  EXPECT_EQ(call(admin_, "DELETE", path).status, 200);
}

TEST_F(ModelTest, IsSeenAndMovedByThoseOnlyWhoHaveARoleThere) {
  const auto vision = make_workspace("vision"), speech = make_workspace("speech");
  const auto ann = make_user("ann");
  const auto assign = [&](int role, std::int64_t workspace) {
    const auto id = call(admin_, "GET", "/api/v1/users/ann/by-username").body.at("user").at("id");
    const json::object assignment{
        {"userId", id}, {"roleAssignment", {{"role", {{"roleId", role}}}, {"scopeWorkspaceId", workspace}}}};
    const auto done = call(admin_, "POST", "/api/v1/roles/add-assignments",
                           {{"userRoleAssignments", json::array{assignment}}});
    EXPECT_EQ(done.status, 200) << done.text;
  };
  make_model(admin_, "faces", "vision");
  make_model(admin_, "voices", "speech");
  assign(5, vision);  // Editor
  authz_ = access::Mode::Rbac;
  restart();
  EXPECT_EQ(names(ann), "faces");
  EXPECT_EQ(names(admin_), "faces voices");
  const auto hidden = call(ann, "GET", "/api/v1/models/voices");
  EXPECT_EQ(hidden.status, 404);
  EXPECT_THAT(hidden.text, HasSubstr("model 'voices' not found"));
  EXPECT_EQ(move(ann, "voices", vision).status, 404);
  EXPECT_EQ(move(ann, "faces", speech).status, 404) << "she does not know that workspace";
  EXPECT_EQ(make_model(ann, "mine", "vision").status, 200);
  EXPECT_EQ(make_model(ann, "theirs", "speech").status, 404);
  assign(4, speech);  // Viewer
  EXPECT_EQ(move(ann, "faces", speech).status, 403);
  EXPECT_EQ(call(ann, "PATCH", "/api/v1/models/faces", {{"workspaceId", speech}}).status, 403);
  EXPECT_EQ(names(ann), "faces mine voices");
}

}  // namespace
}  // namespace det::master
