// How a shim ends a task: by force with last words, with the lease, at the limits of its control groups.
#include <sys/mount.h>
#include <sys/prctl.h>

#include <algorithm>
#include <regex>

#include "det/agent/shim/cgroup.h"
#include "det/agent/shim/init.h"
#include "det/agent/slots.h"
#include "det/agent/testing.h"

namespace det::agent {
namespace {

using testing::alive;
using testing::eventually;
using testing::processes_with;
using testing::Rank;

class ShimEnd : public ::testing::TestWithParam<bool> {
 protected:
  ShimEnd() {
    if (GetParam()) rank.isolate();
    rank.spec.cgroup = "det-test";
  }
  void lease(std::int64_t from_now_milliseconds) {
    write_lease(boot_time().microseconds + from_now_milliseconds * 1000);
  }
  void write_lease(std::int64_t until) {
    rank.spec.lease = rank.directory / "lease";
    ASSERT_FALSE(replace_file(rank.spec.lease, json::serialize(json::to_json(ShimLease{until})), false));
  }
  std::string mark() const { return "mark-" + rank.directory.path().filename().string(); }
  Rank rank;
};

INSTANTIATE_TEST_SUITE_P(, ShimEnd, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "isolated" : "plain"; });

constexpr const char* kStubborn = "trap '' TERM; echo ready; while :; do sleep 0.01; done";

TEST_P(ShimEnd, ByForceLetsTheTaskSayWhereItIs) {
  rank.start(std::string("trap 'echo in line 7 >&2' USR2; ") + kStubborn);
  ASSERT_TRUE(eventually([&] { return rank.task_runs() && rank.output() == "ready\n"; }));
  ::kill(rank.pid, kForce);
  const auto exit = rank.exit();
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_EQ(exit.code, 137);
  EXPECT_EQ(exit.reason, "did not exit within its grace period and was killed");
  EXPECT_EQ(rank.output("stderr"), "in line 7\n");
}

TEST_P(ShimEnd, ByForceIsAtOnceWhereTheTaskHasNothingToSay) {
  rank.start(kStubborn);
  ASSERT_TRUE(eventually([&] { return rank.task_runs() && rank.output() == "ready\n"; }));
  const auto begin = std::chrono::steady_clock::now();
  ::kill(rank.pid, kForce);
  const auto exit = rank.exit();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
  EXPECT_EQ(exit.signal, SIGKILL) << "and not by the signal that asks for stacks";
}

TEST_P(ShimEnd, ByForceIsTheEndOfWhatEscapedToo) {
  rank.start(fmt::format(
      "(setsid sh -c 'trap \"\" TERM HUP; echo ready; while :; do sleep 1; done; : {}' &); exec sleep 1000",
      mark()));
  ASSERT_TRUE(eventually([&] { return rank.output() == "ready\n" && rank.task_runs(); }));
  ::kill(rank.pid, kForce);
  EXPECT_EQ(rank.exit().signal, SIGKILL);
  EXPECT_TRUE(eventually([&] { return processes_with(mark()).empty(); }, 5));
}

TEST_P(ShimEnd, ComesWithTheLeaseAndIsNotTheTasksFault) {
  lease(300);
  rank.start("trap 'echo saved; exit 7' TERM; echo ready; while :; do sleep 0.01; done");
  const auto exit = rank.exit();
  EXPECT_EQ(exit.code, 7);
  EXPECT_TRUE(exit.lapsed);
  EXPECT_EQ(exit.reason, "stopped because the agent could not reach the master");
  EXPECT_TRUE(rank.output().ends_with("saved\n"));
}

TEST_P(ShimEnd, OfAStubbornTaskIsForcedAfterLeaseAndGrace) {
  lease(300);
  rank.spec.grace_seconds = 0.3;
  rank.start(kStubborn);
  const auto exit = rank.exit();
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_TRUE(exit.lapsed);
}

TEST_P(ShimEnd, DoesNotComeWhileTheLeaseIsRenewed) {
  lease(400);
  rank.start("echo ready; sleep 2; exit 4");
  for (int i = 0; i < 18 && !std::filesystem::exists(rank.directory / "exit.json"); ++i) {
    lease(600);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  const auto exit = rank.exit();
  EXPECT_EQ(exit.code, 4);
  EXPECT_FALSE(exit.lapsed);
}

TEST_P(ShimEnd, DoesNotComeWhereNobodyAsksForALease) {
  write_lease(0);
  rank.start("sleep 1; exit 4");
  EXPECT_EQ(rank.exit().code, 4);
}

TEST_P(ShimEnd, ComesWhereTheLeaseCannotBeRead) {
  rank.spec.lease = "/nowhere/lease";
  rank.start("exec sleep 1000");
  const auto exit = rank.exit();
  EXPECT_EQ(exit.signal, SIGTERM);
  EXPECT_TRUE(exit.lapsed);
}

TEST_P(ShimEnd, AskedForBeforeTheLeaseEndedIsNoLapseButIsForcedWithoutAnAgent) {
  lease(600);
  rank.spec.grace_seconds = 0.2;
  rank.start(kStubborn);
  ASSERT_TRUE(eventually([&] { return rank.task_runs() && rank.output() == "ready\n"; }));
  ::kill(rank.pid, SIGTERM);
  const auto exit = rank.exit();
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_FALSE(exit.lapsed);
}

TEST(ShimSignals, AHandlerIsSeenAndTheDefaultIsNot) {
  EXPECT_FALSE(catches(::getpid(), SIGUSR1));
  const auto before = ::signal(SIGUSR1, [](int) {});
  EXPECT_TRUE(catches(::getpid(), SIGUSR1));
  EXPECT_FALSE(catches(::getpid(), SIGUSR2));
  ::signal(SIGUSR1, SIG_IGN);
  EXPECT_FALSE(catches(::getpid(), SIGUSR1));
  ::signal(SIGUSR1, before);
  EXPECT_FALSE(catches(1LL << 40, SIGUSR1)) << "no such process";
}

/// Keeps 500 MB in the shell's own memory.
constexpr const char* kGreedy = "x=$(head -c 500000000 /dev/zero | tr '\\0' x)";

class ShimLimits : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto works = isolation_that_works();
    for (const auto* step : {"memory", "processes"})
      if (std::ranges::find(works, step) == works.end())
        GTEST_SKIP() << "this machine does not let us make control groups for " << step;
    rank.isolate();
    rank.spec.cgroup = "det-test";
  }
  void groups_are_gone() {
    const auto groups = rank.state().groups;
    EXPECT_FALSE(groups.empty());
    for (const auto& path : groups) EXPECT_FALSE(std::filesystem::exists(path)) << path;
  }
  Rank rank;
};

