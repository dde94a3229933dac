// Many threads at once; meant for the thread sanitizer as well.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

class Concurrency : public StoreContract {
 protected:
  void SetUp() override {}
  std::unique_ptr<Store> open(const WriterOptions& options = {}) {
    return *GetParam().open(directory.path(), options);
  }
};

INSTANTIATE_TEST_SUITE_P(, Concurrency, kBackends, [](const auto& i) { return i.param.name; });

TEST_P(Concurrency, CommitsOfManyThreadsAreWholeAndSeenAfterTheirAcknowledgement) {
  constexpr int kThreads = 4, kCommits = 300;
  WriterOptions options;
  const auto store = open(options);
  std::atomic<int> done_count = 0, ended = 0;
  std::vector<std::thread> threads;
  for (int t = 1; t <= kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 1; i <= kCommits; ++i) {
        auto trial = sample_trial(t, 1);
        trial.batches = i;
        store->commit({PutTrial{trial}, AddMetrics{report(t, 1, "training", i, {{"n", i}})},
                       AddLogs{std::to_string(t), i - 1, {line(trial.task_id, std::to_string(i))}}},
                      [&] { ++done_count; });
        if (i % 50 != 0) continue;
        store->flush();
        EXPECT_GE(store->trial(TrialId(t))->batches, i);
      }
      ++ended;
    });
  for (int r = 0; r < 3; ++r)
    threads.emplace_back([&] {
      while (ended < kThreads)
        for (int t = 1; t <= kThreads; ++t) {
          // Two reads are two moments: what the second sees is never older.
          const auto trial = store->trial(TrialId(t));
          const auto latest = store->latest_metrics(TrialId(t), "training");
          if (trial) {
            ASSERT_TRUE(latest);
            EXPECT_GE(latest->batches, trial->batches);
          }
          store->summary_metrics(TrialId(t));
          store->logs({.task_id = sample_trial(t, 1).task_id, .limit = 10, .descending = true});
        }
    });
  for (auto& thread : threads) thread.join();
  store->flush();
  EXPECT_EQ(done_count, kThreads * kCommits);
  for (int t = 1; t <= kThreads; ++t) EXPECT_EQ(store->metrics({.trial = TrialId(t)}).size(), 1u * kCommits);
}

TEST_P(Concurrency, MoreReadersThanConnectionsWaitForOneAnother) {
  const auto store = open();
  store->commit({PutSetting{"k", "v"}}, nullptr);
  store->flush();
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(store->setting("k"), "v");
    });
  for (auto& thread : threads) thread.join();
}

TEST_P(Concurrency, AFullQueueSaysSoAndThenMakesTheCallerWait) {
  WriterOptions options;
  options.overloaded_bytes = 10'000;
  options.queue_bytes_max = 100'000;
  const auto store = open(options);
  std::atomic<bool> go = false;
  std::atomic<int> queued = 0;
  store->commit({}, [&] { go.wait(false); });  // holds the writer up
  std::thread caller([&] {
    for (int i = 0; i < 1000; ++i) {
      store->commit({PutTemplate{{"t", std::string(1000, 'x')}}}, nullptr);
      ++queued;
    }
  });
  while (!store->overloaded()) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LT(queued, 100);
  go = true;
  go.notify_all();
  caller.join();
  store->flush();
  EXPECT_FALSE(store->overloaded());
}

TEST_P(Concurrency, ACallbackMayCommitEvenWhenTheQueueIsFull) {
  WriterOptions options;
  options.queue_bytes_max = 1;
  const auto store = open(options);
  std::atomic<bool> done = false;
  store->commit({PutSetting{"a", "1"}}, [&] {
    for (int i = 0; i < 10; ++i)
      store->commit({PutSetting{"b", std::to_string(i)}}, [&, i] { done = i == 9; });
  });
  while (!done) std::this_thread::yield();
  EXPECT_EQ(store->setting("b"), "9");
}

}  // namespace
}  // namespace det::store
