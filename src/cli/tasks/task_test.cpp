// Commands, notebooks, shells and TensorBoards on the command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "det/cli/test_master.h"

namespace det::cli::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kOne = "12345678-0000-0000-0000-000000000001";
constexpr const char* kTwo = "12345678-0000-0000-0000-000000000002";

std::string one_of(const std::string& word, const std::string& more) {
  return fmt::format(R"({{"{}":{{"id":"{}",{}}},"config":{{"entrypoint":["x"]}}}})", word, kOne, more);
}

TEST(TaskCli, RunSendsTheWordsFollowsTheLogAndEndsWithTheStatusOfTheCommand) {
  TestMaster master;
  master.answer("POST /api/v1/commands", one_of("command", R"("state":"STATE_QUEUED")"));
  master.answer(
      fmt::format("GET /api/v1/commands/{}", kOne),
      one_of("command", R"("state":"STATE_TERMINATED","exitStatus":"exited with status 3","exitCode":3)"));
  master.answer("GET /api/v1/me", "{}");
  master.stream(fmt::format("GET /api/v1/tasks/{}/logs", kOne),
                {R"({"result":{"id":"1","message":"hi there\n"}})"});
  const auto done = run_words({"-m", master.url(), "cmd", "run", "--config", "resources.slots=0", "python",
                               "-c", "print(1)", "--config", "x"},
                              {});
  EXPECT_EQ(done.code, 3);
  EXPECT_THAT(done.out, HasSubstr("hi there"));
  EXPECT_THAT(done.err, HasSubstr("exited with status 3"));
  EXPECT_EQ(
      json::serialize(master.last_body("POST /api/v1/commands")),
      R"json({"config":{"resources":{"slots":0},"entrypoint":["python","-c","print(1)","--config","x"]}})json");
}

TEST(TaskCli, DetachedItPrintsTheIdAlone) {
  TestMaster master;
  master.answer("POST /api/v1/commands", one_of("command", R"("state":"STATE_QUEUED")"));
  const auto done = det("command run -d echo hi", master);
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.out, std::string(kOne) + "\n");
}

TEST(TaskCli, CommasInASettingMakeAList) {
  TestMaster master;
  master.answer("POST /api/v1/commands", one_of("command", R"("state":"STATE_QUEUED")"));
  EXPECT_EQ(det("cmd run -d --config environment.environment_variables=A=1,B=2 true", master).code, 0);
  EXPECT_EQ(json::serialize(master.last_body("POST /api/v1/commands")),
            R"({"config":{"environment":{"environment_variables":["A=1","B=2"]},"entrypoint":["true"]}})");
}

TEST(TaskCli, WhatCannotBeRunIsSaidBeforeTheMasterIsAsked) {
  TestMaster master;
  EXPECT_THAT(det("cmd run --config nokey true", master).err,
              HasSubstr("Could not read configuration option 'nokey'. Expecting: --config <key>=<value>"));
  EXPECT_THAT(det("command run", master).err, HasSubstr("no command given"));
  EXPECT_THAT(det("command run --nonsense echo", master).err, HasSubstr("unexpected option '--nonsense'"));
  for (const auto* words : {"command run", "command run --nonsense echo"})
    EXPECT_EQ(det(words, master).code, 2) << words;
  EXPECT_THAT(det("command run --help", master).out, HasSubstr("det command run [OPTIONS] [ENTRYPOINT...]"));
  EXPECT_THAT(det("tensorboard start", master).err,
              HasSubstr("Either experiment_ids or trial_ids must be specified."));
  EXPECT_TRUE(master.asked().empty());
}

TEST(TaskCli, APrefixNamesATaskWhereItIsTheOnlyOne) {
  TestMaster master;
  master.answer("GET /api/v1/shells",
                fmt::format(R"({{"shells":[{{"id":"{}"}},{{"id":"{}"}}]}})", kOne, kTwo));
  master.answer(fmt::format("POST /api/v1/shells/{}/kill", kTwo), "{}");
  EXPECT_THAT(det("shell kill 1234", master).err, HasSubstr("partial UUID '1234' not unique"));
  EXPECT_THAT(det("shell kill 9", master).err, HasSubstr("partial UUID '9' not found"));
  EXPECT_THAT(det(fmt::format("shell kill {}", kTwo), master).out,
              HasSubstr(fmt::format("Killed shell {}", kTwo)));
}

