// A real agent process, a real HTTP master, real tasks; kill -9 of everything.
#include "det/agent/agent.h"

#include <fcntl.h>

#include <fstream>

#include "det/agent/agent_fixture.h"

namespace det::agent {
namespace {

using testing::Agent;
using testing::alive;
using testing::eventually;
using testing::processes_with;

TEST_F(Agent, RunsAnAllocationAndReportsItsEndWithItsLogs) {
  start();
  want("7.x.1", "echo hello $DET_TRIAL_ID $DET_SLOT_IDS $DET_CLUSTER_ID; echo trouble >&2; exit 3");
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  const auto report = master.report("7.x.1");
  ASSERT_EQ(report.exits.size(), 1u);
  EXPECT_EQ(report.exits[0].code, 3);
  EXPECT_EQ(master.log("7.x.1"), "hello 12 [0] test-cluster\n");
  EXPECT_EQ(master.log("7.x.1", "stderr"), "trouble\n");
  EXPECT_EQ(master.slots().size(), 2u);
  EXPECT_TRUE(eventually([&] { return forgotten("7.x.1"); })) << "acknowledged, so its files go";
}

TEST_F(Agent, RunsATaskAsTheAccountThatItsOwnerIsLinkedTo) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can change its user";
  std::filesystem::permissions(state.path(), std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  start();
  auto linked = wanted("7.x.1",
                       "id -u; id -g; id -G; echo $USER; [ $HOME = $PWD ] && echo at home; touch mine && "
                       "stat -c %u:%g mine; echo again >/dev/stdout; cat /proc/1/environ | wc -c; "
                       "kill -9 $PPID || exit 4");
  linked.run_as = {.agent_uid = 54321, .agent_gid = 54322, .agent_user = "ann", .agent_group = "lab"};
  master.want(linked);
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.log("7.x.1"), "54321\n54322\n54322\nann\nat home\n54321:54322\nagain\n0\n")
      << master.log("7.x.1", "stderr");
  EXPECT_EQ(master.report("7.x.1").exits.at(0).code, 4) << "it cannot signal the agent's processes";
}

TEST_F(Agent, RunsOneProcessForEachSlot) {
  start();
  master.want(wanted("7.x.1", "echo $DET_RANK of $DET_SIZE; exit $DET_RANK", {0, 1}));
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.report("7.x.1").exits.at(0).code, 0);
  EXPECT_EQ(master.report("7.x.1").exits.at(1).code, 1);
  EXPECT_EQ(master.log("7.x.1", "stdout", 0), "0 of 2\n");
  EXPECT_EQ(master.log("7.x.1", "stdout", 1), "1 of 2\n");
}

TEST_F(Agent, KillNineOfTheAgentIsNotNoticedByTheTask) {
  start();
  want("7.x.1", "for i in $(seq 1 200); do echo line $i; sleep 0.01; done; exit 7");
  ASSERT_TRUE(eventually([&] { return master.log("7.x.1").size() > 100; }));
  for (int i = 0; i < 4; ++i) {
    stop(SIGKILL);
    start();
    ASSERT_TRUE(eventually([&] { return master.sessions().size() == static_cast<std::size_t>(i) + 2; }));
  }
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.report("7.x.1").exits.at(0).code, 7);
  std::string expected;
  for (int i = 1; i <= 200; ++i) expected += fmt::format("line {}\n", i);
  EXPECT_EQ(master.log("7.x.1"), expected);
  EXPECT_EQ(master.contradictions(), 0);
}

TEST_F(Agent, AnExitWhileTheAgentIsDownIsReportedRightLater) {
  start();
  want("7.x.1", "echo on; sleep 0.5; echo off; kill -SEGV $$");
  ASSERT_TRUE(eventually([&] { return master.log("7.x.1") == "on\n"; }));
  stop(SIGKILL);
  ASSERT_TRUE(eventually(
      [&] { return std::filesystem::exists(state / "agent" / "tasks" / "7.x.1" / "0" / "exit.json"); }));
  start();
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.report("7.x.1").exits.at(0).signal, SIGSEGV);
  EXPECT_EQ(master.log("7.x.1"), "on\noff\n");
}

