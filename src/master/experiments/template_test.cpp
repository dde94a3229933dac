// Templates over HTTP.

#include "det/master/testing.h"

namespace det::master {
namespace {

class TemplateTest : public testing::MasterTest {
 protected:
  std::string yaml_after(const json::value& config) {
    const auto put = call(user_, "PUT", "/api/v1/templates/small", json::object{{"config", config}});
    EXPECT_EQ(put.status, 200) << put.text;
    return std::string(
        call(user_, "GET", "/api/v1/templates/small").body.at("template").at("yaml").get_string());
  }
};

TEST_F(TemplateTest, WhatWasWrittenComesBackAsItWasWithItsComments) {
  const std::string text = "# one is enough\nresources:\n  slots_per_trial: 1\n";
  EXPECT_EQ(yaml_after(json::value(text)), text);
  const auto shown = call(user_, "GET", "/api/v1/templates/small").body.at("template");
  EXPECT_EQ(shown.at("config").at("resources").at("slots_per_trial").to_number<int>(), 1);
}

TEST_F(TemplateTest, AnObjectComesBackAsYamlThatMeansTheSame) {
  EXPECT_EQ(yaml_after(json::object{{"hyperparameters", {{"lr", 1.0}, {"layers", 1}}}}),
            "hyperparameters:\n  layers: 1\n  lr: 1.0\n");
}

TEST_F(TemplateTest, WhatNoConfigurationHasIsRefusedWithItsLine) {
  const auto put = [&](const char* text) {
    return call(user_, "PUT", "/api/v1/templates/small", json::object{{"config", text}});
  };
  const auto wrong = put("max_restarts: 2\nresources:\n  slots_per_trail: 1\n");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_NE(wrong.text.find("<template>.resources (line 3)"), std::string::npos) << wrong.text;
  EXPECT_NE(wrong.text.find("did you mean"), std::string::npos) << wrong.text;
  EXPECT_EQ(call(user_, "GET", "/api/v1/templates/small").status, 404);
  EXPECT_EQ(call(user_, "PUT", "/api/v1/templates/%20", json::object{{"config", "{}"}}).status, 400);
  EXPECT_EQ(put("resources: {slots: 2}\nidle_timeout: 10m\n").status, 200) << "of a notebook";
  EXPECT_EQ(put("checkpoint_storage: {save_trial_best: 2}\n").status, 200) << "its type is the master's";
}

TEST_F(TemplateTest, IsCreatedOnceChangedWhereItIsAndRemovedOnce) {
  const json::object body{{"config", "max_restarts: 2\n"}};
  EXPECT_EQ(call(user_, "PATCH", "/api/v1/templates/small", json::object{{"max_restarts", 3}}).status, 404);
  EXPECT_EQ(call(user_, "POST", "/api/v1/templates/small", body).status, 200);
  const auto again = call(user_, "POST", "/api/v1/templates/small", body);
  EXPECT_EQ(again.status, 409);
  EXPECT_NE(again.text.find("template 'small' already exists"), std::string::npos) << again.text;
  EXPECT_EQ(call(user_, "PATCH", "/api/v1/templates/small", json::object{{"max_restarts", 3}}).status, 200);
  const auto rename = [&](const char* from, const char* to) {
    return call(user_, "PATCH", "/api/v1/template/rename", json::object{{"oldName", from}, {"newName", to}});
  };
  EXPECT_EQ(rename("small", "tiny").body.at("template").at("name"), "tiny");
  EXPECT_EQ(rename("small", "tiny").status, 404);
  call(user_, "POST", "/api/v1/templates/other", body);
  EXPECT_EQ(rename("other", "tiny").status, 409);
  EXPECT_EQ(rename("tiny", " ").status, 400);
  EXPECT_EQ(rename("tiny", "small").body.at("template").at("config").at("max_restarts"), 3);
  EXPECT_EQ(call(user_, "DELETE", "/api/v1/templates/small").status, 200);
  EXPECT_EQ(call(user_, "DELETE", "/api/v1/templates/small").status, 404);
}

TEST_F(TemplateTest, IsInAWorkspaceWhereItIsListedAndWithWhichItGoes) {
  const auto made = call(user_, "POST", "/api/v1/workspaces", {{"name", "vision"}}).body.at("workspace");
  const auto vision = *json::to_int64(made.at("id"));
  const auto config = json::object{{"max_restarts", 2}};
  const auto post = [&](const char* name, const json::value& workspace) {
    return call(user_, "POST", fmt::format("/api/v1/templates/{}", name),
                json::object{{"name", name}, {"config", config}, {"workspaceId", workspace}});
  };
  EXPECT_EQ(post("theirs", vision).body.at("template").at("workspaceId"), vision);
  EXPECT_EQ(post("common", 0).body.at("template").at("workspaceId"), 1) << "\"Uncategorized\"";
  EXPECT_EQ(post("lost", 99).status, 404);
  const auto names_in = [&](std::int64_t workspace) {
    std::vector<std::string> names;
    const auto path = fmt::format("/api/v1/templates?workspaceIds={}", workspace);
    const auto listed = call(user_, "GET", path).body;
    for (const auto& one : listed.at("templates").as_array()) names.emplace_back(one.at("name").as_string());
    return names;
  };
  EXPECT_EQ(names_in(vision), std::vector<std::string>{"theirs"});
  EXPECT_EQ(names_in(1), std::vector<std::string>{"common"});
  const auto changed = call(user_, "PATCH", "/api/v1/templates/theirs", json::object{{"max_restarts", 3}});
  EXPECT_EQ(changed.body.at("template").at("workspaceId"), vision) << "a change leaves it where it is";
  restart();
  EXPECT_EQ(names_in(vision), std::vector<std::string>{"theirs"});
  EXPECT_EQ(call(user_, "POST", fmt::format("/api/v1/workspaces/{}/archive", vision)).status, 200);
  EXPECT_NE(post("late", vision).text.find("workspace 'vision' is archived"), std::string::npos);
  EXPECT_EQ(call(user_, "DELETE", fmt::format("/api/v1/workspaces/{}", vision)).status, 200);
  EXPECT_EQ(call(user_, "GET", "/api/v1/templates/theirs").status, 404);
  EXPECT_EQ(call(user_, "GET", "/api/v1/templates/common").status, 200);
}

}  // namespace
}  // namespace det::master
