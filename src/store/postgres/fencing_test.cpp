// One leader: whatever happens to processes, sessions and the server, what is acknowledged is stored once,
// and a master that lost the lead stores nothing.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <thread>

#include "det/store/contract/contract_fixture.h"
#include "det/store/postgres/losing_proxy.h"

namespace det::store {
namespace {

using Clock = std::chrono::steady_clock;

class PostgresFencing : public testing::Test {
 protected:
  ~PostgresFencing() override { server.drop(name); }

  Result<std::unique_ptr<Store>> open(WriterOptions writer = {}, LeadershipOptions leadership = {}) {
    if (leadership.holder.empty()) leadership.holder = "this test";
    writer.retry_after = std::chrono::milliseconds(50);
    return open_postgres(server.database(name), std::move(writer), std::move(leadership));
  }

  /// A process that leads, and appends an event at a time; it writes the number of each that is acknowledged
  /// into a file.
  pid_t leader() {
    std::ofstream{acknowledged()};
    const auto target = server.database(name);
    const pid_t child = ::fork();
    if (child == 0) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (child != 0) {
      while (last_acknowledged() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return child;
    }
    auto store = open_postgres(target, {}, {.holder = "the first"});
    if (!store) ::_exit(1);
    std::ofstream out(acknowledged(), std::ios::app);
    for (std::int64_t n = 1;; ++n) {
      (*store)->commit({AppendEvent{{n, Time{n}, "the first"}}}, [&, n] { out << n << std::endl; });
      (*store)->flush();
    }
  }
  std::filesystem::path acknowledged() const { return directory.path() / "acknowledged"; }
  std::int64_t last_acknowledged() const {
    std::ifstream in(acknowledged());
    std::int64_t last = 0, n = 0;
    while (in >> n) last = n;
    return last;
  }
  static std::string told(std::promise<std::string>& promise) {
    auto future = promise.get_future();
    if (future.wait_for(std::chrono::seconds(10)) != std::future_status::ready)
      return "nothing in ten seconds";
    return future.get();
  }
  static std::int64_t last_event(Store& store) {
    const auto events = store.events_after(0, 0);
    return events.empty() ? 0 : events.back().sequence;
  }

  PostgresServer& server = PostgresServer::shared();
  TemporaryDirectory directory;
  std::string name = directory.path().filename().string();
};

TEST_F(PostgresFencing, ASecondMasterWaitsAndSaysForWhom) {
  auto first = *open({}, {.holder = "alpha, process 7"});
  std::string told;
  std::atomic<bool> stop = false;
  const auto second = open({}, {.holder = "beta",
                                .on_wait =
                                    [&](const std::string& why) {
                                      told = why;
                                      stop = true;
                                    },
                                .give_up = [&] { return stop.load(); }});
  EXPECT_FALSE(second);
  EXPECT_EQ(told, "another master leads (alpha, process 7); standing by, to take over when it ends");
}

TEST_F(PostgresFencing, AMasterThatEndsLetsTheNextLeadAtOnce) {
  auto first = *open();
  first->commit({PutSetting{"k", "v"}}, nullptr);
  first->flush();
  Clock::time_point ended;
  std::thread ender;
  const auto second = open({}, {.on_wait = [&](const std::string&) {
                             ender = std::thread([&] {
                               ended = Clock::now();
                               first.reset();
                             });
                           }});
  ender.join();
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_LT(Clock::now() - ended, std::chrono::milliseconds(2'000));
  EXPECT_EQ((*second)->setting("k"), "v");
}

TEST_F(PostgresFencing, AfterKillNineTheNextLeadsWithinFiveSecondsAndHasAllThatWasAcknowledged) {
  const pid_t first = leader();
  Clock::time_point killed;
  const auto second = open({}, {.on_wait = [&](const std::string&) {
                             killed = Clock::now();
                             ::kill(first, SIGKILL);
                           }});
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_LT(Clock::now() - killed, std::chrono::seconds(5));
  ::waitpid(first, nullptr, 0);
  EXPECT_GE(last_event(**second), last_acknowledged());
  EXPECT_LE(last_event(**second), last_acknowledged() + 1);
}

TEST_F(PostgresFencing, AMasterThatWasStoppedCommitsNothingWhenItWakes) {
  const pid_t first = leader();
  Clock::time_point stopped;
  const auto second = open({}, {.on_wait = [&](const std::string&) {
                             stopped = Clock::now();
                             ::kill(first, SIGSTOP);
                           }});
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_LT(Clock::now() - stopped, std::chrono::seconds(5));
  const auto before = last_event(**second);
  ::kill(first, SIGCONT);
  int status = 0;
  ::waitpid(first, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kDeposedStatus);
  EXPECT_EQ(last_event(**second), before);
  // One commit may have been stored whose acknowledgement the stop came before.
  EXPECT_LE(last_acknowledged(), before);
}

TEST_F(PostgresFencing, ACommitOfAnEarlierEpochFailsInsideItsTransaction) {
  std::promise<std::string> deposed;
  WriterOptions options;
  options.on_deposed = [&](const std::string& why) { deposed.set_value(why); };
  auto first = *open(std::move(options));
  first->commit({PutSetting{"k", "1"}}, nullptr);
  first->flush();
  server.execute(name, "UPDATE leadership SET epoch = epoch + 1, holder = 'the next'");
  std::atomic<bool> acknowledged = false;
  first->commit({PutSetting{"k", "2"}}, [&] { acknowledged = true; });
  EXPECT_EQ(told(deposed), "another master writes to this database now");
  EXPECT_FALSE(acknowledged);
  EXPECT_EQ(first->setting("k"), "1");
}

TEST_F(PostgresFencing, AMasterThatDoesNothingNoticesTheNextLeaderAsWell) {
  std::promise<std::string> deposed;
  WriterOptions options;
  options.on_deposed = [&](const std::string& why) { deposed.set_value(why); };
  const auto first = *open(std::move(options));
  server.execute(name,
                 "UPDATE leadership SET holder = 'the next'; UPDATE leader_beats SET epoch = epoch + 1");
  EXPECT_EQ(told(deposed), "another master has taken over (the next)");
}

TEST_F(PostgresFencing, ASessionThatIsEndedCostsNothing) {
  const auto store = *open();
  for (int n = 1; n <= 20; ++n) {
    store->commit({AppendEvent{{n, Time{n}, "e"}}}, nullptr);
    if (n % 5 == 0)
      server.execute(name,
                     "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                     "WHERE datname = current_database() AND pid <> pg_backend_pid()");
    store->flush();
    EXPECT_EQ(last_event(*store), n);
  }
}

TEST_F(PostgresFencing, ACommitWhoseAnswerIsLostIsFoundAndNotMadeAgain) {
  server.database(name);
  LosingProxy proxy(server.port());
  const auto store = *open_postgres(fmt::format("postgres://det@127.0.0.1:{}/{}", proxy.port(), name),
                                    {.retry_after = std::chrono::milliseconds(20)}, {.holder = "this test"});
  for (int n = 1; n <= 5; ++n) {
    proxy.lose_next_answer();
    bool acknowledged = false;
    store->commit({AddOwnLogs{{line("task", std::to_string(n))}}, AppendEvent{{n, Time{n}, "e"}}},
                  [&] { acknowledged = true; });
    store->flush();
    EXPECT_TRUE(acknowledged && proxy.lost());
    EXPECT_EQ(last_event(*store), n);
    EXPECT_EQ(store->logs({.task_id = "task"}).size(), static_cast<std::size_t>(n));
  }
}

TEST_F(PostgresFencing, AServerThatCrashesAgainAndAgainLosesNothingAndDoublesNothing) {
  std::vector<std::string> stalls;
  WriterOptions options;
  options.on_stall = [&](const std::string& what) { stalls.push_back(what); };
  const auto store = *open(std::move(options));
  std::atomic<std::int64_t> acknowledged = 0;
  std::atomic<bool> stop = false;
  std::int64_t sent = 0;
  std::thread sender([&] {
    while (!stop) {
      ++sent;
      store->commit({AppendEvent{{sent, Time{sent}, "e"}}, AddOwnLogs{{line("task", std::to_string(sent))}}},
                    [&] { ++acknowledged; });
      if (sent % 100 == 0) store->flush();
    }
  });
  for (int times = 0; times < 3; ++times) {
    const auto before = acknowledged.load();
    while (acknowledged < before + 200) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    server.crash();
    server.start();
  }
  stop = true;
  sender.join();
  store->flush();
  EXPECT_EQ(acknowledged, sent);
  EXPECT_EQ(static_cast<std::int64_t>(store->events_after(0, 0).size()), sent);
  EXPECT_EQ(static_cast<std::int64_t>(store->logs({.task_id = "task"}).size()), sent);
  EXPECT_FALSE(store->unreachable());
  ASSERT_GE(stalls.size(), 2u);
  EXPECT_NE(stalls[0].find("cannot be reached. Changes wait until it can"), std::string::npos) << stalls[0];
  EXPECT_NE(stalls[1].find("can be reached again and is being written"), std::string::npos) << stalls[1];
}

TEST_F(PostgresFencing, TheLeaderComesFirstAfterTheServerWasRestarted) {
  const auto first = *open();
  first->commit({PutSetting{"k", "v"}}, nullptr);
  first->flush();
  std::atomic<bool> waits = false, stop = false;
  std::thread second([&] {
    const auto opened = open(
        {}, {.on_wait = [&](const std::string&) { waits = true; }, .give_up = [&] { return stop.load(); }});
    EXPECT_FALSE(opened) << "the first one still leads";
  });
  while (!waits) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  server.restart();
  for (int n = 0; n < 50; ++n) {
    first->commit({PutSetting{"k", std::to_string(n)}}, nullptr);
    first->flush();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // longer than those who wait are patient
  }
  stop = true;
  second.join();
  EXPECT_EQ(first->setting("k"), "49");
}

}  // namespace
}  // namespace det::store
