// Space that deleted experiments leave is returned to the file system while the store is used.

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "det/store/contract/contract_fixture.h"
#include "det/store/sqlite/backup.h"
#include "det/store/sqlite/sqlite.h"

namespace det::store {
namespace {

class Space : public ::testing::Test {
 protected:
  static constexpr std::int64_t kPage = 4096, kPagesKept = 64;

  void open() {
    SqliteSettings settings;
    settings.free_pages_kept = kPagesKept;
    settings.checkpoint_pages = 256;
    store = *open_sqlite(path(), settings);
  }
  std::filesystem::path path() const { return directory.path() / "det.db"; }
  std::int64_t size() const { return static_cast<std::int64_t>(std::filesystem::file_size(path())); }
  /// The reports of ten trials, of some megabytes.
  void fill(std::int64_t experiment) {
    std::vector<Change> changes;
    changes.emplace_back(PutExperiment{sample_experiment(experiment)});
    for (std::int64_t t = 1; t <= 10; ++t) {
      changes.emplace_back(PutTrial{sample_trial(10 * experiment + t, experiment)});
      for (std::int64_t n = 1; n <= 1000; ++n)
        changes.emplace_back(
            AddMetrics{report(10 * experiment + t, 1, "training", n, {{"text", std::string(700, 'x')}})});
    }
    store->commit(std::move(changes), [] {});
    store->flush();
  }
  std::int64_t pragma(const char* name) const {
    SqliteConnection connection(path(), SqliteConnection::Mode::Read);
    Query query(connection, OneTimeSql{std::string("PRAGMA ") + name});
    query.next();
    return query.get<std::int64_t>();
  }
  bool shrinks_to(std::int64_t bytes) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (size() > bytes && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return size() <= bytes;
  }
  void expect_the_second_is_whole() {
    EXPECT_EQ(store->metrics({.trial = TrialId(21)}).size(), 1200u);
    EXPECT_EQ(store->metrics({.trial = TrialId(30)}).size(), 1000u);
  }

  TemporaryDirectory directory;
  std::unique_ptr<Store> store;
};

TEST_F(Space, OfADeletedExperimentIsReturnedWhileOthersAreWritten) {
  open();
  fill(1);
  fill(2);
  store.reset();
  const auto two = size();
  open();
  store->commit({DeleteExperiment{ExperimentId(1)}}, [] {});
  for (std::int64_t n = 1; n <= 200; ++n)
    store->commit({AddMetrics{report(21, 1, "validation", n, {{"loss", 1}})}}, [] {});
  EXPECT_TRUE(shrinks_to(two * 6 / 10)) << size() << " of " << two;
  EXPECT_GE(pragma("freelist_count"), kPagesKept);  // for what is written next
  expect_the_second_is_whole();
  store.reset();
  open();
  expect_the_second_is_whole();
}

TEST_F(Space, IsReturnedAfterAStartIfTheDeletionWasInterrupted) {
  open();
  fill(1);
  fill(2);
  store->commit({DeleteExperiment{ExperimentId(1)}}, [] {});
  store.reset();
  const auto two = size();
  open();
  EXPECT_TRUE(shrinks_to(two * 6 / 10)) << size() << " of " << two;
}

TEST_F(Space, OfAFileThatCannotShrinkIsReturnedByABackupBesideItsMaster) {
  {
    SqliteConnection older(path(), SqliteConnection::Mode::Write);
    older.execute("PRAGMA auto_vacuum = NONE; CREATE TABLE first (x)");  // which decides it
    older.execute("DROP TABLE first");
  }
  open();
  ASSERT_EQ(pragma("auto_vacuum"), 0);
  fill(1);
  fill(2);
  store.reset();
  const auto two = size();
  open();
  store->commit({DeleteExperiment{ExperimentId(1)}}, [] {});
  store->flush();
  const auto copy = directory.path() / "copy.db";
  const auto copied = back_up_sqlite(path(), copy);
  ASSERT_TRUE(copied) << copied.error().message();
  store->commit({AddMetrics{report(21, 1, "validation", 1, {{"loss", 1}})}}, [] {});
  store.reset();
  std::filesystem::rename(copy, path());
  EXPECT_EQ(pragma("auto_vacuum"), 2);  // incremental
  open();
  EXPECT_TRUE(shrinks_to(two * 6 / 10)) << size() << " of " << two;
  EXPECT_EQ(store->metrics({.trial = TrialId(21)}).size(), 1000u);
}

}  // namespace
}  // namespace det::store
