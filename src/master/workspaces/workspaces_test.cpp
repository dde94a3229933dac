#include "det/master/workspaces/workspaces.h"

#include <fstream>

#include "det/master/testing.h"

namespace det::master {
namespace {

class WorkspacesTest : public testing::MasterTest {
 protected:
  std::int64_t make_workspace(const std::string& name) {
    const auto answer = call(user_, "POST", "/api/v1/workspaces", json::object{{"name", name}});
    EXPECT_EQ(answer.status, 200) << answer.text;
    return *json::to_int64(answer.body.at("workspace").at("id"));
  }
  json::value make_project(std::int64_t workspace, const std::string& name) {
    const auto answer = call(user_, "POST", fmt::format("/api/v1/workspaces/{}/projects", workspace),
                             json::object{{"name", name}, {"description", "about it"}});
    EXPECT_EQ(answer.status, 200) << answer.text;
    return answer.body.is_object() ? answer.body.at("project") : json::value(json::object{{"id", 0}});
  }
  testing::Answer move(std::int64_t experiment, const json::value& project) {
    return call(user_, "POST", fmt::format("/api/v1/experiments/{}/move", experiment),
                json::object{{"destinationProjectId", project}});
  }
};

TEST_F(WorkspacesTest, TheUncategorizedOnesAreAlwaysThereAndCannotBeChanged) {
  const auto all = call(user_, "GET", "/api/v1/workspaces").body.at("workspaces").as_array();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].at("name"), "Uncategorized");
  EXPECT_EQ(all[0].at("immutable"), true);
  for (const auto* path : {"/api/v1/workspaces/1", "/api/v1/projects/1"}) {
    EXPECT_EQ(call(admin_, "DELETE", path).status, 400) << path;
    EXPECT_EQ(call(admin_, "PATCH", path, json::object{{"name", "x"}}).status, 400) << path;
    EXPECT_EQ(call(admin_, "POST", std::string(path) + "/archive").status, 400) << path;
  }
}

TEST_F(WorkspacesTest, AnExperimentIsWhereItsConfigurationSaysAndMovesAliveAndFinished) {
  const auto team = make_workspace("team");
  const auto vision = make_project(team, "vision"), speech = make_project(team, "speech");
  EXPECT_EQ(vision.at("key"), "VIS");
  const auto id = submit("workspace: team\nproject: vision\n");
  EXPECT_EQ(experiment(id).at("projectName"), "vision");
  EXPECT_EQ(experiment(id).at("workspaceName"), "team");
  EXPECT_EQ(move(id, speech.at("id")).status, 200);
  EXPECT_EQ(experiment(id).at("projectId"), speech.at("id"));
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", id));
  EXPECT_EQ(move(id, vision.at("id")).status, 200);
  restart();
  EXPECT_EQ(experiment(id).at("projectId"), vision.at("id"));
  const auto in =
      call(user_, "GET", fmt::format("/api/v1/experiments?project_id={}", *json::to_int64(vision.at("id"))));
  EXPECT_EQ(in.body.at("experiments").as_array().size(), 1u);
  const auto shown = call(user_, "GET", fmt::format("/api/v1/projects/{}", *json::to_int64(vision.at("id"))));
  EXPECT_EQ(shown.body.at("project").at("numExperiments"), 1);
  EXPECT_EQ(shown.body.at("project").at("numRuns"), 1);
}