TEST(TaskCli, KillGoesOnAfterAnErrorOnlyWhereItIsTold) {
  TestMaster master;
  master.refuse(fmt::format("POST /api/v1/commands/{}/kill", kOne), 403, "it belongs to user 'ada'");
  master.answer(fmt::format("POST /api/v1/commands/{}/kill", kTwo), "{}");
  const auto stopped = det(fmt::format("cmd kill {} {}", kOne, kTwo), master);
  EXPECT_EQ(stopped.code, 1);
  EXPECT_THAT(stopped.err, HasSubstr(fmt::format("Cowardly not killing {}", kTwo)));
  const auto forced = det(fmt::format("cmd kill -f {} {}", kOne, kTwo), master);
  EXPECT_EQ(forced.code, 0);
  EXPECT_THAT(forced.err, HasSubstr("Skipping: it belongs to user 'ada'"));
  EXPECT_THAT(forced.out, HasSubstr(fmt::format("Killed command {}", kTwo)));
}

TEST(TaskCli, ListsAreTablesOrWhatTheApiSaid) {
  TestMaster master;
  master.answer(
      "GET /api/v1/tensorboards",
      fmt::format(
          R"({{"tensorboards":[{{"id":"{}","username":"ada","description":"d","state":"STATE_RUNNING","exitStatus":"","resourcePool":"default","experimentIds":[1,2],"trialIds":[]}}]}})",
          kOne));
  EXPECT_THAT(det("tensorboard list", master).out, HasSubstr("1, 2"));
  EXPECT_THAT(det("tensorboard list --csv", master).out, HasSubstr("Id,Owner,Description,State,Exit Status"));
  EXPECT_EQ(det("tensorboard ls -q", master).out, std::string(kOne) + "\n");
  EXPECT_THAT(master.asked().front(), HasSubstr("users=me"));
  det("tensorboard -a", master);
  EXPECT_THAT(master.asked().back(), Not(HasSubstr("users=me")));
}

TEST(TaskCli, StartWaitsUntilItIsReadyAndSaysWhere) {
  TestMaster master;
  master.answer("POST /api/v1/notebooks", one_of("notebook", R"("state":"STATE_QUEUED")"));
  master.answer(
      fmt::format("GET /api/v1/notebooks/{}", kOne),
      one_of("notebook", R"("state":"STATE_QUEUED","isReady":false,"waitingReason":"needs 1 slot")"));
  master.answer(
      fmt::format("GET /api/v1/notebooks/{}", kOne),
      one_of("notebook",
             fmt::format(R"("state":"STATE_RUNNING","isReady":true,"serviceAddress":"/proxy/{}/")", kOne)));
  const auto done = det("notebook start", master);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out,
              HasSubstr(fmt::format("Jupyter Notebook is running at: {}/proxy/{}/", master.url(), kOne)));
}

TEST(TaskCli, AGenericTaskIsCreatedForkedPausedAndResumed) {
  TestMaster master;
  master.answer("POST /api/v1/generic-tasks",
                fmt::format(R"({{"taskId":"{}","warnings":[],"configWarnings":["x has no effect"]}})", kOne));
  const TemporaryDirectory directory;
  const auto config = directory.write("task.yaml", "entrypoint: ls\n");
  const auto made =
      det(fmt::format("task create {} --parent {} --no_pause --project_id 3", config, kTwo), master);
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr(fmt::format("Created task {}", kOne)));
  EXPECT_THAT(made.err, HasSubstr("Warning: x has no effect"));
  EXPECT_EQ(
      json::serialize(master.last_body("POST /api/v1/generic-tasks")),
      fmt::format(R"({{"config":"entrypoint: ls\n","contextDirectory":[],"parentId":"{}","projectId":3,)"
                  R"("noPause":true}})",
                  kTwo));
  EXPECT_EQ(det(fmt::format("task fork {}", kTwo), master).code, 0);
  EXPECT_EQ(json::serialize(master.last_body("POST /api/v1/generic-tasks")),
            fmt::format(R"({{"config":"","contextDirectory":[],"forkedFrom":"{}"}})", kTwo));
  for (const auto* verb : {"pause", "unpause", "kill"})
    master.answer(fmt::format("POST /api/v1/tasks/{}/{}", kOne, verb), "{}");
  EXPECT_THAT(det(fmt::format("task pause {}", kOne), master).out, HasSubstr("Paused task"));
  EXPECT_THAT(det(fmt::format("task unpause {}", kOne), master).out, HasSubstr("Resumed task"));
  EXPECT_EQ(det(fmt::format("task kill --root {}", kOne), master).code, 0);
  EXPECT_EQ(json::serialize(master.last_body(fmt::format("POST /api/v1/tasks/{}/kill", kOne))),
            R"({"killFromRoot":true})");
}

TEST(TaskCli, WhatIsOverIsNotOpened) {
  TestMaster master;
  master.answer(fmt::format("GET /api/v1/notebooks/{}", kOne),
                one_of("notebook", R"("state":"STATE_TERMINATED","exitStatus":"idle for more than 30s")"));
  const auto done = det(fmt::format("notebook open {}", kOne), master);
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.err, HasSubstr("must be in a running state; it has ended: idle for more than 30s"));
}

}  // namespace
}  // namespace det::cli::test
