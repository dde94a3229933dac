// Kills a process that saves and removes checkpoints, again and again and at
// any moment, and looks at what is left. Processes, so that a kill is a kill.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "det/base/random.h"
#include "det/checkpoint/storage.h"
#include "det/checkpoint/temporary_directory.h"

namespace det::checkpoint {
namespace {

template <typename Body>
pid_t start(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  return child;
}

void kill_after(pid_t child, std::int64_t microseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
}

TEST(StorageCrash, AKilledSaveOrRemovalLeavesAllOfACheckpointOrNothing) {
  TemporaryDirectory shared;
  TemporaryDirectory source;
  for (int i = 0; i < 8; ++i) source.write("part" + std::to_string(i) + "/weights", std::string(50'000, 'w'));
  const auto storage = directory_storage(shared.path());
  Random random(1);
  int complete = 0;
  int interrupted = 0;
  for (int round = 0; round < 60; ++round) {
    const pid_t child = start([&] {
      for (int i = 0;; ++i) {
        const auto uuid = "checkpoint-" + std::to_string(i % 3);
        if (!storage->save(source.path(), uuid) || !storage->remove(uuid)) ::_exit(1);
      }
    });
    ASSERT_NO_FATAL_FAILURE(kill_after(child, random.below(20'000)));
    const auto uuids = storage->list();
    ASSERT_TRUE(uuids);
    for (const auto& uuid : *uuids) {
      EXPECT_TRUE(storage->verify(uuid)) << storage->verify(uuid).error().message();
      ++complete;
    }
    for (const auto& entry : std::filesystem::directory_iterator(shared.path()))
      if (entry.path().filename().string().starts_with('.')) ++interrupted;
    // What is left stops neither the next save nor the next removal.
    EXPECT_TRUE(storage->save(source.path(), "checkpoint-0"));
    EXPECT_TRUE(storage->remove("checkpoint-0"));
  }
  EXPECT_GT(complete + interrupted, 0) << "no kill hit anything: the test is void";
  const auto uuids = storage->list();
  for (const auto& uuid : *uuids) EXPECT_TRUE(storage->remove(uuid));
  EXPECT_TRUE(storage->sweep(std::chrono::seconds(0)));
  EXPECT_TRUE(std::filesystem::is_empty(shared.path()));
}

TEST(StorageCrash, ProcessesThatSaveTheSameAtOnceAllSucceed) {
  TemporaryDirectory shared;
  TemporaryDirectory source;
  source.write("weights", std::string(300'000, 'w'));
  const auto storage = directory_storage(shared.path());
  for (int round = 0; round < 10; ++round) {
    std::vector<pid_t> children;
    const auto uuid = "round-" + std::to_string(round);
    for (int i = 0; i < 4; ++i)
      children.push_back(start([&] { ::_exit(storage->save(source.path(), uuid) ? 0 : 1); }));
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
    EXPECT_TRUE(storage->verify(uuid));
  }
  EXPECT_EQ(*storage->sweep(std::chrono::seconds(0)), 0) << "nothing was left behind";
}

}  // namespace
}  // namespace det::checkpoint
