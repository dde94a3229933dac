// Files of checkpoints, templates, tokens, bundles and calls by name on the command line.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "det/cli/context/archive.h"
#include "det/cli/test_master.h"

namespace det::cli::test {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string body_of(const TestMaster& master, const std::string& request) {
  return json::serialize(master.last_body(request));
}

TEST(CheckpointCli, RmSendsThePatternsOfWhatShallGo) {
  TestMaster master;
  master.answer("POST /api/v1/checkpoints/rm", "{}");
  EXPECT_THAT(det("checkpoint rm a,b", master).err, HasSubstr("--glob is required"));
  EXPECT_THAT(det("checkpoint rm a,b --glob *.pth", master, {.typed = {"n"}}).out,
              HasSubstr("Aborting file removal"));
  EXPECT_TRUE(master.asked().empty());
  const auto done = det("checkpoint rm a,b --glob optimizer/** --glob *.pth --yes", master);
  EXPECT_EQ(done.out, "Removed the files that match optimizer/**, *.pth from checkpoints a,b\n");
  EXPECT_EQ(body_of(master, "POST /api/v1/checkpoints/rm"),
            R"({"checkpointUuids":["a","b"],"checkpointGlobs":["optimizer/**","*.pth"]})");
}

TEST(TemplateCli, CreateRefusesWhatIsThereAndSetValueWhatIsNot) {
  TestMaster master;
  const TemporaryDirectory directory;
  const auto file = directory.write("gpu.yaml", "resources: {slots_per_trial: 2}\n");
  master.answer("POST /api/v1/templates/gpu", "{}");
  EXPECT_EQ(det("template create gpu " + file, master).out, "Created template gpu\n");
  EXPECT_EQ(body_of(master, "POST /api/v1/templates/gpu"),
            R"({"name":"gpu","config":{"resources":{"slots_per_trial":2}},"workspaceId":1})");
  master.refuse("PATCH /api/v1/templates/gpu", 404, "template 'gpu' not found");
  EXPECT_EQ(det("template set-value config gpu " + file, master).err,
            "Failed to set configuration of template: template 'gpu' not found\n");
  master.answer("PATCH /api/v1/templates/cpu", "{}");
  EXPECT_EQ(det("template set-value config cpu " + file, master).out, "Updated template cpu\n");
}

TEST(TemplateCli, NamesTheWorkspaceThatATemplateIsIn) {
  TestMaster master;
  const TemporaryDirectory directory;
  const auto file = directory.write("gpu.yaml", "resources: {slots_per_trial: 2}\n");
  constexpr const char* kWorkspaces = R"({"workspaces":[{"id":7,"name":"vision"}],"pagination":{"total":1}})";
  for (int i = 0; i < 3; ++i) master.answer("GET /api/v1/workspaces", kWorkspaces);
  master.answer("POST /api/v1/templates/gpu", "{}");
  EXPECT_EQ(det("template create gpu " + file + " -w vision", master).out, "Created template gpu\n");
  EXPECT_EQ(body_of(master, "POST /api/v1/templates/gpu"),
            R"({"name":"gpu","config":{"resources":{"slots_per_trial":2}},"workspaceId":7})");
  master.answer("GET /api/v1/templates",
                R"({"templates":[{"name":"gpu","workspaceId":7,"config":{}}],"pagination":{"total":1}})");
  EXPECT_EQ(det("template list -w vision --csv", master).out, "Name,Workspace\r\ngpu,vision\r\n");
}

TEST(UserCli, CreateAndEditSayWhetherTheUserIsRemote) {
  TestMaster master;
  master.answer("POST /api/v1/users", "{}");
  EXPECT_EQ(det("user create rita --remote", master).code, 0);
  EXPECT_EQ(body_of(master, "POST /api/v1/users"),
            R"({"user":{"username":"rita","admin":false,"active":true,"remote":true},)"
            R"("password":"","isHashed":true})");
  EXPECT_EQ(det("user create ann", master).code, 0);
  EXPECT_THAT(body_of(master, "POST /api/v1/users"), HasSubstr(R"("remote":false)"));
  EXPECT_THAT(det("user create rita --remote --password pw", master).err, HasSubstr("excludes"));
  master.answer("GET /api/v1/users/rita/by-username", R"({"user":{"id":7,"username":"rita"}})");
  master.answer("PATCH /api/v1/users/7", "{}");
  for (const auto* remote : {"true", "false"}) {
    EXPECT_EQ(det(fmt::format("user edit rita --remote {}", remote), master).out,
              "Changes made to the following fields: remote\n");
    EXPECT_EQ(body_of(master, "PATCH /api/v1/users/7"), fmt::format(R"({{"remote":{}}})", remote));
  }
  EXPECT_THAT(det("user edit rita --remote maybe", master).err, HasSubstr("--remote"));
  EXPECT_THAT(det("user edit rita", master).err, HasSubstr("--active or --remote"));
}

constexpr const char* kTokens =
    R"({"tokenInfo":[{"id":3,"userId":1,"description":"ci"},{"id":4,"userId":1,"description":"old","revoked":true}],)"
    R"("pagination":{"total":2}})";

TEST(TokenCli, DescribeShowsThoseThatAreNamed) {
  TestMaster master;
  master.answer("GET /api/v1/tokens", kTokens);
  const auto shown = det("token describe 4 --csv", master);
  EXPECT_THAT(shown.out, HasSubstr("4,1,old,"));
  EXPECT_THAT(shown.out, Not(HasSubstr("ci")));
  EXPECT_THAT(det("token describe 5", master).err, HasSubstr("token 5 not found, or not visible to you"));
}

TEST(TokenCli, LoginKeepsATokenThatTheMasterKnows) {
  TestMaster master;
  const TemporaryDirectory home;
  const Variables variables{{"XDG_CONFIG_HOME", home.path()}};
  master.answer("GET /api/v1/me", R"({"user":{"username":"ann"}})");
  auto token = det("dev auth-token", master).out;
  token.pop_back();  // the end of the line
  const auto done = det("token login", master, {.typed = {token}, .tty = false, .variables = variables});
  EXPECT_EQ(done.out, "Logged in as user 'ann'\n") << done.err;
  EXPECT_EQ(det("dev auth-token", master, {.typed = {}, .tty = false, .variables = variables}).out,
            token + "\n")
      << "ann is who is active here";
  EXPECT_THAT(det("token login WRONG", master, {.typed = {}, .tty = false, .variables = variables}).err,
              HasSubstr("the token is unknown, revoked or expired"));
}

TEST(TrialCli, ASupportBundleHasTheLogTheMetricsAndTheConfiguration) {
  TestMaster master;
  master.answer("GET /api/v1/trials/12", R"({"trial":{"id":12,"experimentId":7,"state":"STATE_ERROR"}})");
  master.answer("GET /api/v1/experiments/7", R"({"experiment":{"id":7,"config":{"name":"mnist"}}})");
  master.answer("GET /api/v1/trials/12/workloads", R"({"workloads":[],"pagination":{"total":0}})");
  master.stream("GET /api/v1/trials/12/logs", {R"({"result":{"id":"1","message":"out of memory\n"}})"});
  const TemporaryDirectory directory;
  const auto done = det("trial support-bundle 12 -o " + directory.path(), master);
  ASSERT_EQ(done.code, 0) << done.err;
  const fs::path archive = directory.path() + "/det-bundle-trial-12.tar.gz";
  EXPECT_THAT(done.out, HasSubstr("bundle path: "));
  EXPECT_EQ(fs::status(archive).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(unpack(archive, directory.path()));
  const auto text = [&](const char* name) {
    std::ifstream file(directory.path() + "/det-bundle-trial-12/" + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(text("log.txt"), "out of memory\n");
  EXPECT_EQ(text("configuration.yaml"), "name: mnist\n");
  EXPECT_THAT(text("trial.json"), HasSubstr("STATE_ERROR"));
}

constexpr const char* kDocument =
    R"({"paths":{"/api/v1/experiments/{id}/kill":{"post":{"operationId":"Kill","summary":"Kill an experiment"}},)"
    R"("/api/v1/experiments":{"get":{"operationId":"List","summary":"List experiments"}}}})";

TEST(DevCli, BindingsAreTheCallsOfTheMastersDocument) {
  TestMaster master;
  master.answer("GET /api/v1/openapi.json", kDocument);
  master.answer("GET /api/v1/experiments", R"({"experiments":[]})");
  master.answer("POST /api/v1/experiments/7/kill", R"({"killed":true})");
  EXPECT_EQ(det("dev bindings list Kill --csv", master).out,
            "Name,Call,Summary\r\nKill,POST /api/v1/experiments/{id}/kill,Kill an experiment\r\n");
  EXPECT_THAT(det("dev bindings call List limit=1", master).out, HasSubstr("experiments"));
  EXPECT_THAT(master.asked(), Contains("GET /api/v1/experiments?limit=1"));
  EXPECT_THAT(det("dev bindings call Kill id=7 why=[1]", master).out, HasSubstr("killed"));
  EXPECT_EQ(body_of(master, "POST /api/v1/experiments/7/kill"), R"({"why":[1]})");
  EXPECT_THAT(det("dev bindings call Kill", master).err, HasSubstr("Kill needs id=VALUE"));
  EXPECT_THAT(det("dev bindings call Kil id=7", master).err, HasSubstr("call 'Kil' not found"));
}

TEST(TaskCli, AListIsCutByTheMasterAndOfOneWorkspace) {
  TestMaster master;
  master.answer("GET /api/v1/workspaces",
                R"({"workspaces":[{"id":3,"name":"vision"}],"pagination":{"total":1}})");
  master.answer("GET /api/v1/commands", R"({"commands":[],"pagination":{"total":0}})");
  EXPECT_EQ(det("command list --all -w vision --limit 2 --offset 4", master).code, 0);
  EXPECT_THAT(master.asked(), Contains("GET /api/v1/commands?workspaceId=3&limit=2&offset=4"));
}

TEST(TrialCli, OnePageIsWhatTheMasterIsAskedFor) {
  TestMaster master;
  master.answer("GET /api/v1/experiments/7/trials", R"({"trials":[],"pagination":{"total":9}})");
  master.answer("GET /api/v1/trials/12", R"({"trial":{"id":12,"experimentId":7}})");
  master.answer("GET /api/v1/trials/12/workloads", R"({"workloads":[],"pagination":{"total":9}})");
  master.refuse("GET /api/v1/trials/12/environment", 404, "none");
  EXPECT_EQ(det("experiment list-trials 7 --pages 1 --limit 2 --offset 4", master).code, 0);
  EXPECT_EQ(det("trial describe 12 --pages 1 --limit 3", master).code, 0);
  EXPECT_THAT(master.asked(), Contains("GET /api/v1/experiments/7/trials?limit=2&offset=4"));
  EXPECT_THAT(master.asked(), Contains("GET /api/v1/trials/12/workloads?limit=3&offset=0"));
  EXPECT_THAT(det("job list --limit 0", master).err, HasSubstr("--limit"));
}

TEST(TrialCli, AllPagesBeginAtTheOffset) {
  TestMaster master;
  master.answer("GET /api/v1/experiments/7/trials",
                R"({"trials":[{"id":1},{"id":2}],"pagination":{"total":5}})");
  master.answer("GET /api/v1/experiments/7/trials", R"({"trials":[{"id":3}],"pagination":{"total":5}})");
  const auto ids =
      json::parse(det("experiment list-trials 7 --limit 2 --offset 2 --json", master).out).value();
  EXPECT_EQ(ids.as_array().size(), 3u);
  EXPECT_EQ(master.asked(), (std::vector<std::string>{"GET /api/v1/experiments/7/trials?limit=2&offset=2",
                                                      "GET /api/v1/experiments/7/trials?limit=2&offset=4"}));
}

TEST(CheckpointCli, WhatIsDeletedIsSaidToBeSo) {
  constexpr const char* kDeleted = R"({"uuid":"u1","state":"STATE_DELETED"})";
  TestMaster master;
  master.answer("GET /api/v1/checkpoints/u1", fmt::format(R"({{"checkpoint":{}}})", kDeleted));
  master.answer("GET /api/v1/trials/12/checkpoints",
                fmt::format(R"({{"checkpoints":[{}],"pagination":{{"total":1}}}})", kDeleted));
  for (const auto* words : {"checkpoint download u1", "trial download 12 --uuid u1"})
    EXPECT_THAT(det(words, master).err, HasSubstr("checkpoint u1 is DELETED; only a COMPLETED checkpoint"));
  EXPECT_THAT(det("trial download 12 --best --sort-by nosuch", master).err,
              HasSubstr("trial 12 has no checkpoint with a value of nosuch"));
}

TEST(ExperimentCli, TheFilesOfTensorBoardAreDeletedByThemselves) {
  TestMaster master;
  master.answer("DELETE /api/v1/experiments/7/tensorboard-files", "{}");
  EXPECT_EQ(det("experiment delete-tb-files 7", master).out,
            "Deletion of the TensorBoard files of experiment 7 is in progress\n");
}

}  // namespace
}  // namespace det::cli::test
