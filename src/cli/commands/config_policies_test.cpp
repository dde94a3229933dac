// Configuration policies on the command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "det/cli/test_master.h"

namespace det::cli::test {
namespace {

using ::testing::HasSubstr;

void know_policies(TestMaster& master) {
  master.answer("GET /api/v1/workspaces",
                R"({"workspaces":[{"id":3,"name":"vision"}],"pagination":{"total":1}})");
}

TEST(ConfigPoliciesCli, DescribeShowsThePolicyOrThatThereIsNone) {
  TestMaster master;
  know_policies(master);
  master.answer("GET /api/v1/config-policies/workspaces/3/EXPERIMENT",
                R"({"configPolicies":{"constraints":{"priority_limit":5}},"yaml":""})");
  master.answer("GET /api/v1/config-policies/global/NTSC", R"({"configPolicies":{},"yaml":""})");
  EXPECT_THAT(det("config-policies describe experiment -w vision", master).out,
              HasSubstr("priority_limit: 5"));
  EXPECT_EQ(det("cp describe tasks", master).out, "No policy for tasks of the cluster is set\n");
  EXPECT_THAT(det("cp describe experiment -w speech", master).err, HasSubstr("workspace 'speech' not found"));
  EXPECT_EQ(det("cp describe trials", master).code, 2);
}

TEST(ConfigPoliciesCli, SetSendsTheFileAsItIsWritten) {
  TestMaster master;
  know_policies(master);
  const auto path = std::filesystem::temp_directory_path() / fmt::format("policy-{}.yaml", ::getpid());
  const std::string text = "# why\nconstraints: {priority_limit: 5}\n";
  std::ofstream(path) << text;
  master.answer("PUT /api/v1/config-policies/workspaces/3/NTSC", R"({"configPolicies":{},"yaml":""})");
  EXPECT_THAT(det(fmt::format("cp set tasks {} -w vision", path.string()), master).out,
              HasSubstr("Set the policy for tasks of workspace 'vision'"));
  EXPECT_EQ(master.last_body("PUT /api/v1/config-policies/workspaces/3/NTSC").at("configPolicies"),
            json::value(text));
  std::filesystem::remove(path);
  EXPECT_THAT(det("cp set tasks nowhere.yaml", master).err,
              HasSubstr("cannot open the policy file nowhere.yaml"));
}

TEST(ConfigPoliciesCli, DeleteSaysWhatIsGone) {
  TestMaster master;
  master.answer("DELETE /api/v1/config-policies/global/EXPERIMENT", "{}");
  EXPECT_THAT(det("cp delete experiment", master).out,
              HasSubstr("Deleted the policy for experiments of the cluster"));
}

}  // namespace
}  // namespace det::cli::test
