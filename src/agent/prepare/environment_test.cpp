#include "det/agent/prepare/environment.h"

#include <gtest/gtest.h>

#include "det/agent/slots.h"

namespace det::agent {
namespace {

struct TaskEnvironment : ::testing::Test {
  TaskEnvironment() {
    allocation.allocation_id = "7.x.2";
    allocation.task_id = "7.x";
    allocation.token = "secret";
    allocation.trial_id = TrialId{12};
    allocation.experiment_id = ExperimentId{7};
    allocation.run_id = 2;
    allocation.slot_ids = {2, 3};
    allocation.rank_start = 4;
    allocation.size = 8;
    allocation.container_rank = 1;
    options.master_url = "http://[::1]:9000/prefix";
    options.agent_id = "a1";
    machine.cores = 16;
    machine.slots = {{0, "cuda", "H", "GPU-0"},
                     {1, "cuda", "H", "GPU-1"},
                     {2, "cuda", "H", "GPU-2"},
                     {3, "cuda", "H", "GPU-3"}};
    machine.isolation = {"pid", "mount", "shm", "ipc"};
  }
  Environment of(int rank) {
    return task_environment(allocation, rank, options, machine, "cluster", "/work", inherited);
  }

  api::DesiredAllocation allocation;
  AgentOptions options;
  Machine machine;
  Environment inherited = {{"PATH", "/bin"}};
};

TEST_F(TaskEnvironment, NamesTheMasterThatLeadsAndAllOthers) {
  EXPECT_FALSE(of(0).contains("DET_MASTERS"));
  options.master_url = "http://a:8080,http://b:8081";
  EXPECT_EQ(of(0)["DET_MASTER"], "http://a:8080");
  options.leader_url = "http://b:8081";
  const auto e = of(0);
  EXPECT_EQ(e.at("DET_MASTER"), "http://b:8081");
  EXPECT_EQ(e.at("DET_MASTER_PORT"), "8081");
  EXPECT_EQ(e.at("DET_MASTERS"), "http://a:8080,http://b:8081");
}

TEST_F(TaskEnvironment, HasAllThatATrialNeeds) {
  auto e = of(5);
  const Environment expected = {{"DET_MASTER", "http://[::1]:9000/prefix"},
                                {"DET_MASTER_HOST", "::1"},
                                {"DET_MASTER_PORT", "9000"},
                                {"DET_CLUSTER_ID", "cluster"},
                                {"DET_AGENT_ID", "a1"},
                                {"DET_SLOT_IDS", "[2,3]"},
                                {"DET_TASK_ID", "7.x"},
                                {"DET_ALLOCATION_ID", "7.x.2"},
                                {"DET_SESSION_TOKEN", "secret"},
                                {"DET_TASK_TYPE", "TRIAL"},
                                {"DET_TRIAL_ID", "12"},
                                {"DET_EXPERIMENT_ID", "7"},
                                {"DET_TRIAL_RUN_ID", "2"},
                                {"DET_RANK", "5"},
                                {"DET_LOCAL_RANK", "1"},
                                {"DET_SIZE", "8"},
                                {"DET_LOCAL_SIZE", "2"},
                                {"DET_WORKDIR", "/work"},
                                {"PYTHONHASHSEED", "0"},
                                {"PYTHONUNBUFFERED", "1"},
                                {"OMP_NUM_THREADS", "4"},
                                {"OMP_WAIT_POLICY", "passive"},
                                {"CUDA_VISIBLE_DEVICES", "GPU-2,GPU-3"},
                                {"PATH", "/bin"},
                                {"MALLOC_MMAP_THRESHOLD_", "1073741824"},
                                {"MALLOC_TRIM_THRESHOLD_", "4294967296"}};
  for (const auto& [name, value] : expected) EXPECT_EQ(e[name], value) << name;
}

TEST_F(TaskEnvironment, TheMastersWordIsTheStrongest) {
  allocation.environment = {{"OMP_NUM_THREADS", "1"}, {"PATH", "/mine"}, {"DET_TRIAL_SEED", "3"}};
  auto e = of(4);
  EXPECT_EQ(e["OMP_NUM_THREADS"], "1");
  EXPECT_EQ(e["PATH"], "/mine");
  EXPECT_EQ(e["DET_TRIAL_SEED"], "3");
}

TEST_F(TaskEnvironment, OurPackageStaysReachableBesideTheUsersPath) {
  EXPECT_FALSE(of(4).contains("PYTHONPATH"));
  options.python_path = "/ours";
  EXPECT_EQ(of(4)["PYTHONPATH"], "/ours");
  allocation.environment["PYTHONPATH"] = "/theirs";
  EXPECT_EQ(of(4)["PYTHONPATH"], "/theirs:/ours");
}

TEST_F(TaskEnvironment, ACpuSlotSeesNoGpu) {
  machine.slots = {{2, "cpu", "x", "cpu-2"}, {3, "cpu", "x", "cpu-3"}};
  EXPECT_EQ(of(4)["CUDA_VISIBLE_DEVICES"], "");
  EXPECT_EQ(of(4)["OMP_NUM_THREADS"], "8");
}

TEST_F(TaskEnvironment, RanksOfOneMachineShareMemory) {
  EXPECT_EQ(isolation_for(allocation, options, machine), (std::vector<std::string>{"pid", "mount"}));
  allocation.slot_ids = {2};
  EXPECT_EQ(isolation_for(allocation, options, machine), machine.isolation);
  options.isolate = false;
  EXPECT_TRUE(isolation_for(allocation, options, machine).empty());
}

TEST(InheritedEnvironment, HasNoCredentialsOfTheAgent) {
  const auto e = inherited_environment({{"PATH", "/bin"},
                                        {"LC_ALL", "C"},
                                        {"AWS_SECRET_ACCESS_KEY", "k"},
                                        {"AWS_PROFILE", "team"},
                                        {"DET_TOKEN", "t"}});
  EXPECT_EQ(e, (Environment{{"AWS_PROFILE", "team"}, {"HOME", "/"}, {"LC_ALL", "C"}, {"PATH", "/bin"}}));
}

TEST(Slots, AreReadFromNvidiaSmi) {
  const auto slots = parse_gpus(
      "0, NVIDIA H100 80GB HBM3, GPU-aa\n1, NVIDIA H100 80GB HBM3, GPU-bb\nNo devices were found\nx, y, z\n");
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_EQ(slots[1], (api::SlotReport{1, "cuda", "NVIDIA H100 80GB HBM3", "GPU-bb"}));
}

TEST(Slots, AsManyCpuSlotsAsAskedFor) {
  EXPECT_EQ(detect_slots(3).size(), 3u);
  EXPECT_EQ(detect_slots(0).size(), 0u);
  EXPECT_GE(detect_slots(std::nullopt).size(), 1u);
  EXPECT_EQ(detect_slots(2)[1].uuid, "cpu-1");
}

TEST_F(TaskEnvironment, ATaskThatIsNoTrialHasOneProcessForAllItsSlotsAndNothingOfATrial) {
  allocation.trial_id = {};
  allocation.experiment_id = {};
  allocation.framework = api::kCommandFramework;
  allocation.command = {"python", "-V"};
  allocation.rank_start = 0;
  allocation.size = 1;
  allocation.environment = {{"DET_TASK_TYPE", "COMMAND"}};
  options.python = "/opt/python/bin/python3";
  const auto environment = of(0);
  EXPECT_EQ(environment.at("DET_TASK_TYPE"), "COMMAND");
  EXPECT_EQ(environment.at("DET_TASK_ID"), "7.x");
  EXPECT_EQ(environment.at("DET_SLOT_IDS"), "[2,3]");
  EXPECT_EQ(environment.at("CUDA_VISIBLE_DEVICES"), "GPU-2,GPU-3");
  EXPECT_EQ(environment.at("DET_LOCAL_SIZE"), "1");
  EXPECT_EQ(environment.at("OMP_NUM_THREADS"), "8") << "4 for each slot";
  EXPECT_EQ(environment.at("PATH"), "/opt/python/bin:/bin");
  for (const auto* name : {"DET_TRIAL_ID", "DET_EXPERIMENT_ID", "DET_TRIAL_RUN_ID"})
    EXPECT_FALSE(environment.contains(name)) << name;
}

}  // namespace
}  // namespace det::agent