TEST_F(Agent, IsKilledAtRandomMomentsAndStartsEverythingExactlyOnce) {
  testing::TemporaryDirectory marks;
  unsigned seed = 1;
  start();
  constexpr int kTasks = 12;
  for (int i = 0; i < kTasks; ++i) {
    want(fmt::format("7.x.{}", i), fmt::format("echo begin >> {}/{}; echo said {}; sleep 0.05; exit {}",
                                               marks.path().string(), i, i, i));
    std::this_thread::sleep_for(std::chrono::milliseconds(seed = (seed * 1103515245 + 12345) % 40));
    stop(SIGKILL);
    start();
  }
  for (int i = 0; i < kTasks; ++i) {
    const auto id = fmt::format("7.x.{}", i);
    ASSERT_TRUE(eventually([&] { return master.exited(id); })) << id;
    EXPECT_EQ(master.report(id).exits.at(0).code, i) << master.report(id).exits.at(0).reason;
    EXPECT_EQ(master.log(id), fmt::format("said {}\n", i));
    EXPECT_EQ(read_small_file(marks / std::to_string(i)).value_or(""), "begin\n");
  }
  EXPECT_EQ(master.contradictions(), 0);
}

TEST_F(Agent, AStopIsAskedForThenForced) {
  start();
  want("7.x.1",
       "trap '' TERM; trap 'echo at line 7 >&2' USR2; echo stubborn; (setsid bash -c 'trap \"\" TERM; sleep "
       "1000; : " +
           state.path().filename().string() + "-mark' &); while :; do sleep 0.1; done");
  ASSERT_TRUE(eventually([&] { return master.log("7.x.1") == "stubborn\n"; }));
  master.kill("7.x.1", 0.3);
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.report("7.x.1").exits.at(0).signal, SIGKILL);
  EXPECT_EQ(master.report("7.x.1").exits.at(0).reason, "did not exit within its grace period and was killed");
  EXPECT_EQ(master.log("7.x.1", "stderr"), "at line 7\n") << "before the end it says where it hangs";
  EXPECT_TRUE(
      eventually([&] { return processes_with(state.path().filename().string() + "-mark").empty(); }, 5));
}

TEST_F(Agent, WhatIsWantedNoMoreMayEndInPeace) {
  start();
  want("7.x.1", "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(eventually([&] { return master.log("7.x.1") == "ready\n"; }));
  master.want_no_more("7.x.1");
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.report("7.x.1").exits.at(0).code, 0);
  EXPECT_EQ(master.log("7.x.1"), "ready\nsaved\n");
}

TEST_F(Agent, KillNineOfTheShimIsTheEndOfTheTask) {
  start();
  want("7.x.1", "echo up; exec sleep 1000");
  ASSERT_TRUE(eventually([&] { return master.log("7.x.1") == "up\n"; }));
  const auto text = read_small_file(state / "agent" / "tasks" / "7.x.1" / "0" / "shim.json").value();
  const auto shim = json::from_json<ShimState>(json::parse(text).value()).value();
  ::kill(static_cast<pid_t>(shim.pid), SIGKILL);
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.report("7.x.1").exits.at(0).code, 137);
  EXPECT_EQ(master.report("7.x.1").exits.at(0).reason,
            "the process that supervises the task (det shim) was killed");
  EXPECT_FALSE(alive(shim.taskPid));
}

TEST_F(Agent, AMasterThatIsAwayDisturbsNothing) {  // V3
  start();
  want("7.x.1", "for i in $(seq 1 100); do echo line $i; sleep 0.005; done");
  ASSERT_TRUE(eventually([&] { return !master.log("7.x.1").empty(); }));
  master.set_away(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  master.set_away(false);
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.report("7.x.1").exits.at(0).code, 0);
  EXPECT_TRUE(master.log("7.x.1").ends_with("line 100\n"));
}

TEST_F(Agent, LostAnswersStoreNothingTwice) {  // V4
  master.lose_log_answers(2);
  start();
  want("7.x.1", "for i in $(seq 1 50); do echo line $i; sleep 0.02; done");
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  std::string expected;
  for (int i = 1; i <= 50; ++i) expected += fmt::format("line {}\n", i);
  EXPECT_EQ(master.log("7.x.1"), expected);
  EXPECT_EQ(master.contradictions(), 0);
}

