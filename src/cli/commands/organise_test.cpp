// Models, resource pools and the master's settings on the command line, and what of the original makes no
// sense.

#include <gmock/gmock.h>

#include "det/cli/test_master.h"

namespace det::cli::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr const char* kVision = R"({"workspaces":[{"id":3,"name":"vision"}],"pagination":{"total":1}})";

std::string sent(const TestMaster& master, const std::string& request) {
  return json::serialize(master.last_body(request));
}

TEST(ModelCli, MoveNamesTheWorkspaceByItsId) {
  TestMaster master;
  master.answer("GET /api/v1/workspaces", kVision);
  master.answer("POST /api/v1/models/fashion/move", "{}");
  EXPECT_EQ(det("model move fashion vision", master).out, "Moved model fashion to workspace vision\n");
  EXPECT_EQ(sent(master, "POST /api/v1/models/fashion/move"), R"({"destinationWorkspaceId":3})");
  EXPECT_THAT(det("model move fashion nowhere", master).err, HasSubstr("nowhere"));
}

TEST(WorkspaceCli, PoolsAndStorageAreSetWhenItIsMadeAndLater) {
  TestMaster master;
  master.answer("POST /api/v1/workspaces", R"({"workspace":{"id":3,"name":"vision"}})");
  EXPECT_EQ(det("workspace create vision --default-compute-pool gpu --checkpoint-storage-config "
                R"({"type":"directory","container_path":"/ckpt"})",
                master)
                .code,
            0);
  EXPECT_EQ(sent(master, "POST /api/v1/workspaces"),
            R"({"name":"vision","defaultComputePool":"gpu",)"
            R"("checkpointStorageConfig":{"type":"directory","container_path":"/ckpt"}})");
  master.answer("GET /api/v1/workspaces", kVision);
  master.answer("PATCH /api/v1/workspaces/3", R"({"workspace":{"id":3,"name":"vision"}})");
  EXPECT_EQ(det("workspace edit vision --default-aux-pool cpu --checkpoint-storage-config null", master).out,
            "Changed workspace 'vision'\n");
  EXPECT_EQ(sent(master, "PATCH /api/v1/workspaces/3"),
            R"({"defaultAuxPool":"cpu","checkpointStorageConfig":{}})");
  EXPECT_THAT(det("workspace edit vision", master).err, HasSubstr("nothing to change; give a new name"));
}

TEST(WorkspaceCli, ColumnsComeInTheOrderOfTheOriginalAndOursLast) {
  TestMaster master;
  master.answer("GET /api/v1/workspaces",
                R"({"workspaces":[{"id":3,"name":"vision","numProjects":2,"numExperiments":5,"username":"ann",
      "archived":false,"pinned":true,"defaultComputePool":"gpu","defaultAuxPool":"cpu",
      "agentUserGroup":{"agentUid":7,"agentUser":"bob"}}],"pagination":{"total":1}})");
  EXPECT_EQ(det("workspace list --csv", master).out,
            "ID,Name,# Projects,Agent Uid,Agent Gid,Agent User,Agent Group,Default Compute Pool,"
            "Default Aux Pool,# Experiments,Owner,Archived,Pinned\r\n"
            "3,vision,2,7,,bob,,gpu,cpu,5,ann,False,True\r\n");
}

TEST(ProjectCli, DescribeListsTheExperiments) {
  TestMaster master;
  master.answer("GET /api/v1/workspaces", kVision);
  master.answer("GET /api/v1/workspaces/3/projects",
                R"({"projects":[{"id":9,"name":"boxes"}],"pagination":{"total":1}})");
  master.answer("GET /api/v1/experiments",
                R"({"experiments":[{"id":5,"name":"seeing","archived":true}],"pagination":{"total":1}})");
  EXPECT_THAT(det("project describe vision boxes", master).out, HasSubstr("seeing"));
  EXPECT_THAT(master.asked().back(), HasSubstr("?projectId=9&archived=false&users=determined&"));
  EXPECT_THAT(det("project describe vision boxes -a", master).out, HasSubstr("Archived"));
  EXPECT_THAT(master.asked().back(), HasSubstr("?projectId=9&limit"));
  const auto document = json::parse(det("project describe vision boxes --json", master).out).value();
  EXPECT_EQ(document.at(0).at("name"), "boxes");
  EXPECT_EQ(document.at(0).at("experiments").at(0).at("id"), 5);
}