TEST_F(ShimLimits, WhoeverNeedsMoreMemoryThanItsLimitIsToldSo) {
  rank.spec.memory_bytes_max = 64 << 20;
  rank.start(std::string("echo begin; (") + kGreedy + "); exit $?");
  const auto exit = rank.exit();
  EXPECT_NE(exit.code, 0);
  EXPECT_EQ(exit.reason, "killed by the kernel: out of memory (limit 64 MiB)");
  EXPECT_EQ(rank.output(), "begin\n");
  groups_are_gone();
}

TEST_F(ShimLimits, TheTaskItselfKilledForMemoryIsAnExitBySignalNine) {
  rank.spec.memory_bytes_max = 64 << 20;
  rank.start(kGreedy);
  const auto exit = rank.exit();
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_EQ(exit.reason, "killed by the kernel: out of memory (limit 64 MiB)");
}

TEST_F(ShimLimits, WhoStaysBelowThemIsNotDisturbed) {
  rank.spec.memory_bytes_max = 256 << 20;
  rank.spec.pids_max = 100;
  rank.start("head -c 50000000 /dev/zero | tail -c 50000000 | wc -c");
  const auto exit = rank.exit();
  EXPECT_EQ(exit.code, 0);
  EXPECT_EQ(exit.reason, "");
  EXPECT_EQ(rank.output(), "50000000\n");
  groups_are_gone();
}

TEST_F(ShimLimits, AForkBombEndsAtItsLimitAndIsToldSo) {
  rank.spec.pids_max = 40;
  rank.start("for i in $(seq 100); do sleep 1000 & done; echo all; exit 0");
  const auto exit = rank.exit();
  EXPECT_NE(exit.code, 0);
  EXPECT_EQ(exit.reason, "reached the limit of 40 processes and threads (--pids-per-slot)");
  groups_are_gone();
}

