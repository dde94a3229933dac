// Generic tasks over HTTP.

#include <gmock/gmock.h>

#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::HasSubstr;

class GenericTaskTest : public testing::MasterTest {
 protected:
  testing::Answer post(json::object body, const std::string& token = "") {
    return call(token.empty() ? user_ : token, "POST", "/api/v1/generic-tasks", body);
  }
  std::string create(json::object body = {}) {
    body.emplace("config", "{entrypoint: [echo, hi], resources: {slots: 0}}");
    const auto answer = post(std::move(body));
    EXPECT_EQ(answer.status, 200) << answer.text;
    return answer.status == 200 ? text(answer.body, "taskId") : "";
  }
  testing::Answer command(const std::string& id, const char* verb, json::object body = {}) {
    return call(user_, "POST", fmt::format("/api/v1/tasks/{}/{}", id, verb), body);
  }
  json::value shown(const std::string& id) {
    return call(user_, "GET", "/api/v1/tasks/" + id).body.at("task");
  }
  std::string state(const std::string& id) {
    return text(shown(id), "taskState").substr(std::string_view("GENERIC_TASK_STATE_").size());
  }
  std::string text(const json::value& object, const char* name) {
    return std::string(object.at(name).get_string());
  }
  api::DesiredAllocation wanted(const std::string& id) {
    for (const auto& one : sync("a", 1).desired)
      if (one.task_id == id) return one;
    ADD_FAILURE() << "the agent shall run nothing of " << id;
    return {};
  }
  /// Tells the master that its process has begun.
  api::DesiredAllocation run(const std::string& id) {
    auto task = wanted(id);
    sync("a", 1,
         {{.allocation_id = task.allocation_id,
           .state = api::AllocationState::running,
           .exits = {},
           .addresses = {}}});
    return task;
  }
};

TEST_F(GenericTaskTest, RunsLikeACommandAndShowsWhatItIs) {
  const auto id = create({{"contextDirectory", {{{"path", "a.txt"}, {"content", "aGk="}}}}});
  const auto task = run(id);
  EXPECT_EQ(task.environment.at("DET_TASK_TYPE"), "GENERIC");
  EXPECT_FALSE(task.model_definition.empty());
  EXPECT_EQ(state(id), "ACTIVE");
  const auto all = call(user_, "GET", "/api/v1/tasks").body.at("allocationIdToSummary");
  EXPECT_EQ(text(all.at(task.allocation_id), "type"), "generic");
  const auto jobs = call(user_, "GET", "/api/v1/job-queues-v2").body.at("jobs");
  EXPECT_EQ(text(jobs.at(0).at("full"), "type"), "TYPE_GENERIC");
  exit("a", 1, task.allocation_id, 0);
  const auto over = shown(id);
  EXPECT_EQ(text(over, "taskType"), "TASK_TYPE_GENERIC");
  EXPECT_EQ(text(over, "taskState"), "GENERIC_TASK_STATE_COMPLETED");
  EXPECT_THAT(text(over, "config"), HasSubstr("echo"));
  EXPECT_FALSE(over.at("noPause").get_bool());
  const auto failed = create();
  exit("a", 1, run(failed).allocation_id, 3);
  EXPECT_EQ(state(failed), "ERROR");
}

TEST_F(GenericTaskTest, PausedItIsSentASignalAndResumedItRunsAgainAlsoAfterARestart) {
  const auto id = create();
  const auto first = run(id);
  ASSERT_EQ(command(id, "pause").status, 200);
  EXPECT_EQ(state(id), "STOPPING_PAUSED");
  EXPECT_TRUE(wanted(id).kill);
  exit("a", 1, first.allocation_id, 143);
  EXPECT_EQ(state(id), "PAUSED");
  restart();
  EXPECT_EQ(state(id), "PAUSED");
  const auto all = call(user_, "GET", "/api/v1/tasks").body.at("allocationIdToSummary");
  EXPECT_EQ(text(all.at(first.allocation_id), "state"), "Paused") << "it is found to be resumed";
  EXPECT_TRUE(call(user_, "GET", "/api/v1/job-queues-v2").body.at("jobs").get_array().empty());
  ASSERT_EQ(command(id, "unpause").status, 200);
  const auto second = run(id);
  EXPECT_EQ(second.allocation_id, id + ".2");
  EXPECT_EQ(state(id), "ACTIVE");
  exit("a", 1, second.allocation_id, 0);
  EXPECT_EQ(state(id), "COMPLETED");
  EXPECT_EQ(shown(id).at("allocations").get_array().size(), 2u);
  const auto late = command(id, "pause");
  EXPECT_EQ(late.status, 400) << late.text;
  EXPECT_THAT(late.text, HasSubstr("has ended: exited with status 0"));
}

TEST_F(GenericTaskTest, OneThatAsksIsToldAndHasTimeToLeave) {
  for (const bool acknowledges : {true, false}) {
    const auto id = create();
    const auto task = run(id);
    const auto signal = fmt::format("/api/v1/allocations/{}/signals/", task.allocation_id);
    const auto asked = [&] { return call(task.token, "GET", signal + "preemption").body.at("preempt"); };
    EXPECT_EQ(asked(), json::value(false));
    ASSERT_EQ(command(id, "pause").status, 200);
    EXPECT_FALSE(wanted(id).kill) << "it may leave by itself";
    EXPECT_EQ(asked(), json::value(true));
    if (acknowledges) {
      EXPECT_EQ(call(task.token, "POST", signal + "ack_preemption").status, 200);
    }
    exit("a", 1, task.allocation_id, 0);
    EXPECT_EQ(state(id), acknowledges ? "PAUSED" : "COMPLETED");
  }
}

