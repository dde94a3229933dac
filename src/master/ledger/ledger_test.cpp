#include "det/master/ledger/ledger.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>

#include "det/config/experiment_config.h"

namespace det::master {
namespace {

/// A store in a directory of its own, and ledgers on it, one after the other as restarts make them.
class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest()
      : directory_(std::filesystem::temp_directory_path() / fmt::format("ledger-test-{}", ::getpid())) {
    std::filesystem::remove_all(directory_);
    restart();
  }
  ~LedgerTest() override {
    ledger_.reset();
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  void restart() {
    ledger_.reset();
    store_.reset();
    auto store = store::open_sqlite({.path = directory_ / "test.db", .on_stall = {}});
    ASSERT_TRUE(store) << store.error().message();
    store_ = *std::move(store);
    ledger_ = std::make_unique<Ledger>(context_.get_executor(), *store_,
                                       [this] { return Time{++clock_ * kSecond}; });
    const auto restored = ledger_->restore();
    ASSERT_TRUE(restored) << restored.error().message();
  }

  template <class T>
  T wait(asio::awaitable<T> work) {
    std::optional<T> result;
    asio::co_spawn(context_, std::move(work), [&](std::exception_ptr failure, T value) {
      if (failure) std::rethrow_exception(failure);
      result = std::move(value);
    });
    context_.restart();
    while (!result) context_.run_one();
    return *std::move(result);
  }

  static cluster::Event joined(const std::string& agent) {
    return cluster::AgentJoined{
        .agent = agent, .resource_pool = "default", .hostname = agent, .version = "1", .slots = {{.id = 0}}};
  }

  static cluster::ExperimentSubmitted submission() {
    cluster::ExperimentSubmitted submitted;
    config::Layers layers;
    layers.master["checkpoint_storage"] = {{"type", "shared_fs"}, {"host_path", "/checkpoints"}};
    layers.user_yaml =
        "searcher: {name: single, metric: loss, max_length: {batches: 100}}\nentrypoint: m:T\n"
        "hyperparameters: {global_batch_size: 8}\n";
    const auto resolved =
        config::resolve(layers, {.now = {}, .pet_name = "test", .resource_pools = std::nullopt});
    if (!resolved) throw std::runtime_error(join_errors(resolved.error()).message());
    submitted.record.config = resolved->config.document;
    return submitted;
  }

  std::filesystem::path directory_;
  std::int64_t clock_ = 1'000;
  asio::io_context context_{1};
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Ledger> ledger_;
};

TEST_F(LedgerTest, WhatWasAnsweredIsThereAfterARestart) {
  ASSERT_TRUE(wait(ledger_->handle(joined("a"))));
  restart();
  EXPECT_TRUE(ledger_->cluster().agents().contains("a"));
}

TEST_F(LedgerTest, EachStartIsANewEpoch) {
  const auto first = ledger_->cluster().epoch();
  restart();
  EXPECT_EQ(ledger_->cluster().epoch(), first + 1);
}

TEST_F(LedgerTest, ARefusedEventLeavesNoTrace) {
  const auto before = json::serialize(ledger_->cluster().snapshot());
  const auto refused =
      wait(ledger_->handle(cluster::ExperimentCommanded{ExperimentId{9}, cluster::Verb::Pause}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(json::serialize(ledger_->cluster().snapshot()), before);
  EXPECT_TRUE(store_->events_after(1, 100).empty()) << "only the start is remembered";
}

TEST_F(LedgerTest, ASnapshotAndTheEventsAfterItGiveTheSameCluster) {
  ASSERT_TRUE(wait(ledger_->handle(joined("a"))));
  ledger_->save_snapshot();
  ASSERT_TRUE(wait(ledger_->handle(joined("b"))));
  restart();
  EXPECT_TRUE(ledger_->cluster().agents().contains("a"));
  EXPECT_TRUE(ledger_->cluster().agents().contains("b"));
}

TEST_F(LedgerTest, WhatIsDecidedSoonIsStoredInItsTurnWithTheNextCommit) {
  ASSERT_TRUE(ledger_->handle_soon(joined("a"), {}, "agent a"));
  EXPECT_TRUE(ledger_->cluster().agents().contains("a")) << "decided at once";
  ASSERT_TRUE(wait(ledger_->handle(joined("b"))));
  const auto events = store_->events_after(1, 100);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_NE(json::serialize(events[0].body).find("agent a"), std::string::npos);
  restart();
  EXPECT_TRUE(ledger_->cluster().agents().contains("a"));
}

TEST_F(LedgerTest, WhatIsDecidedSoonIsStoredWithoutAnotherCommit) {
  bool rang = false;
  const auto waited = [&]() -> asio::awaitable<bool> {
    Watch watch(*ledger_, Ledger::cluster_key());
    if (!ledger_->handle_soon(joined("a"), {}, "agent a")) co_return false;
    co_await watch.wait(std::chrono::seconds(5));
    rang = watch.rang().contains(Ledger::cluster_key());
    co_return true;
  };
  ASSERT_TRUE(wait(waited()));
  EXPECT_TRUE(rang);
  EXPECT_EQ(store_->events_after(1, 100).size(), 1u);
}

TEST_F(LedgerTest, NobodySeesWhatIsDecidedSoonBeforeItIsDurable) {
  const auto durable = [this](bool all) -> asio::awaitable<std::size_t> {
    if (all)
      co_await ledger_->durable();
    else
      co_await ledger_->durable_but_soon();
    co_return store_->events_after(1, 100).size();
  };
  ASSERT_TRUE(ledger_->handle_soon(joined("a"), {}, "agent a"));
  EXPECT_EQ(wait(durable(false)), 0u);
  EXPECT_EQ(wait(durable(true)), 1u);
}

TEST_F(LedgerTest, ASnapshotIsNeverAheadOfTheRowsOfWhatItKnows) {
  ASSERT_TRUE(ledger_->handle_soon(joined("a"), {}, "agent a"));
  ledger_->save_snapshot();
  store_->flush();
  EXPECT_EQ(store_->events_after(1, 100).size(), 1u);
}

TEST_F(LedgerTest, ARingBetweenLookingAndWaitingIsNotMissed) {
  const auto waited = [this](std::chrono::milliseconds limit) -> asio::awaitable<bool> {
    Watch watch(*ledger_, "key");
    ledger_->ring("key");  // while its owner looks elsewhere
    const auto begin = std::chrono::steady_clock::now();
    co_await watch.wait(limit);
    co_return std::chrono::steady_clock::now() - begin < limit;
  };
  EXPECT_TRUE(wait(waited(std::chrono::seconds(5))));
}

TEST_F(LedgerTest, ARingCountsOnce) {
  const auto waited_twice = [this]() -> asio::awaitable<bool> {
    Watch watch(*ledger_, "key");
    ledger_->ring("key");
    ledger_->ring("key");
    co_await watch.wait(std::chrono::seconds(5));
    const auto begin = std::chrono::steady_clock::now();
    co_await watch.wait(std::chrono::milliseconds(30));
    co_return std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(30);
  };
  EXPECT_TRUE(wait(waited_twice()));
}

TEST_F(LedgerTest, TheEndOfAnAllocationIsToldOnceItIsDurable) {
  std::vector<std::string> over;
  ledger_->on_allocation_over([&](const std::string& id) { over.push_back(id); });
  const auto submitted = submission();
  ASSERT_TRUE(wait(ledger_->handle(joined("a"))));
  const auto done = wait(ledger_->handle(submitted));
  ASSERT_TRUE(done);
  ASSERT_EQ(ledger_->cluster().allocations().size(), 1u);
  const auto id = ledger_->cluster().allocations().begin()->first;
  EXPECT_TRUE(over.empty());
  const auto trial = ledger_->cluster().allocation(id)->record.trial_id;
  // Who of it waits for operations has to learn that it is over: its key rings, too.
  const auto rung = [&]() -> asio::awaitable<bool> {
    Watch watch(*ledger_, Ledger::trial_key(trial));
    cluster::Event exited = cluster::AllocationExited{id, "a", {{.rank = 0, .code = 1}}};
    const auto handled = co_await ledger_->handle(std::move(exited));
    const auto begin = std::chrono::steady_clock::now();
    co_await watch.wait(std::chrono::seconds(5));
    co_return handled&& std::chrono::steady_clock::now() - begin < std::chrono::seconds(5);
  };
  EXPECT_TRUE(wait(rung()));
  EXPECT_EQ(over, std::vector{id});
}

TEST_F(LedgerTest, WhatCannotBeReadStopsTheStartAndEndsNothing) {
  ASSERT_TRUE(wait(ledger_->handle(joined("a"))));
  ASSERT_TRUE(wait(ledger_->handle(submission(), {}, "")));
  const auto sequence = store_->events_after(0, 0).back().sequence + 1;
  ledger_.reset();
  std::vector<store::Change> changes;
  const json::value unreadable = json::object{{"event", "of a later version"}};
  changes.push_back(store::AppendEvent{{sequence, Time{clock_ * kSecond}, unreadable}});
  store_->commit(std::move(changes), [] {});
  store_->flush();
  Ledger again(context_.get_executor(), *store_, [this] { return Time{++clock_ * kSecond}; });
  const auto restored = again.restore();
  ASSERT_FALSE(restored) << "it would go on without what it could not read";
  EXPECT_FALSE(restored.error().message().empty());
  EXPECT_EQ(store_->events_after(0, 0).back().sequence, sequence)
      << "nothing follows what was not understood";
  ASSERT_EQ(store_->trials(ExperimentId{1}).size(), 1u);
  EXPECT_EQ(store_->trials(ExperimentId{1}).at(0).state, experiment::State::Active);
  EXPECT_EQ(store_->experiment(ExperimentId{1})->state, experiment::State::Active);
}

TEST_F(LedgerTest, TenThousandExperimentsAreRestoredAtOnce) {
  constexpr int kMany = 10'000;
  auto one = submission();
  one.activate = false;  // so that no plan is made for each of them
  int done = 0;
  for (int i = 0; i < kMany; ++i)
    asio::co_spawn(context_, ledger_->handle(one, {}, "ada"), [&](std::exception_ptr failure, auto handled) {
      ASSERT_FALSE(failure);
      ASSERT_TRUE(handled) << handled.error().message();
      ++done;
    });
  context_.restart();
  while (done < kMany) context_.run_one();
  const auto begin = std::chrono::steady_clock::now();
  restart();
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(ledger_->cluster().experiments().size(), static_cast<std::size_t>(kMany));
  EXPECT_EQ(ledger_->cluster().experiments().rbegin()->second.record().state, experiment::State::Paused);
  EXPECT_LT(std::chrono::duration<double>(took).count(), 120);
  RecordProperty("milliseconds", static_cast<int>(std::chrono::duration<double, std::milli>(took).count()));
}

TEST_F(LedgerTest, TimeNeverRunsBackwards) {
  const auto before = ledger_->now();
  clock_ = 5;
  EXPECT_GE(ledger_->now(), before);
}

}  // namespace
}  // namespace det::master