TEST_F(WorkspacesTest, TheStorageOfAWorkspaceIsThatOfItsExperimentsUnlessTheyNameTheirs) {
  const auto storage = [&](std::int64_t id) { return experiment(id).at("config").at("checkpoint_storage"); };
  const json::object own{{"type", "directory"}, {"container_path", "/vision"}, {"save_trial_best", 4}};
  const auto made = call(user_, "POST", "/api/v1/workspaces",
                         json::object{{"name", "vision"}, {"checkpointStorageConfig", own}});
  ASSERT_EQ(made.status, 200) << made.text;
  const auto id = *json::to_int64(made.body.at("workspace").at("id"));
  make_project(id, "cats");
  const auto there = storage(submit("workspace: vision\nproject: cats\n"));
  EXPECT_EQ(there.at("container_path"), "/vision");
  EXPECT_EQ(there.at("save_trial_best"), 4);
  const auto named = storage(submit(
      "workspace: vision\nproject: cats\ncheckpoint_storage: {type: directory, container_path: /mine}\n"));
  EXPECT_EQ(named.at("container_path"), "/mine");
  EXPECT_NE(storage(submit()).at("type"), "directory") << "elsewhere it is the cluster's";

  const auto path = fmt::format("/api/v1/workspaces/{}", id);
  const auto wrong =
      call(user_, "PATCH", path, json::object{{"checkpointStorageConfig", {{"type", "tape"}}}});
  EXPECT_EQ(wrong.status, 400);
  EXPECT_NE(wrong.text.find("checkpointStorageConfig is not valid"), std::string::npos) << wrong.text;
  const json::object secret{{"type", "s3"}, {"bucket", "b"}, {"secret_key", "hidden"}, {"access_key", "k"}};
  const auto changed = call(user_, "PATCH", path, json::object{{"checkpointStorageConfig", secret}});
  EXPECT_EQ(changed.status, 200) << changed.text;
  EXPECT_EQ(changed.text.find("hidden"), std::string::npos);
  call(user_, "PATCH", path, json::object{{"checkpointStorageConfig", nullptr}});
  EXPECT_EQ(storage(submit("workspace: vision\nproject: cats\n")).at("type"), "s3") << "null changes nothing";
  const auto reset = call(user_, "PATCH", path, json::object{{"checkpointStorageConfig", json::object()}});
  EXPECT_TRUE(reset.body.at("workspace").at("checkpointStorageConfig").is_null()) << reset.text;
  EXPECT_NE(storage(submit("workspace: vision\nproject: cats\n")).at("type"), "directory");
}

TEST_F(WorkspacesTest, TheAccountOfAWorkspaceStaysUntilItIsReset) {
  const json::object account{{"agentUid", 7}, {"agentUser", "ann"}};
  const auto made = call(user_, "POST", "/api/v1/workspaces",
                         json::object{{"name", "vision"}, {"agentUserGroup", account}});
  const auto path = fmt::format("/api/v1/workspaces/{}", *json::to_int64(made.body.at("workspace").at("id")));
  const auto after = [&](const json::value& group) {
    const auto answer = call(user_, "PATCH", path, json::object{{"agentUserGroup", group}});
    const auto* found = answer.body.at("workspace").get_object().if_contains("agentUserGroup");
    return found == nullptr ? json::value() : *found;
  };
  EXPECT_EQ(after(nullptr), json::value(account));
  EXPECT_EQ(after(json::object()), json::value());
}

TEST_F(WorkspacesTest, WhatDoesNotExistOrIsArchivedTakesNoExperiments) {
  const auto team = make_workspace("team");
  const auto vision = make_project(team, "vision");
  const auto id = submit();
  EXPECT_EQ(move(id, 99).status, 404);
  const auto config =
      "entrypoint: m:T\nhyperparameters: {global_batch_size: 8}\n"
      "searcher: {name: single, metric: loss, max_length: {batches: 1}}\nworkspace: team\nproject: visoin\n";
  const auto refused = call(user_, "POST", "/api/v1/experiments", json::object{{"config", config}});
  EXPECT_EQ(refused.status, 404);
  EXPECT_NE(refused.text.find("project 'visoin' not found in workspace 'team'"), std::string::npos)
      << refused.text;
  EXPECT_EQ(call(user_, "POST", fmt::format("/api/v1/workspaces/{}/archive", team)).status, 200);
  EXPECT_EQ(move(id, vision.at("id")).status, 400);
  EXPECT_EQ(experiment(id).at("projectId"), 1);
}

TEST_F(WorkspacesTest, WhatHoldsNothingIsGoneAtOnceAndItsIdIsNotGivenAgain) {
  const auto team = make_workspace("team");
  const auto project =
      fmt::format("/api/v1/projects/{}", *json::to_int64(make_project(team, "vision").at("id")));
  const auto id = submit("workspace: team\nproject: vision\n");
  EXPECT_EQ(move(id, 1).status, 200);
  EXPECT_EQ(call(user_, "DELETE", project).body.at("completed"), true);
  EXPECT_EQ(call(user_, "DELETE", fmt::format("/api/v1/workspaces/{}", team)).body.at("completed"), true);
  restart();
  EXPECT_EQ(call(user_, "GET", project).status, 404);
  EXPECT_GT(make_workspace("other"), team) << "an id is given once";
}

