// A real agent, whose processes run several tasks.
#include <fstream>

#include "det/agent/agent_fixture.h"

namespace det::agent {
namespace {

using testing::alive;
using testing::eventually;

/// Prints what is the same for all tasks of one process, and for no other's: every process has its own files.
constexpr const char* kWho = "echo $PWD; ";

struct Reused : testing::Agent {
  Reused() { start(true); }
  api::DesiredAllocation reusable(int number, const std::string& script = "", std::vector<int> slots = {0}) {
    auto a = wanted(fmt::format("7.x.{}", number), kWho + script, std::move(slots));
    a.trial_id = TrialId(100 + number);
    a.reuse = true;
    return a;
  }
  /// Its log, when it has ended.
  std::string run(const api::DesiredAllocation& allocation) {
    master.want(allocation);
    EXPECT_TRUE(eventually([&] { return master.exited(allocation.allocation_id); }))
        << allocation.allocation_id;
    return master.log(allocation.allocation_id);
  }
  std::size_t roots() {
    std::error_code error;
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& one :
         std::filesystem::directory_iterator(state / "agent" / "reused", error))
      ++count;
    return count;
  }
  ShimState shim(const std::string& id) {
    const auto text = read_small_file(state / "agent" / "tasks" / id / "0" / "shim.json");
    return text ? json::from_json<ShimState>(json::parse(*text).value()).value() : ShimState{};
  }
  int code(int number) { return master.report(fmt::format("7.x.{}", number)).exits.at(0).code; }
};

TEST_F(Reused, TrialsOfAnExperimentRunInOneProcessAndHaveTheirOwnLogs) {
  const auto one = run(reusable(1, "echo trial $DET_TRIAL_ID"));
  const auto two = run(reusable(2, "echo trial $DET_TRIAL_ID"));
  EXPECT_TRUE(one.ends_with("trial 101\n")) << one;
  EXPECT_TRUE(two.ends_with("trial 102\n")) << two;
  EXPECT_EQ(one.substr(0, one.find("trial")), two.substr(0, two.find("trial")));
  EXPECT_EQ(code(1) + code(2), 0);
  EXPECT_TRUE(eventually([&] { return forgotten("7.x.1") && forgotten("7.x.2"); }));
}

TEST_F(Reused, WhatRunsInOneProcessIsNotMixedWithWhatRunsInForks) {
  auto second = reusable(2);
  second.reuse = false;
  EXPECT_NE(run(reusable(1)), run(second));
}

TEST_F(Reused, AStartupHookRunsBeforeEveryTrialThatHasAForkOfItsOwn) {
  master.set_model("hooked", testing::model_archive());
  auto first = reusable(1), second = reusable(2);
  for (auto* one : {&first, &second}) {
    one->model_definition = "hooked";
    one->reuse = false;
  }
  EXPECT_NE(run(first).find("from hook\n"), std::string::npos);
  EXPECT_NE(run(second).find("from hook\n"), std::string::npos);
}

TEST_F(Reused, AnotherExperimentOrOtherFilesGetAProcessOfTheirOwn) {
  const auto one = run(reusable(1));
  auto other = reusable(2);
  other.experiment_id = ExperimentId{8};
  EXPECT_NE(run(other), one);
  EXPECT_TRUE(eventually([&] { return roots() == 1; })) << "the first process had its slot, and was ended";
}

TEST_F(Reused, ProcessesOnOtherSlotsAreLeftAlone) {
  const auto zero = run(reusable(1)), one = run(reusable(2, "", {1}));
  EXPECT_NE(zero, one);
  EXPECT_EQ(run(reusable(3)), zero);
  EXPECT_EQ(run(reusable(4, "", {1})), one);
}

TEST_F(Reused, ATrialOfSeveralSlotsHasItsOwnProcesses) {
  const auto one = run(reusable(1));
  const auto both = run(reusable(2, "", {0, 1}));
  EXPECT_EQ(both.find(one), std::string::npos);
  EXPECT_EQ(code(2), 0);
  EXPECT_NE(run(reusable(3)), one) << "it was ended for the two";
}

TEST_F(Reused, AfterAFailureTheNextTrialHasANewProcess) {
  const auto one = run(reusable(1));
  EXPECT_EQ(run(reusable(2, "exit 3")), one);
  EXPECT_EQ(code(2), 3);
  EXPECT_NE(run(reusable(3)), one);
  EXPECT_EQ(code(3), 0);
  EXPECT_TRUE(eventually([&] { return roots() == 1; }));
}

TEST_F(Reused, AnIdleProcessThatIsKilledIsReplaced) {
  master.want(reusable(1, "while [ ! -e " + (state / "go").string() + " ]; do sleep 0.01; done"));
  ASSERT_TRUE(eventually([&] { return shim("7.x.1").taskPid > 0; }));
  const auto killed = shim("7.x.1");
  std::ofstream(state / "go") << "\n";
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  ::kill(static_cast<pid_t>(killed.pid), SIGKILL);
  EXPECT_TRUE(run(reusable(2, "echo fine")).ends_with("fine\n"));
  EXPECT_EQ(code(2), 0);
  EXPECT_NE(master.log("7.x.2").find(master.log("7.x.1")), 0u);
}

TEST_F(Reused, AProcessThatIsKilledWithItsTrialIsItsEnd) {
  run(reusable(1));
  master.want(reusable(2, "exec sleep 1000"));
  ASSERT_TRUE(eventually([&] { return shim("7.x.2").taskPid > 0; }));
  const auto killed = shim("7.x.2");
  ::kill(static_cast<pid_t>(killed.pid), SIGKILL);
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.2"); }));
  EXPECT_EQ(code(2), 137);
  EXPECT_EQ(code(1), 0);
  EXPECT_TRUE(eventually([&] { return !alive(killed.taskPid); }));
  EXPECT_TRUE(eventually([&] { return forgotten("7.x.2") && roots() == 0; }));
}

TEST_F(Reused, AStopEndsTheTrialAndItsProcess) {
  run(reusable(1));
  master.want(reusable(2, "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.01; done"));
  ASSERT_TRUE(eventually([&] { return master.log("7.x.2").ends_with("ready\n"); }));
  const auto process = shim("7.x.2");
  master.want_no_more("7.x.2");
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.2"); }));
  EXPECT_TRUE(eventually([&] { return !alive(process.pid); }));
}

TEST_F(Reused, ATrialInAReusedProcessOutlivesItsAgent) {
  const auto one = run(reusable(1));
  master.want(
      reusable(2, "echo up; while [ ! -e " + (state / "go").string() + " ]; do sleep 0.01; done; echo on"));
  ASSERT_TRUE(eventually([&] { return master.log("7.x.2").ends_with("up\n"); }));
  stop(SIGKILL);
  start(true);
  ASSERT_TRUE(eventually([&] { return master.sessions().size() == 2; }));
  std::ofstream(state / "go") << "\n";
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.2"); }));
  EXPECT_EQ(code(2), 0);
  EXPECT_EQ(master.log("7.x.2"), one + "up\non\n");
  EXPECT_EQ(run(reusable(3)), one) << "and offers itself to the next agent";
}

TEST_F(Reused, IdleProcessesEndWithTheirAgentAndLeaveNoFiles) {
  master.want(reusable(1, "while [ ! -e " + (state / "go").string() + " ]; do sleep 0.01; done"));
  ASSERT_TRUE(eventually([&] { return shim("7.x.1").taskPid > 0; }));
  const auto process = shim("7.x.1");
  std::ofstream(state / "go") << "\n";
  ASSERT_TRUE(eventually([&] { return master.exited("7.x.1"); }));
  EXPECT_TRUE(alive(process.pid));
  stop(SIGKILL);
  EXPECT_TRUE(eventually([&] { return !alive(process.pid); }));
  start(true);
  EXPECT_TRUE(eventually([&] { return roots() == 0; }));
}

TEST_F(Reused, KilledAgentsStartEveryTrialExactlyOnce) {
  testing::TemporaryDirectory marks;
  unsigned seed = 7;
  constexpr int kTasks = 12;
  for (int i = 0; i < kTasks; ++i) {
    master.want(reusable(
        i, fmt::format("echo begin >> {}/{}; echo said {}; sleep 0.03", marks.path().string(), i, i)));
    std::this_thread::sleep_for(std::chrono::milliseconds(seed = (seed * 1103515245 + 12345) % 60));
    stop(SIGKILL);
    start(true);
  }
  for (int i = 0; i < kTasks; ++i) {
    const auto id = fmt::format("7.x.{}", i);
    ASSERT_TRUE(eventually([&] { return master.exited(id); })) << id;
    EXPECT_EQ(code(i), 0) << master.report(id).exits.at(0).reason;
    EXPECT_TRUE(master.log(id).ends_with(fmt::format("said {}\n", i))) << master.log(id);
    EXPECT_EQ(read_small_file(marks / std::to_string(i)).value_or(""), "begin\n");
  }
  EXPECT_EQ(master.contradictions(), 0);
}

}  // namespace
}  // namespace det::agent