TEST_F(GenericTaskTest, WhatCannotBePausedSaysWhy) {
  const auto refusal = [&](const std::string& id) {
    const auto answer = command(id, "pause");
    EXPECT_EQ(answer.status, 400) << answer.text;
    return answer.text;
  };
  EXPECT_THAT(refusal(create({{"noPause", true}})), HasSubstr("created with noPause"));
  EXPECT_THAT(refusal(create({{"config", "{entrypoint: [x], pausable: false}"}})), HasSubstr("pausable"));
  const auto started = call(user_, "POST", "/api/v1/commands", {{"config", {{"entrypoint", {"x"}}}}});
  EXPECT_THAT(refusal(text(started.body.at("command"), "id")), HasSubstr("only generic tasks can"));
  EXPECT_EQ(command("none", "pause").status, 404);
}

TEST_F(GenericTaskTest, AChildEndsWithItsParentAndTheWholeFamilyFromItsRoot) {
  const auto root = create();
  const auto child = create({{"parentId", root}});
  const auto grandchild = create({{"parentId", child}});
  const auto other = create({{"parentId", root}});
  EXPECT_EQ(text(shown(grandchild), "parentId"), child);
  ASSERT_EQ(command(child, "kill").status, 200);
  EXPECT_EQ(state(child), "CANCELED");
  EXPECT_EQ(state(grandchild), "CANCELED");
  EXPECT_EQ(state(root), "ACTIVE");
  const auto late = post({{"config", "entrypoint: x"}, {"parentId", child}});
  EXPECT_EQ(late.status, 400) << late.text;
  ASSERT_EQ(command(other, "pause").status, 200);
  ASSERT_EQ(command(other, "kill", {{"killFromRoot", true}}).status, 200);
  EXPECT_EQ(state(other), "CANCELED");
  EXPECT_EQ(state(root), "CANCELED");
}

TEST_F(GenericTaskTest, APauseIsForItsDescendantsToo) {
  const auto root = create();
  const auto child = create({{"parentId", root}});
  const auto fixed = create({{"parentId", root}, {"noPause", true}});
  ASSERT_EQ(command(root, "pause").status, 200);
  EXPECT_EQ(state(child), "PAUSED");
  EXPECT_EQ(state(fixed), "ACTIVE");
  ASSERT_EQ(command(root, "unpause").status, 200);
  EXPECT_EQ(state(child), "ACTIVE");
}

TEST_F(GenericTaskTest, AForkHasConfigurationAndFilesAndAChildMayInheritThem) {
  const json::array files{json::object{{"path", "a.txt"}, {"content", "aGk="}}};
  const auto id = create({{"config", "{entrypoint: [echo, forked], resources: {slots: 0}, description: d}"},
                          {"contextDirectory", files}});
  const auto archive = [&](const std::string& of) {
    return text(call(user_, "GET", fmt::format("/api/v1/tasks/{}/context_directory", of)).body, "b64Tgz");
  };
  const auto fork = create({{"config", ""}, {"forkedFrom", id}});
  EXPECT_EQ(text(shown(fork), "forkedFrom"), id);
  EXPECT_EQ(text(shown(fork), "config"), text(shown(id), "config"));
  EXPECT_EQ(archive(fork), archive(id));
  const auto child = create({{"parentId", id}, {"inheritContext", true}});
  EXPECT_EQ(archive(child), archive(id));
  EXPECT_EQ(archive(create({{"parentId", id}})), "");
}

TEST_F(GenericTaskTest, AllThatIsWrongIsSaidAtOnce) {
  const auto wrong = post({{"config", "resources: {slots: -1}\nwork_dir: x\n"}, {"inheritContext", true}});
  EXPECT_EQ(wrong.status, 400);
  for (const auto* problem : {"inheritContext is true, but parentId names no task", "slots must be >= 0",
                              "work_dir must be an absolute path", "entrypoint must be non-empty"})
    EXPECT_THAT(wrong.text, HasSubstr(problem));
  EXPECT_EQ(post({{"config", "entrypoint: x"}, {"parentId", "none"}}).status, 404);
  EXPECT_EQ(post({{"config", "entrypoint: x"}, {"projectId", 77}}).status, 404);
  const auto started = call(user_, "POST", "/api/v1/commands", {{"config", {{"entrypoint", {"x"}}}}});
  const auto strange =
      post({{"config", "entrypoint: x"}, {"parentId", text(started.body.at("command"), "id")}});
  EXPECT_EQ(strange.status, 400);
  EXPECT_THAT(strange.text, HasSubstr("a command; it must be a generic task"));
}

TEST_F(GenericTaskTest, IsCommandedByWhoeverIsLoggedInAndSoIsItsFamily) {
  const auto root = create();
  const auto eve = make_user("eve");
  const auto by_eve = [&](const char* verb) {
    return call(eve, "POST", fmt::format("/api/v1/tasks/{}/{}", root, verb), json::object{}).status;
  };
  EXPECT_EQ(by_eve("pause"), 200);
  EXPECT_EQ(state(root), "PAUSED");
  EXPECT_EQ(by_eve("unpause"), 200);
  EXPECT_EQ(post({{"config", "entrypoint: x"}, {"parentId", root}}, eve).status, 200);
  EXPECT_EQ(by_eve("kill"), 200);
}

}  // namespace
}  // namespace det::master
