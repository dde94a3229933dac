#include "det/master/ledger.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>

namespace det::master {
namespace {

/// A store in a directory of its own, and ledgers on it, one after the other as restarts make them.
class LedgerTest : public testing::Test {
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

TEST_F(LedgerTest, TimeNeverRunsBackwards) {
  const auto before = ledger_->now();
  clock_ = 5;
  EXPECT_GE(ledger_->now(), before);
}

}  // namespace
}  // namespace det::master
