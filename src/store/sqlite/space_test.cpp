// Space that deleted experiments leave is returned to the file system while the store is used.

#include <gtest/gtest.h>

#include <thread>

#include "det/store/contract/contract_fixture.h"
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
  /// The reports of ten trials of an experiment, of some megabytes.
  void fill(std::int64_t experiment) {
    std::vector<Change> changes;
    changes.emplace_back(PutExperiment{sample_experiment(experiment)});
    for (std::int64_t t = 1; t <= 10; ++t) {
      changes.emplace_back(PutTrial{sample_trial(10 * experiment + t, experiment)});
      for (std::int64_t n = 1; n <= 1000; ++n)
        changes.emplace_back(AddMetrics{
            report(10 * experiment + t, 1, "training", n, {{"text", std::string(1000, 'x')}})});
    }
    store->commit(std::move(changes), [] {});
    store->flush();
  }
  std::int64_t count(const char* sql) {
    SqliteConnection connection(path(), SqliteConnection::Mode::Read);
    Query query(connection, sql);
    query.next();
    return query.get<std::int64_t>();
  }
  bool shrinks_to(std::int64_t bytes) const {
    for (int attempt = 0; attempt < 2000; ++attempt) {
      if (size() <= bytes) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  TemporaryDirectory directory;
  std::unique_ptr<Store> store;
};

TEST_F(Space, OfADeletedExperimentIsReturnedWhileOthersAreWritten) {
  open();
  fill(1);
  const auto one = size();
  fill(2);
  store->commit({DeleteExperiment{ExperimentId(1)}}, [] {});
  for (std::int64_t n = 1; n <= 200; ++n)
    store->commit({AddMetrics{report(21, 1, "validation", n, {{"loss", 1}})}}, [] {});
  store->flush();
  EXPECT_TRUE(shrinks_to(one + 8 * kPagesKept * kPage)) << size() << " of " << one << ", free " << count("PRAGMA freelist_count") << ", kind " << count("PRAGMA auto_vacuum");
  EXPECT_EQ(store->metrics({.trial = TrialId(21)}).size(), 1200u);
  store.reset();
  open();
  EXPECT_EQ(store->metrics({.trial = TrialId(30)}).size(), 1000u);
}

}  // namespace
}  // namespace det::store
