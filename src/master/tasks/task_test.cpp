// Commands, notebooks, shells and TensorBoards over HTTP.

#include <gmock/gmock.h>

#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TaskTest : public testing::MasterTest {
 protected:
  /// Starts one; its id.
  std::string start_task(const std::string& plural, json::object body) {
    const auto answer = call(user_, "POST", "/api/v1/" + plural, body);
    EXPECT_EQ(answer.status, 200) << answer.text;
    if (answer.status != 200) return "";
    return std::string(answer.body.at(plural.substr(0, plural.size() - 1)).at("id").get_string());
  }
  std::string command(const std::string& config = "{entrypoint: [echo, hi], resources: {slots: 0}}") {
    return start_task("commands", {{"config", config}});
  }
  json::value shown(const std::string& id, const std::string& plural = "commands") {
    return call(user_, "GET", fmt::format("/api/v1/{}/{}", plural, id))
        .body.at(plural.substr(0, plural.size() - 1));
  }
  std::string text(const json::value& object, const char* name) {
    return std::string(object.at(name).get_string());
  }
  void running(const api::DesiredAllocation& task) {
    sync("a", 1,
         {{.allocation_id = task.allocation_id,
           .state = api::AllocationState::running,
           .exits = {},
           .addresses = {"10.0.0.9"}}});
  }
};

TEST_F(TaskTest, ACommandGoesToAnAgentWithItsEnvironmentAndEndsWithItsStatus) {
  sync("a", 1);
  const auto id = command(
      "{entrypoint: [echo, hi], description: greets, environment: {environment_variables: [A=1, "
      "DET_USER=x]}}");
  const auto wanted = sync("a", 1).desired.at(0);
  EXPECT_EQ(wanted.task_id, id);
  EXPECT_EQ(wanted.framework, api::kCommandFramework);
  EXPECT_THAT(wanted.command, ElementsAre("echo", "hi"));
  EXPECT_EQ(wanted.environment.at("DET_TASK_TYPE"), "COMMAND");
  EXPECT_EQ(wanted.environment.at("DET_USER"), "determined") << "not what the configuration says";
  EXPECT_EQ(wanted.environment.at("A"), "1");
  running(wanted);
  EXPECT_EQ(text(shown(id), "state"), "STATE_RUNNING");
  EXPECT_EQ(call(user_, "GET", "/api/v1/tasks/count").body.at("commands").to_number<int>(), 1);
  exit("a", 1, wanted.allocation_id, 3);
  const auto over = shown(id);
  EXPECT_EQ(text(over, "state"), "STATE_TERMINATED");
  EXPECT_EQ(text(over, "exitStatus"), "exited with status 3");
  EXPECT_EQ(over.at("exitCode").to_number<int>(), 3);
  const auto task = call(user_, "GET", "/api/v1/tasks/" + id).body.at("task");
  EXPECT_EQ(text(task, "taskType"), "TASK_TYPE_COMMAND");
  EXPECT_EQ(task.at("allocations").at(0).at("statusCode").to_number<int>(), 3);
  EXPECT_EQ(text(task.at("allocations").at(0), "state"), "STATE_TERMINATED");
  const auto run = call(user_, "GET", "/api/v1/allocations/" + wanted.allocation_id);
  EXPECT_EQ(run.body.at("allocation"), task.at("allocations").at(0));
  EXPECT_EQ(call(user_, "GET", fmt::format("/api/v1/allocations/{}9", wanted.allocation_id)).status, 404);
  const auto log = call(user_, "GET", fmt::format("/api/v1/tasks/{}/logs?limit=1", id)).text;
  EXPECT_THAT(log,
              ::testing::HasSubstr(fmt::format("Z] {} || INFO: command {} starts", id.substr(0, 8), id)));
}

TEST_F(TaskTest, SurvivesARestartOfTheMasterWithItsAddress) {
  sync("a", 1);
  const auto id = start_task("notebooks", {{"config", "resources: {slots: 1}"}});
  const auto wanted = sync("a", 1).desired.at(0);
  EXPECT_EQ(wanted.framework, api::kPythonFramework);
  EXPECT_THAT(wanted.command, ElementsAre("-m", "determined.exec.notebook"));
  EXPECT_EQ(wanted.environment.at("DET_PROXY_PATH"), "/proxy/" + id + "/");
  running(wanted);
  const auto ready = fmt::format("/api/v1/tasks/{}/ready", id);
  EXPECT_EQ(call(wanted.token, "POST", ready, json::object{{"port", 4000}}).status, 200);
  restart();
  EXPECT_EQ(sync("a", 1).desired.at(0).allocation_id, wanted.allocation_id);
  EXPECT_TRUE(shown(id, "notebooks").at("isReady").as_bool());
  EXPECT_EQ(text(shown(id, "notebooks"), "serviceAddress"), "/proxy/" + id + "/");
  const auto tasks = call(user_, "GET", "/api/v1/tasks").body.at("allocationIdToSummary").get_object();
  EXPECT_EQ(tasks.at(wanted.allocation_id).at("proxyPorts").at(0).at("port").to_number<int>(), 4000);
  const auto older = call(user_, "GET", "/tasks").body.get_object();
  EXPECT_EQ(text(older.at(wanted.allocation_id), "task_id"), id);
}