TEST(ModelCli, CreateAndListTakeWorkspaces) {
  TestMaster master;
  master.answer("POST /api/v1/models", R"({"model":{"id":1,"name":"fashion","workspaceId":3}})");
  EXPECT_THAT(det("model create fashion -w vision", master).out, HasSubstr("Workspace ID"));
  EXPECT_EQ(sent(master, "POST /api/v1/models"),
            R"({"name":"fashion","description":"","workspaceName":"vision"})");
  master.answer("GET /api/v1/models", R"({"models":[],"pagination":{"total":0}})");
  for (int i = 0; i < 2; ++i) master.answer("GET /api/v1/workspaces", kVision);
  EXPECT_EQ(det("model list -w vision", master).code, 0);
  EXPECT_THAT(master.asked(), Contains(HasSubstr("workspaceNames=vision")));
  EXPECT_THAT(det("model list -w nowhere", master).err, HasSubstr("nowhere"));
}

TEST(ResourcePoolCli, BindingsAreAddedRemovedAndReplaced) {
  TestMaster master;
  const std::string path = "/api/v1/resource-pools/gpu/workspace-bindings";
  for (const auto* method : {"POST ", "DELETE ", "PUT "}) master.answer(method + path, "{}");
  EXPECT_EQ(det("resource-pool bindings add gpu vision speech", master).out,
            "Bound resource pool gpu to vision, speech\n");
  EXPECT_EQ(sent(master, "POST " + path), R"({"workspaceNames":["vision","speech"]})");
  EXPECT_EQ(det("rp bindings remove gpu vision", master).out, "Unbound resource pool gpu from vision\n");
  EXPECT_EQ(det("rp bindings replace gpu vision", master).out, "Bound resource pool gpu to exactly vision\n");
  EXPECT_EQ(det("rp bindings replace gpu", master).out, "Resource pool gpu is open to all workspaces\n");
  EXPECT_EQ(sent(master, "PUT " + path), R"({"workspaceNames":[]})");
  EXPECT_EQ(det("rp bindings add gpu", master).code, 2);
}

TEST(ResourcePoolCli, BoundWorkspacesAreListedByName) {
  TestMaster master;
  master.answer("GET /api/v1/resource-pools/gpu/workspace-bindings",
                R"({"workspaceIds":[3],"pagination":{"total":1}})");
  master.answer("GET /api/v1/workspaces/3", R"({"workspace":{"id":3,"name":"vision"}})");
  EXPECT_EQ(det("rp bindings list-workspaces gpu --csv", master).out, "ID,Name\r\n3,vision\r\n");
  master.answer("GET /api/v1/resource-pools/cpu/workspace-bindings",
                R"({"workspaceIds":[],"pagination":{"total":0}})");
  EXPECT_EQ(det("rp bindings list-workspaces cpu", master).out,
            "Resource pool cpu is open to all workspaces.\n");
}

TEST(MasterCli, ConfigIsShownAndTheLevelOfTheLogIsSet) {
  TestMaster master;
  master.answer("GET /api/v1/master/config", R"({"config":{"log":{"level":"info"}}})");
  EXPECT_EQ(det("master config", master).out, "log:\n  level: info\n");
  EXPECT_EQ(det("master config --json", master).code, 0);
  master.answer("PATCH /api/v1/master/config", "{}");
  EXPECT_EQ(det("master config set --log.level debug", master).out,
            "Set the log level of the master to debug\n");
  EXPECT_EQ(sent(master, "PATCH /api/v1/master/config"),
            R"({"config":{"log":{"level":"LOG_LEVEL_DEBUG"}},"fieldMask":{"paths":["log.level"]}})");
  EXPECT_EQ(det("master config set", master).code, 2);
  EXPECT_EQ(det("master config set --log.level loud", master).code, 2);
}

TEST(ResourcesCli, UsageIsCsvAsTheMasterSaysItOrJson) {
  const std::string csv =
      "experiment_id,kind,username,labels,slots,seconds\n1,trial,ann,\"a,\"\"b\"\"\",2,1.5\n,shell,bob,,1,"
      "3\n";
  TestMaster master;
  for (int i = 0; i < 2; ++i) master.answer("GET /resources/allocation/raw", csv);
  EXPECT_EQ(det("resources raw 2026-11-01 2026-11-30", master).out, csv);
  const auto told = json::parse(det("resources raw 2026-11-01 2026-11-30 --json", master).out).value();
  EXPECT_EQ(told, json::parse(R"([
    {"experiment_id": 1, "kind": "trial", "username": "ann", "labels": "a,\"b\"", "slots": 2, "seconds": 1.5},
    {"experiment_id": "", "kind": "shell", "username": "bob", "labels": "", "slots": 1, "seconds": 3}])")
                      .value());
}

TEST(Refused, OptionsOfTheOriginalSayWhyTheyDoNothingHere) {
  const TestMaster master;
  for (const auto& [words, why] : {std::pair{"shell start -p", "keys of shells have no passphrase"}}) {
    const auto done = det(words, master);
    EXPECT_EQ(done.code, 2) << words;
    EXPECT_THAT(done.err, HasSubstr(why)) << words;
  }
  EXPECT_TRUE(master.asked().empty());
}

}  // namespace
}  // namespace det::cli::test