TEST_F(Agent, OddOutputArrivesByteForByte) {  // V1, V2
  start();
  want("7.x.1",
       "printf 'a\\xff\\x00b\\n'; head -c 300000 /dev/zero | tr '\\0' y; echo; printf '\\xc3'; sleep 0.3; "
       "printf '\\xa4\\n'");
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.log("7.x.1"), std::string("a\xff\0b\n", 5) + std::string(300'000, 'y') + "\n\xc3\xa4\n");
}

TEST_F(Agent, AModelDefinitionThatIsNotThereIsAnExitWithAReason) {
  start();
  auto a = wanted("7.x.1", "echo never");
  a.model_definition = "gone";
  master.want(a);
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_NE(master.report("7.x.1").exits.at(0).reason.find("no such model definition"), std::string::npos)
      << master.report("7.x.1").exits.at(0).reason;
  EXPECT_NE(master.log("7.x.1", "stderr").find("no such model definition"), std::string::npos);
}

TEST_F(Agent, AStopDuringTheStartIsNotADeadlock) {  // V24
  start();
  master.set_models_away(true);
  auto a = wanted("7.x.1", "echo never", {0, 1});
  a.model_definition = "digest-1";
  master.want(a);
  ASSERT_TRUE(eventually([&] {
    return master.report("7.x.1").state == api::AllocationState::starting && master.model_requests() > 0;
  }));
  master.kill("7.x.1", 5);
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.report("7.x.1").exits.size(), 2u);
  EXPECT_EQ(master.report("7.x.1").exits.at(0).reason, "stopped before it started");
}

/// A model definition of two files, as the master has it.
TEST_F(Agent, UnpacksTheModelDefinitionAndRunsItsStartupHook) {
  master.set_model("digest-1", testing::model_archive());
  start();
  auto a = wanted(
      "7.x.1",
      "cat model.txt; echo; echo $HOOKED; test \"$PWD\" = \"$DET_WORKDIR\" && echo home; rm model.txt");
  a.model_definition = "digest-1";
  master.want(a);
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.log("7.x.1"), "from hook\nweights\nyes\nhome\n");
  a.allocation_id = "7.x.2";
  master.want(a);
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.2"); }));
  EXPECT_EQ(master.log("7.x.2"), "from hook\nweights\nyes\nhome\n") << "each run has its own copy";
}

TEST_F(Agent, FetchesTheModelDefinitionOfTrialsThatBeginTogetherOnce) {
  master.set_model("digest-1", testing::model_archive());
  start();
  for (const int i : {0, 1}) {
    auto a = wanted(fmt::format("7.{}.1", i), "cat model.txt", {i});
    a.model_definition = "digest-1";
    master.want(a);
  }
  for (const auto* id : {"7.0.1", "7.1.1"}) {
    ASSERT_TRUE(eventually([&] { return master.exited(id); }));
    EXPECT_EQ(master.report(id).exits.at(0).code, 0) << master.report(id).exits.at(0).reason;
    EXPECT_EQ(master.log(id), "from hook\nweights\n");
  }
  EXPECT_EQ(master.model_requests(), 1);
}

TEST_F(Agent, AGracefulStopLeavesTrialsRunning) {
  start();
  want("7.x.1", "echo up; sleep 1; exit 4");
  ASSERT_TRUE(eventually([&] { return master.log("7.x.1") == "up\n"; }));
  const int status = stop(SIGTERM);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  start();
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.report("7.x.1").exits.at(0).code, 4);
}

TEST_F(Agent, TwoAgentsDoNotShareADirectory) {
  start();
  ASSERT_TRUE(eventually([&] { return master.sessions().size() == 1; }));
  const pid_t first = std::exchange(pid, -1);
  start();
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  pid = first;
}

TEST_F(Agent, TwoAgentsOnOneMachineWithEqualIdsNeverTouchEachOther) {
  struct Second : Agent {
    void TestBody() override {}
  } other;
  start();
  other.start();
  const std::string script =
      "sleep 1000 & echo up; trap 'echo saved; exit 5' TERM; while :; do sleep 0.01; done";
  want("7.x.1", script);
  other.want("7.x.1", script);
  ASSERT_TRUE(
      eventually([&] { return master.log("7.x.1") == "up\n" && other.master.log("7.x.1") == "up\n"; }));
  // The hardest end that there is: the shim is killed, and the agent looks for what is left.
  const auto text = read_small_file(state / "agent" / "tasks" / "7.x.1" / "0" / "shim.json").value();
  const auto shim = json::from_json<ShimState>(json::parse(text).value()).value();
  ::kill(static_cast<pid_t>(shim.pid), SIGKILL);
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1") && forgotten("7.x.1"); }));
  EXPECT_TRUE(other.master.running("7.x.1"));
  other.master.kill("7.x.1", 5);
  ASSERT_TRUE(eventually([&] { return other.master.exited("7.x.1"); }));
  EXPECT_EQ(other.master.report("7.x.1").exits.at(0).code, 5);
  EXPECT_EQ(other.master.log("7.x.1"), "up\nsaved\n");
}

