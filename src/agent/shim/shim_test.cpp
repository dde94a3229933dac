// Real processes under real shims. The same promises hold with all isolation
// that the machine allows and with none, so most tests run both ways.
#include "det/agent/shim/shim.h"

#include <sys/prctl.h>

#include <algorithm>

#include "det/agent/testing.h"

namespace det::agent {
namespace {

using testing::alive;
using testing::eventually;
using testing::processes_with;
using testing::Rank;

class Shim : public ::testing::TestWithParam<bool> {
 protected:
  Shim() {
    if (GetParam()) rank.isolate();
    rank.spec.cgroup = fmt::format("det-test-{}-{}", ::getpid(), counter_++);
  }
  /// A word that no other process has in its command line.
  std::string mark() const { return "mark-" + rank.directory.path().filename().string(); }
  Rank rank;

 private:
  static inline int counter_ = 0;
};

INSTANTIATE_TEST_SUITE_P(, Shim, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "isolated" : "plain"; });

TEST_P(Shim, WritesDownWhatTheTaskSaidAndHowItEnded) {
  rank.start("echo out; echo err >&2; exit 3");
  const auto exit = rank.exit();
  EXPECT_EQ(exit.code, 3);
  EXPECT_EQ(exit.signal, 0);
  EXPECT_EQ(rank.output("stdout"), "out\n");
  EXPECT_EQ(rank.output("stderr"), "err\n");
}

TEST_P(Shim, EveryExitStatusIsTold) {
  for (const int code : {0, 1, 2, 42, 80, 126, 127, 128, 137, 255}) {
    Rank each;
    each.spec.isolation = rank.spec.isolation;
    each.start(fmt::format("exit {}", code));
    const auto exit = each.exit();
    EXPECT_EQ(exit.code, code);
    EXPECT_EQ(exit.signal, 0);
  }
}

TEST_P(Shim, EveryDeadlySignalIsTold) {
  for (int signal = 1; signal < 32; ++signal) {
    if (signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH ||
        signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)
      continue;
    Rank each;
    each.spec.isolation = rank.spec.isolation;
    each.spec.command = {"sh", "-c", fmt::format("kill -{} $$; sleep 9", signal)};
    each.start();
    const auto exit = each.exit();
    EXPECT_EQ(exit.signal, signal);
    EXPECT_EQ(exit.code, 128 + signal);
  }
}

TEST_P(Shim, TheTaskHasTheSpecsEnvironmentAndNothingElse) {
  ::setenv("DET_TEST_LEAK", "1", 1);
  rank.spec.environment["GREETING"] = "a b\n\xc3\xa4=c";
  rank.spec.command = {"env", "-0"};
  rank.start();
  ::unsetenv("DET_TEST_LEAK");
  EXPECT_EQ(rank.exit().code, 0);
  EXPECT_EQ(rank.output(),
            std::string("GREETING=a b\n\xc3\xa4=c") + '\0' + "PATH=/usr/local/bin:/usr/bin:/bin" + '\0');
}

TEST_P(Shim, ACommandThatDoesNotExistSaysSoInTheLog) {
  rank.spec.command = {"/nowhere/python"};
  rank.start();
  EXPECT_EQ(rank.exit().code, 127);
  EXPECT_EQ(rank.output("stderr"), "cannot run /nowhere/python: No such file or directory\n");
}

TEST_P(Shim, AMissingWorkingDirectorySaysSoInTheLog) {
  rank.spec.working_directory = "/nowhere";
  rank.start("true");
  EXPECT_EQ(rank.exit().code, 127);
  EXPECT_EQ(rank.output("stderr"), "cannot enter /nowhere: No such file or directory\n");
}

TEST_P(Shim, BeginsAtMostOnce) {
  rank.start("echo once");
  rank.exit();
  rank.pid = ::fork();
  if (rank.pid == 0) {
    ::execl(DET_SHIM_PROGRAM, "det-shim", rank.directory.path().c_str(), nullptr);
    ::_exit(99);
  }
  EXPECT_EQ(rank.wait(), 3);
  EXPECT_EQ(rank.output(), "once\n");
}

TEST_P(Shim, AnUnreadableSpecIsAnExitWithAReason) {
  rank.prepare();
  std::ofstream(rank.directory / "spec.json") << "{nonsense";
  rank.pid = ::fork();
  if (rank.pid == 0) {
    ::execl(DET_SHIM_PROGRAM, "det-shim", rank.directory.path().c_str(), nullptr);
    ::_exit(99);
  }
  const auto exit = rank.exit();
  EXPECT_EQ(exit.code, 1);
  EXPECT_TRUE(exit.reason.starts_with("spec.json: ")) << exit.reason;
}

TEST_P(Shim, HandsSigtermToTheTask) {
  rank.start("trap 'echo saving; exit 7' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(eventually([&] { return rank.output() == "ready\n"; }));
  ::kill(rank.pid, SIGTERM);
  EXPECT_EQ(rank.exit().code, 7);
  EXPECT_EQ(rank.output(), "ready\nsaving\n");
}

TEST_P(Shim, TheEndOfTheTaskIsTheEndOfAllThatItStarted) {
  rank.start(
      fmt::format("for i in 1 2 3; do (setsid sh -c 'trap \"\" TERM HUP; (sleep 1000 {0} || sleep 1000) & "
                  "sleep 1000; : {0}' &) ; done; sleep 0.2; echo started",
                  mark()));
  EXPECT_EQ(rank.exit().code, 0);
  EXPECT_TRUE(eventually([&] { return processes_with(mark()).empty(); }, 5));
}

TEST_P(Shim, AGrandchildThatKeepsTheOutputOpenDoesNotDelayTheExit) {  // V21
  rank.start(fmt::format("echo before; setsid sleep 1000 & exec bash -c 'exit 4' {}", mark()));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(rank.exit().code, 4);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(rank.output(), "before\n");
}

TEST_P(Shim, SigkillOfTheShimEndsTheTask) {
  rank.start(fmt::format("trap '' TERM; echo ready; exec sleep 1000 # {}", mark()));
  ASSERT_TRUE(eventually([&] { return rank.output() == "ready\n" && rank.task_runs(); }));
  const auto task = rank.state().taskPid;
  EXPECT_TRUE(alive(task));
  ::kill(rank.pid, SIGKILL);
  EXPECT_EQ(rank.wait(), 137);
  EXPECT_TRUE(eventually([&] { return !alive(task); }, 5));
}

TEST_P(Shim, SigkillOfTheShimEndsEscapedGrandchildrenToo) {
  if (!GetParam()) GTEST_SKIP() << "needs process namespaces or control groups";
  const auto works = isolation_that_works();
  if (std::ranges::find(works, "pid") == works.end()) GTEST_SKIP() << "no process namespaces here";
  rank.start(fmt::format(
      "(setsid sh -c 'trap \"\" TERM HUP; echo ready; while :; do sleep 1; done; : {}' &); exec sleep 1000",
      mark()));
  ASSERT_TRUE(eventually([&] { return rank.output() == "ready\n"; }));
  EXPECT_FALSE(processes_with(mark()).empty());
  ::kill(rank.pid, SIGKILL);
  rank.wait();
  EXPECT_TRUE(eventually([&] { return processes_with(mark()).empty(); }, 5));
}

TEST_P(Shim, TheTasksSupervisorKilledFromOutsideIsAnExitBySignal) {
  rank.start("echo $PPID; exec sleep 1000");
  ASSERT_TRUE(eventually([&] { return rank.task_runs(); }));
  const auto stat = read_small_file(fmt::format("/proc/{}/stat", rank.state().taskPid)).value();
  const auto init = std::strtoll(stat.c_str() + stat.rfind(')') + 4, nullptr, 10);
  ::kill(static_cast<pid_t>(init), SIGKILL);
  const auto exit = rank.exit();
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_NE(exit.reason, "");
}

TEST_P(Shim, AnyBytesAreKept) {  // V1, V2
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  std::ofstream(rank.directory / "input", std::ios::binary) << bytes;
  rank.start("cat input; printf '\\xc3'; sleep 0.05; printf '\\xa4'");
  EXPECT_EQ(rank.exit().code, 0);
  EXPECT_EQ(rank.output(), bytes + "\xc3\xa4");
}

TEST_P(Shim, ALineOfTenMegabytesIsKeptWhole) {
  rank.start("head -c 10000000 /dev/zero | tr '\\0' x");
  EXPECT_EQ(rank.exit().code, 0);
  EXPECT_EQ(rank.output(), std::string(10'000'000, 'x'));
}

TEST_P(Shim, EndlessOutputIsHeldUpThenDroppedAndCountedWithinBounds) {
  rank.spec.spool_bytes_max = 4 << 20;
  rank.spec.stall_seconds = 0.3;
  rank.start("echo begin; yes | head -c 30000000; echo end");
  EXPECT_EQ(rank.exit().code, 0);
  EXPECT_LT(rank.spool_bytes(), 7 << 20);
  const auto output = rank.output();
  EXPECT_TRUE(output.starts_with("begin\ny\n"));
  const auto at = output.find("[determined] ");
  ASSERT_NE(at, std::string::npos);
  const auto dropped = std::strtoll(output.c_str() + at + 13, nullptr, 10);
  EXPECT_GT(dropped, 20'000'000);
}

TEST_P(Shim, NothingIsDroppedWhileSomebodyFetches) {
  rank.spec.spool_bytes_max = 3 << 20;
  rank.start("seq 1 2000000");
  SpoolReader reader(rank.directory.path(), "stdout");
  std::string all;
  ASSERT_TRUE(eventually([&] {
    const auto frames = reader.read(1 << 20);
    EXPECT_TRUE(frames);
    for (const auto& frame : *frames) all += frame.bytes;
    reader.release(reader.position());
    EXPECT_LT(rank.spool_bytes(), 5 << 20);
    return frames->empty() && std::filesystem::exists(rank.directory / "exit.json");
  }));
  std::string expected;
  for (int i = 1; i <= 2'000'000; ++i) expected += std::to_string(i) + "\n";
  EXPECT_EQ(all, expected);
  EXPECT_EQ(rank.exit().code, 0);
}

TEST_P(Shim, AClosedOutputIsNotTheEnd) {
  rank.start("exec >&- 2>&-; sleep 0.2; exit 5");
  EXPECT_EQ(rank.exit().code, 5);
}

TEST_P(Shim, NoCoreIsDumpedAndLimitsHold) {
  rank.spec.limits = {{"nofile", 123}};
  rank.start("ulimit -c; ulimit -n; ulimit -Hn");
  rank.exit();
  EXPECT_EQ(rank.output(), "0\n123\n123\n");
}

TEST_P(Shim, AFunctionCanBeTheTask) {
  rank.spec.environment["ANSWER"] = "42";
  rank.start_function([](const AnotherTask&) {
    std::printf("%s\n", process_environment()["ANSWER"].c_str());
    return 9;
  });
  EXPECT_EQ(rank.exit().code, 9);
  EXPECT_EQ(rank.output(), "42\n");
}

TEST_P(Shim, TheFunctionKeepsTheSignalsThatItsRuntimeHadSet) {
  ::signal(SIGPIPE, SIG_IGN);
  rank.start_function([](const AnotherTask&) {
    struct sigaction action{};
    ::sigaction(SIGPIPE, nullptr, &action);
    return action.sa_handler == SIG_IGN ? 0 : 1;
  });
  ::signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(rank.exit().code, 0);
}

TEST_P(Shim, TheStartupHookMayExportUnsetAndMove) {
  std::filesystem::create_directory(rank.directory / "deeper");
  std::ofstream(rank.directory / "startup-hook.sh")
      << "export FROM_HOOK='a\nb'\nunset GONE\ncd deeper\necho hook\n";
  rank.spec.environment["GONE"] = "1";
  rank.spec.startup_hook = rank.directory / "startup-hook.sh";
  rank.start("echo \"$FROM_HOOK${GONE-none}\"; basename \"$PWD\"");
  EXPECT_EQ(rank.exit().code, 0);
  EXPECT_EQ(rank.output(), "hook\na\nbnone\ndeeper\n");
}

TEST_P(Shim, TheStartupHookRunsOnceForAllRanksOfAMachine) {
  std::ofstream(rank.directory / "startup-hook.sh")
      << "echo run >> count; sleep 0.1; export SHARED=$(wc -l < count)\n";
  rank.spec.startup_hook = rank.directory / "startup-hook.sh";
  rank.spec.environment["DET_RANK"] = "0";
  Rank other;
  other.spec = rank.spec;
  other.spec.cgroup += "-other";
  other.spec.environment["DET_RANK"] = "1";
  rank.start("echo $DET_RANK $SHARED");
  other.start("echo $DET_RANK $SHARED");
  EXPECT_EQ(rank.exit().code, 0);
  EXPECT_EQ(other.exit().code, 0);
  EXPECT_EQ(rank.output(), "0 1\n");
  EXPECT_EQ(other.output(), "1 1\n");
}

TEST_P(Shim, AFailingStartupHookIsTheTasksFailureWithItsOutput) {
  std::ofstream(rank.directory / "startup-hook.sh") << "echo installing\nfalse\necho never\n";
  rank.spec.startup_hook = rank.directory / "startup-hook.sh";
  rank.start("echo task");
  const auto exit = rank.exit();
  EXPECT_EQ(exit.code, 1);
  EXPECT_EQ(exit.reason, "startup-hook.sh failed with exit status 1");
  EXPECT_EQ(rank.output(), "installing\n");
}

TEST_P(Shim, SigtermDuringTheStartupHookStartsNoTask) {
  std::ofstream(rank.directory / "startup-hook.sh")
      << "trap 'exit 0' TERM\necho hooking\nwhile :; do sleep 0.01; done\n";
  rank.spec.startup_hook = rank.directory / "startup-hook.sh";
  rank.start("echo task");
  ASSERT_TRUE(eventually([&] { return rank.output() == "hooking\n"; }));
  ::kill(rank.pid, SIGTERM);
  EXPECT_EQ(rank.exit().signal, SIGTERM);
  EXPECT_EQ(rank.output(), "hooking\n");
}

TEST(ShimIsolation, TheTaskSeesOnlyItselfAndItsOwnFiles) {
  const auto works = isolation_that_works();
  for (const auto* step : {"pid", "mount", "proc", "shm", "files"})
    if (std::ranges::find(works, step) == works.end()) GTEST_SKIP() << step << " does not work here";
  Rank rank;
  rank.isolate();
  testing::TemporaryDirectory secrets;
  std::ofstream(secrets / "token") << "secret";
  std::filesystem::create_directories(secrets / "a" / "work");
  std::ofstream(secrets / "a" / "work" / "model.py") << "pass";
  rank.spec.hide = secrets.path();
  rank.spec.show = {secrets / "a" / "work"};
  rank.spec.working_directory = secrets / "a" / "work";
  rank.start(
      "ls /proc | grep -c '^[0-9]'; ls /dev/shm | wc -l; ls; ls ../..; cat ../../token; touch new && echo "
      "writable");
  EXPECT_EQ(rank.exit().code, 0);
  const auto output = rank.output();
  EXPECT_LT(std::strtol(output.c_str(), nullptr, 10), 8) << output;
  EXPECT_EQ(output.substr(output.find('\n')), "\n0\nmodel.py\na\nwritable\n");
  EXPECT_TRUE(std::filesystem::exists(secrets / "a" / "work" / "new"));
  EXPECT_TRUE(std::filesystem::exists(secrets / "token"));
}

TEST(ShimIsolation, OfAnOrdinaryUserWorksThroughAUserNamespace) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become somebody else";
  testing::TemporaryDirectory home;
  std::filesystem::permissions(home.path(), std::filesystem::perms::all);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const bool changed = ::setgid(65534) == 0 && ::setuid(65534) == 0;
    ::prctl(PR_SET_DUMPABLE, 1);  // As after an exec; else /proc/self belongs to root.
    const auto works = changed ? isolation_that_works() : std::vector<std::string>{};
    std::ofstream(home / "works") << json::serialize(json::to_json(works));
    ::_exit(0);
  }
  ::waitpid(pid, nullptr, 0);
  const auto text = read_small_file(home / "works").value();
  if (text.find("user") == std::string::npos)
    GTEST_SKIP() << "no user namespaces for ordinary users here: " << text;
  EXPECT_NE(text.find("pid"), std::string::npos) << text;
  EXPECT_NE(text.find("shm"), std::string::npos) << text;
}

}  // namespace
}  // namespace det::agent