TEST_F(TaskTest, OnlyItsOwnProgramSpeaksForATask) {
  sync("a", 2);
  const auto one = start_task("notebooks", {{"config", "resources: {slots: 1}"}});
  const auto two = start_task("shells", {{"config", "resources: {slots: 1}"}});
  std::map<std::string, api::DesiredAllocation> wanted;
  for (const auto& allocation : sync("a", 2).desired) wanted[allocation.task_id] = allocation;
  const json::object port{{"port", 4000}};
  const auto path = fmt::format("/api/v1/tasks/{}/ready", one);
  EXPECT_EQ(call(wanted[two].token, "POST", path, port).status, 403);
  EXPECT_EQ(call(user_, "POST", path, port).status, 403);
  EXPECT_EQ(call(wanted[one].token, "POST", path, json::object{{"port", 70000}}).status, 400);
  EXPECT_EQ(call(wanted[one].token, "POST", path, json::object{}).status, 400);
  EXPECT_EQ(call(wanted[one].token, "POST", path, port).status, 200);
  EXPECT_EQ(call(wanted[one].token, "POST", "/api/v1/trials/0/progress",
                 json::object{{"progress", 1}, {"is_raw", true}})
                .status,
            403);
  EXPECT_EQ(call(wanted[one].token, "POST", "/api/v1/checkpoints", json::object{{"uuid", "c"}}).status, 403);
  exit("a", 2, wanted[one].allocation_id, 0);
  EXPECT_EQ(call(wanted[one].token, "POST", path, port).status, 410);
}

TEST_F(TaskTest, IsKilledByWhoeverIsLoggedInWhichItsStatusSays) {
  const auto eve = make_user("eve");
  const auto mine = command(), other = command();
  const auto kill = [](const std::string& id) { return fmt::format("/api/v1/commands/{}/kill", id); };
  EXPECT_EQ(
      call(eve, "POST", fmt::format("/api/v1/commands/{}/set_priority", mine), json::object{{"priority", 1}})
          .status,
      200);
  EXPECT_EQ(call(eve, "POST", kill(mine)).status, 200);
  EXPECT_EQ(call(user_, "POST", kill(mine)).status, 200) << "it is over, and stays so";
  EXPECT_EQ(text(shown(mine), "exitStatus"), "killed by user eve");
  EXPECT_EQ(call(admin_, "POST", fmt::format("/api/v1/tasks/{}/kill", other)).status, 200);
  EXPECT_EQ(text(shown(other), "exitStatus"), "killed by user admin");
  EXPECT_EQ(call(user_, "POST", kill("nobody")).status, 404);
  EXPECT_EQ(call(user_, "POST", fmt::format("/api/v1/shells/{}/kill", other)).status, 404)
      << "it is a command";
}

TEST_F(TaskTest, AShellHasTheAccountOfItsAgentsBeforeItRuns) {
  const auto calls_as = [&](const std::string& agent, const char* account) {
    api::SyncRequest request{.session = agent, .sequence = 1, .version = "1", .hostname = agent};
    request.resource_pool = "default";
    request.user = account;
    call(agent_token(), "POST", fmt::format("/api/v1/agents/{}/sync", agent), http::to_wire(request));
  };
  const auto account = [&] {
    const auto shell = call(user_, "POST", "/api/v1/shells", {{"config", "resources: {slots: 1}"}});
    EXPECT_EQ(shell.status, 200) << shell.text;
    return shell.body.at("shell").at("agentUserGroup").at("user");
  };
  EXPECT_EQ(account(), "root") << "no agent has called yet";
  calls_as("a", "worker");
  EXPECT_EQ(account(), "worker");
  calls_as("b", "someone");
  EXPECT_EQ(account(), "root") << "they differ";
}

TEST_F(TaskTest, ListsAreOfOneKindByOwnerAndPage) {
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(command());
  start_task("shells", {{"config", json::object{}}});
  const auto listed = [&](const std::string& query) {
    std::vector<std::string> found;
    const auto answer = call(user_, "GET", "/api/v1/commands" + query);
    for (const auto& one : answer.body.at("commands").get_array())
      found.emplace_back(one.at("id").get_string());
    return found;
  };
  EXPECT_EQ(listed(""), ids);
  EXPECT_EQ(listed("?users=me"), ids);
  EXPECT_TRUE(listed("?users=admin").empty());
  EXPECT_TRUE(listed("?userIds=1").empty());
  EXPECT_EQ(listed("?limit=1&offset=1"), std::vector{ids[1]});
  EXPECT_EQ(listed("?orderBy=ORDER_BY_DESC&limit=1"), std::vector{ids[2]});
}

