// Power cuts at every moment of the writing of a database, on a disk that loses what was
// not synced, in any part. DET_CRASH_IMAGES=50000 tries that many; the default fits a build.

#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>

#include "det/store/contract/contract_fixture.h"
#include "det/store/sqlite/crash_disk.h"

namespace det::store {
namespace {

struct Outcome {
  std::atomic<int> images = 0;
  int lost = 0;       ///< an acknowledged commit is not there
  int not_whole = 0;  ///< part of a commit is there
  std::string first;  ///< what was wrong first
};

std::vector<Change> numbered(std::int64_t n) {
  auto trial = sample_trial(1 + n % 7, 1);
  trial.batches = n;
  return {AppendEvent{{n, Time{n}, boost::json::string(static_cast<std::size_t>(n % 5) * 3000, 'x')}},
          PutTrial{trial}, AddMetrics{report(1, 1, "training", n, {{"n", n}})},
          AddLogs{"s", n - 1, {line("t", std::to_string(n))}}, PutSetting{"n", std::to_string(n)}};
}

void check(const std::filesystem::path& database, std::int64_t acknowledged, Outcome& outcome) {
  ++outcome.images;
  const auto wrong = [&](int& count, const std::string& what) {
    ++count;
    if (outcome.first.empty()) outcome.first = fmt::format("image {}: {}", outcome.images.load(), what);
  };
  SqliteSettings options;
  options.reserve_log = false;  // the image is read once
  const auto opened = open_sqlite(database, options);
  if (!opened) return wrong(outcome.lost, opened.error().message());
  auto& store = **opened;
  const auto n = static_cast<std::int64_t>(store.events_after(0, 0).size());
  if (n < acknowledged)
    return wrong(outcome.lost, fmt::format("{} of {} acknowledged commits are there", n, acknowledged));
  const auto metrics = static_cast<std::int64_t>(store.metrics({.trial = TrialId(1)}).size());
  const auto logs = static_cast<std::int64_t>(store.logs({.task_id = "t"}).size());
  const auto setting = store.setting("n").value_or("0");
  if (metrics != n || logs != n || setting != std::to_string(n))
    wrong(outcome.not_whole,
          fmt::format("{} events, {} reports, {} lines, setting {}", n, metrics, logs, setting));
}

void cut_power(SqliteSettings options, int images_max, Outcome& outcome) {
  using Unsynced = CrashDisk::Unsynced;
  CrashDisk::install();
  const TemporaryDirectory directory;
  const auto database = directory.path() / "det.db";
  options.checkpoint_pages = 40;
  const auto store = *open_sqlite(database, options);
  std::mt19937 random(3), flushes(4);
  std::int64_t acknowledged = 0;  // of the writer's thread, like the operations and `random`
  std::unique_ptr<CrashDisk> disk;
  const auto power_cut = [&] {
    if (outcome.images >= images_max || random() % 4 != 0) return;
    for (const auto unsynced : {Unsynced::None, Unsynced::All, Unsynced::Some}) {
      const TemporaryDirectory image;
      disk->write_image(image.path(), unsynced, random);
      check(image.path() / "det.db", acknowledged, outcome);
    }
  };
  disk = std::make_unique<CrashDisk>(database, power_cut);
  for (std::int64_t n = 1; outcome.images < images_max; ++n) {
    store->commit(numbered(n), [&] { ++acknowledged; });
    if (flushes() % 2 == 0) store->flush();
    if (n % 100 == 0) store->flush();
  }
  store->flush();
  disk.reset();
}

int images_wanted() {
  const char* wanted = std::getenv("DET_CRASH_IMAGES");
  return wanted != nullptr ? std::atoi(wanted) : 300;
}

TEST(PowerCut, LosesNothingThatWasAcknowledgedAndLeavesCommitsWhole) {
  Outcome outcome;
  cut_power(SqliteSettings{}, images_wanted(), outcome);
  EXPECT_GE(outcome.images, 300);
  EXPECT_EQ(outcome.lost, 0) << outcome.first;
  EXPECT_EQ(outcome.not_whole, 0) << outcome.first;
}

TEST(PowerCut, WouldLoseCommitsThatAreNotSynced) {
  // The test above is trusted only because it sees the loss where there is one.
  SqliteSettings options;
  options.sync_every_commit = false;
  Outcome outcome;
  cut_power(options, 300, outcome);
  EXPECT_GT(outcome.lost, 0);
  EXPECT_EQ(outcome.not_whole, 0) << outcome.first;
}

TEST(PowerCut, AFailedSyncEndsTheProcessAndAcknowledgesNothing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  using ::testing::AllOf, ::testing::HasSubstr, ::testing::Not;
  EXPECT_DEATH(
      {
        CrashDisk::install();
        const TemporaryDirectory directory;
        const auto store = *open_sqlite(SqliteOptions{directory.path() / "det.db", {}});
        CrashDisk::fail_syncs();
        store->commit({PutSetting{"k", "v"}}, [] { std::fputs("acknowledged\n", stderr); });
        store->flush();
      },
      AllOf(HasSubstr("det.db could not be written"), HasSubstr("disk I/O error"),
            Not(HasSubstr("acknowledged\n"))));
}

}  // namespace
}  // namespace det::store