TEST_F(ShimLimits, GroupsOfEqualNamesAreNeverShared) {
  Rank other;
  other.spec = rank.spec;
  other.spec.working_directory = other.directory.path();
  rank.start("exec sleep 1000");
  other.start("echo up; exec sleep 1000");
  ASSERT_TRUE(eventually([&] { return rank.task_runs() && other.task_runs(); }));
  for (const auto& path : rank.state().groups) {
    const auto others = other.state().groups;
    EXPECT_EQ(std::ranges::find(others, path), others.end()) << path;
    end_cgroup(path);
  }
  EXPECT_EQ(rank.exit().signal, SIGKILL);
  EXPECT_TRUE(alive(other.state().taskPid));
}

TEST(AgentLimits, WhatTheMachineDoesNotAllowIsSaid) {
  AgentOptions options;
  Machine machine;
  EXPECT_TRUE(unmet(options, machine).empty()) << "nobody asked";
  options.memory_per_slot = 2LL << 30;
  options.pids_per_slot = 100;
  EXPECT_EQ(unmet(options, machine),
            (std::vector<std::string>{"the memory limit of 2 GiB per slot is not enforced: the agent may not "
                                      "create control groups on this machine",
                                      "the limit of 100 processes per slot is not enforced: the agent may "
                                      "not create control groups on this machine"}));
  machine.isolation = {"memory", "processes"};
  EXPECT_TRUE(unmet(options, machine).empty());
  options.isolate = false;
  EXPECT_EQ(unmet(options, machine).size(), 2u);
}

TEST(AgentLimits, TheDefaultForProcessesLeavesHalfOfTheKernelsToTheMachine) {
  EXPECT_LE(default_pids_per_slot(1), 16384);
  EXPECT_GE(default_pids_per_slot(1), 1024);
  EXPECT_GE(default_pids_per_slot(0), default_pids_per_slot(8));
  EXPECT_EQ(default_pids_per_slot(1'000'000), 1024);
}

TEST(AgentLimits, SizesAreSaidInTheLargestUnit) {
  EXPECT_EQ(bytes_text(2LL << 30), "2 GiB");
  EXPECT_EQ(bytes_text(1536 << 10), "1.5 MiB");
  EXPECT_EQ(bytes_text(100), "100 B");
}

TEST_P(ShimEnd, WhatAFullDiskDidNotTakeIsSaidOnceThereIsRoomAndBeforeItsExit) {
  if (::mount("tmpfs", rank.directory.path().c_str(), "tmpfs", 0, "size=2m") != 0)
    GTEST_SKIP() << "cannot mount a small tmpfs here: " << std::strerror(errno);
  const testing::TemporaryDirectory elsewhere;
  std::ofstream(rank.directory / "ballast") << std::string(1500 << 10, 'x');
  rank.spec.stall_seconds = 0.1;
  rank.start(fmt::format("yes | head -c 3000000; touch {}", (elsewhere / "ended").string()));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(elsewhere / "ended"); }));
  // Where a mark still fitted and no more, there is another one.
  const std::regex mark(
      "\\[determined\\] (\\d+) bytes of output are missing here: the disk of the agent is full\\n");
  std::int64_t dropped = 0;
  const auto there_or_counted = [&] {
    const std::string output = rank.output();
    dropped = 0;
    std::size_t marked = 0;
    for (std::sregex_iterator at(output.begin(), output.end(), mark), none; at != none; ++at) {
      dropped += std::stoll((*at)[1]);
      marked += static_cast<std::size_t>(at->length());
    }
    return static_cast<std::int64_t>(output.size() - marked) + dropped;
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  // Whether the last mark and the exit still fit depends on where the last block of output ended.
  if (std::filesystem::exists(rank.directory / "exit.json")) {
    EXPECT_EQ(there_or_counted(), 3'000'000) << "the exit comes last";
  }
  std::filesystem::remove(rank.directory / "ballast");
  EXPECT_EQ(rank.exit().code, 0);
  EXPECT_EQ(there_or_counted(), 3'000'000) << "every byte is there or counted";
  EXPECT_GT(dropped, 0);
  ::umount2(rank.directory.path().c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace det::agent