TEST_F(WorkspacesTest, WhatIsDeletedTakesItsFinishedExperimentsAlong) {
  const auto team = make_workspace("team");
  const auto vision = make_project(team, "vision");
  make_project(team, "speech");
  const auto project = fmt::format("/api/v1/projects/{}", *json::to_int64(vision.at("id")));
  const auto workspace = fmt::format("/api/v1/workspaces/{}", team);
  const auto first = submit("workspace: team\nproject: vision\n");
  const auto second = submit("workspace: team\nproject: speech\n");
  for (const auto& path : {project, workspace}) {
    const auto refused = call(user_, "DELETE", path);
    EXPECT_EQ(refused.status, 400);
    EXPECT_NE(refused.text.find(fmt::format("experiment {} is not finished", first)), std::string::npos)
        << refused.text;
  }
  for (const auto id : {first, second}) call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", id));
  const auto gone = [&](const std::string& path) { return call(user_, "GET", path).status == 404; };
  EXPECT_EQ(call(user_, "DELETE", project).body.at("completed"), false);
  const auto again = call(user_, "DELETE", project).status;
  EXPECT_TRUE(again == 200 || again == 404) << again;
  EXPECT_TRUE(comes_true([&] { return gone(project); }));
  EXPECT_TRUE(gone(fmt::format("/api/v1/experiments/{}", first)));
  EXPECT_EQ(call(user_, "DELETE", workspace).body.at("completed"), false);
  EXPECT_TRUE(comes_true([&] { return gone(workspace); }));
  EXPECT_TRUE(gone(fmt::format("/api/v1/experiments/{}", second)));
}

TEST_F(WorkspacesTest, ADeletionThatFailsIsToldAndOneThatIsInterruptedGoesOn) {
  const auto team = make_workspace("team");
  const auto vision = make_project(team, "vision");
  const auto project = fmt::format("/api/v1/projects/{}", *json::to_int64(vision.at("id")));
  const auto id = submit("workspace: team\nproject: vision\n");
  const auto task = sync("a", 1).desired.at(0);
  ASSERT_EQ(call(task.token, "POST", fmt::format("/api/v1/trials/{}/checkpoints/begin", task.trial_id),
                 json::object{{"uuid", "11111111-1111-4111-8111-111111111111"}})
                .status,
            200);
  const auto root = directory_ / "checkpoints";
  std::filesystem::remove_all(root);
  std::ofstream(root) << "no directory";
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", id));
  exit("a", 2, task.allocation_id, 0);
  ASSERT_EQ(call(user_, "DELETE", project).body.at("completed"), false);
  const auto shown = [&] { return call(user_, "GET", project).body.at("project"); };
  ASSERT_TRUE(comes_true([&] { return shown().at("state") == "WORKSPACE_STATE_DELETE_FAILED"; }))
      << json::serialize(shown());
  EXPECT_NE(json::serialize(shown().at("errorMessage")).find(fmt::format("experiment {} could", id)),
            std::string::npos);
  restart();
  EXPECT_EQ(shown().at("state"), "WORKSPACE_STATE_DELETE_FAILED");
  std::filesystem::remove(root);
  ASSERT_EQ(call(user_, "DELETE", project).status, 200);
  restart();
  EXPECT_TRUE(comes_true([&] { return call(user_, "GET", project).status == 404; }));
}

TEST_F(WorkspacesTest, NamesAndKeysAreTakenOnce) {
  const auto team = make_workspace("team");
  EXPECT_EQ(call(user_, "POST", "/api/v1/workspaces", json::object{{"name", "team"}}).status, 409);
  EXPECT_EQ(call(user_, "POST", "/api/v1/workspaces", json::object{{"name", " team"}}).status, 400);
  EXPECT_EQ(make_project(team, "vision").at("key"), "VIS");
  EXPECT_EQ(make_project(team, "visual").at("key"), "VIS1");
  EXPECT_EQ(make_project(team, "日本").at("key"), "P1");
  const auto path = fmt::format("/api/v1/workspaces/{}/projects", team);
  EXPECT_EQ(call(user_, "POST", path, json::object{{"name", "vision"}}).status, 409);
  EXPECT_EQ(call(user_, "POST", path, json::object{{"name", "x"}, {"key", "VIS"}}).status, 409);
  EXPECT_EQ(call(user_, "POST", path, json::object{{"name", "x"}, {"key", "too long"}}).status, 400);
}

TEST_F(WorkspacesTest, AreFoundByTheirWholeName) {
  const auto names = [this](const std::string& path, const char* list) {
    std::string found;
    const auto answer = call(user_, "GET", path);
    for (const auto& entry : answer.body.at(list).as_array())
      found += std::string(entry.at("name").get_string()) + " ";
    return found;
  };
  const std::string path = "/api/v1/workspaces";
  for (const auto* name : {"team 2", "Team", "team", "the team"}) make_workspace(name);
  EXPECT_EQ(names(path + "?nameCaseSensitive=team", "workspaces"), "team ");
  EXPECT_EQ(names(path + "?nameCaseSensitive=TEAM", "workspaces"), "");
  EXPECT_EQ(names(path + "?nameCaseSensitive=tea", "workspaces"), "");
  EXPECT_EQ(names(path + "?name=team", "workspaces"), "team ");
  EXPECT_EQ(names(path + "?name=TEAM", "workspaces"), "Team team ");
  EXPECT_EQ(names(path + "?name=tea", "workspaces"), "");
  const auto team = make_workspace("of projects");
  for (const auto* name : {"vision 2", "vision", "television"}) make_project(team, name);
  const auto projects = fmt::format("{}/{}/projects", path, team);
  EXPECT_EQ(names(projects + "?name=vision", "projects"), "vision ");
  EXPECT_EQ(names(projects + "?name=Vision", "projects"), "vision ");
  EXPECT_EQ(names(projects + "?name=visio", "projects"), "");
}

