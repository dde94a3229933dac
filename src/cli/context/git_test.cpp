#include "det/cli/context/git.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "det/cli/test_master.h"

namespace det::cli {
namespace {

using test::TemporaryDirectory;
using ::testing::HasSubstr;

/// A git working directory with one commit of `model/model_def.py`.
class GitTest : public ::testing::Test {
 protected:
  GitTest() {
    ::setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    directory_.write("model/model_def.py", "1");
    git("init -q -b main .");
    commit();
  }
  void git(const std::string& words) {
    const auto command = "git -C " + directory_.path() + " -c user.name=Ada -c user.email=ada@host " + words;
    ASSERT_EQ(std::system((command + " >/dev/null 2>&1").c_str()), 0) << command;
  }
  void commit() {
    git("add .");
    git("commit -q --allow-empty -m one");
  }
  std::string model() const { return directory_.path() + "/model"; }

  TemporaryDirectory directory_;
};

TEST_F(GitTest, FindsCommitBranchAndRemoteWithoutItsPassword) {
  git("remote add origin https://ada:secret@host/repository.git");
  const auto found = git_found(model());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->commit.size(), 40u);
  EXPECT_EQ(found->branch, "main");
  EXPECT_EQ(found->committer, "Ada <ada@host>");
  EXPECT_EQ(found->remote, "https://host/repository.git");
  EXPECT_EQ(found->date.substr(0, 2), "20");
  EXPECT_EQ(found->dirty, false);
}

TEST_F(GitTest, ChangesInTheSubmittedDirectoryMakeItDirtyAndOthersDoNot) {
  directory_.write("elsewhere.txt", "x");
  EXPECT_EQ(git_found(model())->dirty, false);
  directory_.write("model/new.py", "x");
  EXPECT_EQ(git_found(model())->dirty, true);
  commit();
  EXPECT_EQ(git_found(model())->dirty, false);
  directory_.write("model/model_def.py", "2");
  EXPECT_EQ(git_found(model())->dirty, true);
}

TEST_F(GitTest, ADetachedHeadHasNoBranch) {
  git("checkout -q --detach");
  EXPECT_EQ(git_found(model())->branch, "");
}

TEST_F(GitTest, WithoutCommitOrRepositoryThereIsNothing) {
  const TemporaryDirectory elsewhere;
  EXPECT_FALSE(git_found(elsewhere.path()));
  ASSERT_EQ(std::system(("git init -q " + elsewhere.path()).c_str()), 0);
  EXPECT_FALSE(git_found(elsewhere.path()));
  EXPECT_FALSE(git_found("/no/such/directory"));
}

TEST_F(GitTest, AGitThatHangsIsNotWaitedFor) {
  const auto program = directory_.write("bin/git", "#!/bin/sh\nexec sleep 30\n");
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", (directory_.path() + "/bin:" + before).c_str(), 1);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(git_found(model()));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  ::setenv("PATH", before.c_str(), 1);
}

TEST_F(GitTest, IsSentWithASubmission) {
  directory_.write("model/const.yaml", "name: x\n");
  test::TestMaster master;
  master.answer("POST /api/v1/experiments", R"({"experiment":{"id":7}})");
  const auto outcome = test::det("e create " + model() + "/const.yaml " + model(), master);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto body = master.last_body("POST /api/v1/experiments");
  EXPECT_EQ(body.at("gitCommit").get_string().size(), 40u);
  EXPECT_EQ(body.at("gitBranch"), "main");
  EXPECT_EQ(body.at("gitDirty"), true);
  EXPECT_FALSE(body.get_object().contains("gitRemote"));
}

TEST(DescribeTrial, ShowsWhatItRanIn) {
  test::TestMaster master;
  master.answer("GET /api/v1/trials/12", R"({"trial":{"id":12,"experimentId":7,"state":"STATE_COMPLETED"}})");
  master.answer("GET /api/v1/trials/12/workloads", R"({"workloads":[],"pagination":{"total":0}})");
  master.answer("GET /api/v1/trials/12/environment", R"({
    "environments":[
      {"environment":{"hardware":{"hostname":"there","memory_bytes":1073741824,
                                  "gpus":[{"name":"H100","memory_bytes":85899345920}],"gpu_driver":"580.1"},
                      "switches":{"cudnn_benchmark":false},"packages":["numpy==2.4.6","torch==2.11.0"]},
       "found":[{"runId":2,"rank":0,"reportTime":"2026-01-02T03:04:05Z"}]},
      {"environment":{"hardware":{"hostname":"here"}},"found":[{"runId":1,"rank":0}]}],
    "seeds":{"trial":441365315,"experiment":0},"git":{"commit":"89abcdef012345","dirty":false}})");
  const auto shown = test::det("t describe 12", master).out;
  for (const auto* text : {"git              | 89abcdef0123 ", "trial: 441365315", "experiment: 0",
                           "H100, 80.0GB", "driver 580.1", "cudnn_benchmark: False",
                           "numpy==2.4.6  torch==2.11.0", "run 2, rank 0, 2026-01-02 03:04:05"})
    EXPECT_THAT(shown, HasSubstr(text));
  EXPECT_THAT(shown, ::testing::ContainsRegex("machine +\\| there +\\| here"));
  const auto document = json::parse(test::det("t describe 12 --json", master).out).value();
  EXPECT_EQ(document.at("environments").get_array().size(), 2u);
  EXPECT_EQ(document.at("seeds").at("trial"), 441365315);
  EXPECT_THAT(test::det("t describe 12 --csv", master).out, ::testing::Not(HasSubstr("Environment")));
}

TEST(DescribeTrial, WorksWithAMasterThatKnowsNoEnvironments) {
  test::TestMaster master;
  master.answer("GET /api/v1/trials/12", R"({"trial":{"id":12,"experimentId":7,"state":"STATE_COMPLETED"}})");
  master.answer("GET /api/v1/trials/12/workloads", R"({"workloads":[],"pagination":{"total":0}})");
  master.refuse("GET /api/v1/trials/12/environment", 404, "no such call");
  EXPECT_EQ(test::det("t describe 12", master).code, 0);
}

}  // namespace
}  // namespace det::cli
