// Real processes that run several tasks, one after the other.
#include "det/agent/shim/reuse.h"

#include <sys/socket.h>

#include "det/agent/testing.h"

namespace det::agent {
namespace {

using testing::alive;
using testing::eventually;
using testing::Rank;
using testing::TemporaryDirectory;

/// Runs as many tasks as there are: each does what its variable SCRIPT says.
int run_scripts(const AnotherTask& another) {
  int status = 0;
  do {
    const auto script = process_environment()["SCRIPT"];
    std::printf("in %s\n", std::filesystem::current_path().filename().c_str());
    std::fflush(stdout);
    status = WEXITSTATUS(std::system(script.c_str()));
  } while (status == 0 && another([] { return true; }));
  std::printf("the end of the process\n");
  return status;
}

class Reuse : public ::testing::TestWithParam<bool> {
 protected:
  Reuse() : listener(listen_at(socket)) {
    for (auto* rank : {&first, &second}) {
      if (GetParam()) rank->isolate();
      rank->spec.reuse = "key";
      rank->spec.reuse_socket = socket;
      rank->spec.reuse_root = root.path();
      rank->spec.environment["SCRIPT"] = "true";
    }
    std::filesystem::create_directory(root / "one");
    std::filesystem::create_directory(root / "two");
    first.spec.working_directory = root / "one";
    second.spec.working_directory = root / "two";
  }
  ~Reuse() override {
    ::close(agent);
    ::close(listener);
  }
  /// The directory that the shim names when its task is done; empty: it does not offer its process.
  std::filesystem::path offer() {
    pollfd poll{listener, POLLIN, 0};
    if (::poll(&poll, 1, 10'000) != 1) return {};
    agent = ::accept(listener, nullptr, nullptr);
    char text[4096];
    const auto got = ::recv(agent, text, sizeof text, 0);
    const auto message = json::parse(std::string_view(text, static_cast<std::size_t>(got))).value();
    return json::from_json<ReuseMessage>(message).value().directory;
  }
  void answer(const std::filesystem::path& directory) {
    const auto text = json::serialize(json::to_json(ReuseMessage{directory}));
    EXPECT_GT(::send(agent, text.data(), text.size(), 0), 0);
  }
  void no_more() {
    ::close(agent);
    agent = -1;
  }

  TemporaryDirectory root;
  std::string socket = root / kReuseSocket;
  int listener, agent = -1;
  Rank first, second;
};

INSTANTIATE_TEST_SUITE_P(, Reuse, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "isolated" : "plain"; });

TEST_P(Reuse, ASecondTaskRunsInTheProcessOfTheFirstAndKeepsItsOwnFiles) {
  first.spec.environment["SCRIPT"] = "echo one $OTHER; echo trouble >&2";
  first.spec.environment["OTHER"] = "set";
  second.spec.environment["SCRIPT"] = "echo two $OTHER";
  first.start_function(run_scripts);
  ASSERT_EQ(offer(), first.directory.path());
  EXPECT_EQ(first.read_exit().code, 0) << "written before the process is offered";
  EXPECT_EQ(first.output(), "in one\none set\n");
  EXPECT_EQ(first.output("stderr"), "trouble\n");
  second.prepare();
  answer(second.directory.path());
  ASSERT_EQ(offer(), second.directory.path());
  EXPECT_EQ(second.read_exit().code, 0);
  EXPECT_EQ(second.output(), "in two\ntwo\n");
  EXPECT_EQ(second.state().pid, first.state().pid);
  EXPECT_EQ(second.state().taskPid, first.state().taskPid);
  EXPECT_EQ(second.state().isolation, first.state().isolation);
  no_more();
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(second.output(), "in two\ntwo\n") << "what the end of the process says belongs to no task";
  EXPECT_FALSE(alive(second.state().taskPid));
}

TEST_P(Reuse, ATaskThatFailsEndsItsProcess) {
  second.spec.environment["SCRIPT"] = "exit 3";
  first.start_function(run_scripts);
  ASSERT_EQ(offer(), first.directory.path());
  second.prepare();
  answer(second.directory.path());
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(second.read_exit().code, 3);
  EXPECT_EQ(first.read_exit().code, 0);
  EXPECT_EQ(second.output(), "in two\nthe end of the process\n");
}

TEST_P(Reuse, ATaskThatIsKilledEndsItsProcess) {
  second.spec.environment["SCRIPT"] = "kill -9 $PPID";
  first.start_function(run_scripts);
  ASSERT_EQ(offer(), first.directory.path());
  second.prepare();
  answer(second.directory.path());
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(second.read_exit().signal, SIGKILL);
}

TEST_P(Reuse, ATaskThatLeavesAProcessBehindIsNotFollowedByAnother) {
  first.spec.environment["SCRIPT"] = "setsid sleep 1000 >/dev/null 2>&1 &";
  first.start_function(run_scripts);
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(first.read_exit().code, 0);
  pollfd poll{listener, POLLIN, 0};
  EXPECT_EQ(::poll(&poll, 1, 0), 0) << "nothing was offered";
}

TEST_P(Reuse, ATaskThatWasAskedToEndIsNotFollowedByAnother) {
  // The task's process is not the shell: it may go on after SIGTERM like a trial that saves its state.
  first.start_function([](const AnotherTask& another) {
    ::signal(SIGTERM, SIG_IGN);
    std::printf("up\n");
    std::fflush(stdout);
    while (::access("go", F_OK) != 0) ::usleep(2'000);
    return another([] { return true; }) ? 9 : 0;
  });
  ASSERT_TRUE(eventually([&] { return first.output() == "up\n"; }));
  ::kill(first.pid, SIGTERM);
  std::ofstream(root / "one" / "go") << "\n";
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(first.read_exit().code, 0);
  pollfd poll{listener, POLLIN, 0};
  EXPECT_EQ(::poll(&poll, 1, 0), 0);
}

TEST_P(Reuse, WithoutAnAgentTheProcessEndsWithItsTask) {
  ::close(std::exchange(listener, -1));
  first.start_function(run_scripts);
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(first.read_exit().code, 0);
}

TEST_P(Reuse, ATicketThatWasTakenAwayIsNoTask) {
  first.start_function(run_scripts);
  ASSERT_EQ(offer(), first.directory.path());
  answer(second.directory.path());
  EXPECT_EQ(first.wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(second.directory / "exit.json"));
  EXPECT_FALSE(std::filesystem::exists(second.directory / "shim.json"));
}

TEST_P(Reuse, AnIdleProcessThatDiesIsNotOfferedAnyMore) {
  first.start_function(run_scripts);
  ASSERT_EQ(offer(), first.directory.path());
  ::kill(static_cast<pid_t>(first.state().taskPid), SIGKILL);
  char byte = 0;
  EXPECT_EQ(::recv(agent, &byte, 1, 0), 0) << "the connection is closed";
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(first.read_exit().code, 0) << "the task had ended before";
}

TEST_P(Reuse, ATaskWithoutAValidSpecFailsAndSaysWhy) {
  first.start_function(run_scripts);
  ASSERT_EQ(offer(), first.directory.path());
  second.prepare();
  std::ofstream(second.directory / "spec.json") << "{";
  answer(second.directory.path());
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(second.read_exit().code, 1);
  EXPECT_TRUE(second.read_exit().reason.starts_with("spec.json: ")) << second.read_exit().reason;
}

TEST_P(Reuse, WhatTheStartupHookExportedIsSetForEveryTask) {
  std::ofstream(root / "startup-hook.sh") << "export FROM_HOOK=here\nunset GONE\n";
  for (auto* rank : {&first, &second}) {
    rank->spec.startup_hook = root / "startup-hook.sh";
    rank->spec.shared_directory = root.path();
    rank->spec.environment["GONE"] = "still here";
    rank->spec.environment["SCRIPT"] = "echo $FROM_HOOK $GONE";
  }
  first.start_function(run_scripts);
  ASSERT_EQ(offer(), first.directory.path());
  second.prepare();
  answer(second.directory.path());
  ASSERT_EQ(offer(), second.directory.path());
  EXPECT_EQ(second.output(), "in two\nhere\n");
  EXPECT_EQ(second.output("stderr"), "") << "the hook runs once";
  no_more();
  first.wait();
}

TEST_P(Reuse, ManyTasksLeaveNoDescriptorsBehind) {
  first.start_function(run_scripts);
  const auto descriptors = [&] {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& one :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", first.pid)))
      ++count;
    return count;
  };
  ASSERT_EQ(offer(), first.directory.path());
  const auto before = descriptors();
  for (int i = 0; i < 20; ++i) {
    Rank next;
    next.spec = second.spec;
    next.spec.environment["SCRIPT"] = fmt::format("echo {}", i);
    next.prepare();
    answer(next.directory.path());
    ::close(agent);
    ASSERT_EQ(offer(), next.directory.path());
    EXPECT_EQ(next.output(), fmt::format("in two\n{}\n", i));
  }
  EXPECT_EQ(descriptors(), before);
  no_more();
  first.wait();
}

}  // namespace
}  // namespace det::agent