TEST_F(WorkspacesTest, OnlyOwnersAndAdministratorsChangeThem) {
  const auto made = call(admin_, "POST", "/api/v1/workspaces", json::object{{"name", "admins"}});
  const auto path = fmt::format("/api/v1/workspaces/{}", *json::to_int64(made.body.at("workspace").at("id")));
  EXPECT_EQ(call(user_, "PATCH", path, json::object{{"name", "x"}}).status, 403);
  EXPECT_EQ(call(user_, "POST", path + "/archive").status, 403);
  EXPECT_EQ(call(user_, "DELETE", path).status, 403);
  EXPECT_EQ(call(admin_, "PATCH", path, json::object{{"name", "x"}}).status, 200);
  EXPECT_EQ(call("", "GET", path).status, 401);
}

TEST_F(WorkspacesTest, TheProjectsOneLookedAtOrSubmittedIntoLastComeFirst) {
  const auto workspace = *json::to_int64(
      call(user_, "POST", "/api/v1/workspaces", {{"name", "vision"}}).body.at("workspace").at("id"));
  std::vector<std::int64_t> made;
  for (const auto* name : {"one", "two"}) {
    const auto answer =
        call(user_, "POST", fmt::format("/api/v1/workspaces/{}/projects", workspace), {{"name", name}});
    made.push_back(*json::to_int64(answer.body.at("project").at("id")));
  }
  const auto recent = [this] {
    std::string names;
    const auto answer = call(user_, "GET", "/api/v1/user/projects/activity");
    for (const auto& project : answer.body.at("projects").as_array())
      names += std::string(project.at("name").get_string()) + " ";
    return names;
  };
  const auto look = [this](std::int64_t project) {
    return call(user_, "POST", "/api/v1/users/activity",
                {{"activityType", "ACTIVITY_TYPE_GET"},
                 {"entityType", "ENTITY_TYPE_PROJECT"},
                 {"entityId", project}})
        .status;
  };
  EXPECT_EQ(recent(), "");
  EXPECT_EQ(look(made[0]), 200);
  EXPECT_EQ(look(made[1]), 200);
  submit("");
  EXPECT_EQ(recent(), "Uncategorized two one ");
  EXPECT_EQ(look(made[0]), 200);
  EXPECT_EQ(look(99), 404);
  restart();
  EXPECT_EQ(recent(), "one Uncategorized two ");
}

TEST_F(WorkspacesTest, PinsAndNotesAreKept) {
  const auto team = make_workspace("team");
  const auto path = fmt::format("/api/v1/workspaces/{}", team);
  EXPECT_EQ(call(user_, "POST", path + "/pin").status, 200);
  EXPECT_EQ(call(user_, "PUT", "/api/v1/projects/1/notes",
                 json::object{{"notes", json::array{json::object{{"name", "n"}, {"contents", "c"}}}}})
                .status,
            403)
      << "the administrator's";
  const auto project = make_project(team, "vision");
  const auto notes = fmt::format("/api/v1/projects/{}/notes", *json::to_int64(project.at("id")));
  call(user_, "POST", notes, json::object{{"name", "plan"}, {"contents", "train"}});
  restart();
  EXPECT_EQ(call(user_, "GET", path).body.at("workspace").at("pinned"), true);
  EXPECT_EQ(call(admin_, "GET", path).body.at("workspace").at("pinned"), false);
  const auto shown =
      call(user_, "GET", fmt::format("/api/v1/projects/{}", *json::to_int64(project.at("id"))));
  EXPECT_EQ(shown.body.at("project").at("notes").at(0).at("contents"), "train");
  EXPECT_EQ(call(user_, "POST", path + "/unpin").status, 200);
  EXPECT_EQ(call(user_, "GET", "/api/v1/workspaces?pinned=true").body.at("workspaces").as_array().size(), 0u);
}

}  // namespace
}  // namespace det::master