TEST_F(TaskTest, WaitsInTheQueueWithAReasonBesideExperiments) {
  sync("a", 1);
  submit();
  const auto id = command("{entrypoint: [sleep, a], description: later}");
  const auto jobs = call(user_, "GET", "/api/v1/job-queues-v2").body.at("jobs").get_array();
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(text(jobs[1].at("full"), "type"), "TYPE_COMMAND");
  EXPECT_EQ(text(jobs[1].at("full"), "entityId"), id);
  EXPECT_THAT(text(jobs[1].at("full"), "waitingReason"), HasSubstr("needs 1 slot"));
  const auto why = call(user_, "GET", fmt::format("/api/v1/job-queues/{}/why", id)).body;
  EXPECT_THAT(text(why, "explanation"), HasSubstr("it is waiting: needs 1 slot"));
  EXPECT_THAT(text(shown(id), "waitingReason"), HasSubstr("needs 1 slot"));
  const auto update = [&](json::object change) {
    change["jobId"] = id;
    return call(user_, "POST", "/api/v1/job-queues", json::object{{"updates", json::array{change}}}).status;
  };
  EXPECT_EQ(update({{"priority", 7}}), 200);
  EXPECT_EQ(shown(id).at("priority").to_number<int>(), 7);
  EXPECT_EQ(update({{"aheadOf", "1"}}), 200);
  EXPECT_EQ(update({{"resourcePool", "default"}}), 400);
  EXPECT_EQ(text(call(user_, "GET", "/api/v1/job-queues").body.at("jobs").at(0), "entityId"), id);
}

TEST_F(TaskTest, WhatIsWrongIsRefusedInWords) {
  struct Case {
    std::string plural;
    json::object body;
    int status;
    std::string problem;
  };
  const Case cases[] = {
      {"commands", {}, 400, "entrypoint must be non-empty"},
      {"commands",
       {{"config",
         {{"entrypoint", {"x"}}, {"bind_mounts", {{{"host_path", "/a"}, {"container_path", "."}}}}}}},
       400,
       "container_path must not be"},
      {"commands",
       {{"config", {{"entrypoint", {"x"}}}}, {"templateName", "none"}},
       404,
       "template 'none' not found"},
      {"commands",
       {{"config", {{"entrypoint", {"x"}}}}, {"workspaceId", 77}},
       404,
       "workspace '77' not found"},
      {"commands",
       {{"config", {{"entrypoint", {"x"}}}}, {"files", {{{"path", "../x"}, {"content", ""}}}}},
       400,
       "is outside the submitted directory"},
      {"tensorboards", {{"config", json::object{}}}, 400, "must set experiment or trial ids"},
      {"tensorboards", {{"experimentIds", {9}}}, 404, "experiment '9' not found"},
      {"tensorboards", {{"trialIds", {9}}}, 404, "trial '9' not found"},
  };
  for (const auto& c : cases) {
    const auto answer = call(user_, "POST", "/api/v1/" + c.plural, c.body);
    EXPECT_EQ(answer.status, c.status) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(c.problem));
  }
}

TEST_F(TaskTest, APreviewStartsNothingAndATemplateLiesBelow) {
  ASSERT_EQ(call(user_, "PUT", "/api/v1/templates/free",
                 json::object{{"config", {{"resources", {{"slots", 0}, {"priority", 3}}}}}})
                .status,
            200);
  const json::object body{{"config", {{"entrypoint", {"x"}}}}, {"templateName", "free"}, {"preview", true}};
  const auto answer = call(user_, "POST", "/api/v1/commands", body);
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.body.at("config").at("resources").at("priority").to_number<int>(), 3);
  EXPECT_TRUE(call(user_, "GET", "/api/v1/commands").body.at("commands").get_array().empty());
}

TEST_F(TaskTest, ADirectoryIsPassedOnAndWhatIsMountedNowhereIsWarnedAbout) {
  const auto answer = call(user_, "POST", "/api/v1/commands",
                           {{"config",
                             "{entrypoint: [ls], resources: {slots: 0}, work_dir: /srv, bind_mounts: "
                             "[{host_path: /tmp, container_path: /mnt}]}"}});
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_THAT(std::string(answer.body.at("configWarnings").at(0).get_string()),
              HasSubstr("/tmp is not mounted at /mnt"));
  EXPECT_EQ(sync("a", 1).desired.at(0).work_dir, "/srv");
}

TEST_F(TaskTest, FilesGoWithItAndComeBack) {
  const auto id = start_task("commands", {{"config", {{"entrypoint", {"x"}}, {"resources", {{"slots", 0}}}}},
                                          {"files", {{{"path", "a.txt"}, {"content", "aGk="}}}}});
  EXPECT_FALSE(sync("a", 1).desired.at(0).model_definition.empty());
  const auto path = fmt::format("/api/v1/tasks/{}/context_directory", id);
  EXPECT_FALSE(text(call(user_, "GET", path).body, "b64Tgz").empty());
  const auto bare = command();
  EXPECT_EQ(text(call(user_, "GET", fmt::format("/api/v1/tasks/{}/context_directory", bare)).body, "b64Tgz"),
            "");
  EXPECT_THAT(text(call(user_, "GET", fmt::format("/api/v1/tasks/{}/config", bare)).body, "config"),
              HasSubstr("echo"));
}

}  // namespace
}  // namespace det::master