TEST_F(Agent, ThatShallStopWithoutAMasterDoesSoEvenWhenItIsDead) {
  master.set_lease(4000);
  start_as("stop");
  want("7.x.1", "trap 'echo saved; exit 5' TERM; echo up; while :; do sleep 0.01; done");
  ASSERT_TRUE(eventually([&] { return master.log("7.x.1") == "up\n"; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(5000));
  EXPECT_TRUE(master.running("7.x.1")) << "the lease is renewed while there is a master";
  stop(SIGKILL);
  ASSERT_TRUE(eventually(
      [&] { return std::filesystem::exists(state / "agent" / "tasks" / "7.x.1" / "0" / "exit.json"); }));
  start_as("stop");
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.report("7.x.1").exits.at(0).code, api::kLostStatus) << "not the trial's failure";
  EXPECT_EQ(master.report("7.x.1").exits.at(0).reason,
            "stopped because the agent could not reach the master");
  EXPECT_EQ(master.log("7.x.1"), "up\nsaved\n");
}

TEST_F(Agent, ThatMayContinueLetsItsTasksOutliveTheLease) {
  master.set_lease(300);
  start();
  want("7.x.1", "echo up; sleep 2; echo on; exit 5");
  ASSERT_TRUE(eventually([&] { return master.log("7.x.1") == "up\n"; }));
  stop(SIGKILL);
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  start();
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.report("7.x.1").exits.at(0).code, 5);
}

TEST_F(Agent, StartsThroughTheWarmWorkerWhenItIsReady) {
  start(true);
  ASSERT_TRUE(eventually([&] { return said("is ready"); }));
  want("7.x.1", "echo trial; exit 6");
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.log("7.x.1"), "warm\ntrial\n");
  EXPECT_EQ(master.report("7.x.1").exits.at(0).code, 6);
}

TEST_F(Agent, ATrialWaitsForAWarmWorkerThatIsStarting) {
  start_as("held");
  master.want(wanted("7.x.1", "echo trial $DET_RANK", {0, 1}));
  ASSERT_TRUE(eventually([&] { return said("7.x.1 waits for the warm worker for pytorch"); }));
  EXPECT_FALSE(master.running("7.x.1"));
  std::ofstream(state / "agent" / "worker" / "go") << "go";
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.log("7.x.1", "stdout", 0), "warm\ntrial 0\n");
  EXPECT_EQ(master.log("7.x.1", "stdout", 1), "warm\ntrial 1\n");
}

TEST_F(Agent, AStopReachesATrialThatWaitsForTheWarmWorker) {
  start_as("held");
  want("7.x.1", "echo never");
  ASSERT_TRUE(eventually([&] { return said("7.x.1 waits for the warm worker for pytorch"); }));
  master.kill("7.x.1", 5);
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.report("7.x.1").exits.at(0).reason, "stopped before it started");
}

TEST_F(Agent, ATrialThatWaitedForTheWarmWorkerStartsOnceAfterKillNineOfTheAgent) {
  start_as("held");
  want("7.x.1", "echo trial");
  ASSERT_TRUE(eventually([&] { return said("7.x.1 waits for the warm worker for pytorch"); }));
  stop(SIGKILL);
  std::ofstream(state / "agent" / "worker" / "go") << "go";
  start_as("held");
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.log("7.x.1"), "warm\ntrial\n");
}

TEST_F(Agent, ATrialStartsByItselfWhereTheWarmWorkerFails) {
  start_as("broken");
  want("7.x.1", "echo trial; exit 6");
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.log("7.x.1"), "cold\ntrial\n");
  EXPECT_EQ(master.report("7.x.1").exits.at(0).code, 6);
}

TEST_F(Agent, ATrialStartsByItselfWhereTheWarmWorkerTakesTooLong) {
  ::setenv("DET_TEST_PATIENCE", "300", 1);
  start_as("held");
  ::unsetenv("DET_TEST_PATIENCE");
  want("7.x.1", "echo trial");
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.log("7.x.1"), "cold\ntrial\n");
}

TEST_F(Agent, WhatTheWarmWorkerForkedOutlivesWorkerAndAgent) {
  start(true);
  ASSERT_TRUE(eventually([&] { return said("is ready"); }));
  want("7.x.1", "echo up; sleep 0.5; echo still; exit 6");
  ASSERT_TRUE(eventually([&] { return master.log("7.x.1") == "warm\nup\n"; }));
  stop(SIGKILL);
  start(true);
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_EQ(master.log("7.x.1"), "warm\nup\nstill\n");
  EXPECT_EQ(master.report("7.x.1").exits.at(0).code, 6);
}

}  // namespace
}  // namespace det::agent
