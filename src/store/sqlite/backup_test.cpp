#include "det/store/sqlite/backup.h"

#include <atomic>
#include <fstream>
#include <thread>

#include "det/store/contract/contract_fixture.h"
#include "det/store/move.h"

namespace det::store {
namespace {

std::unique_ptr<Store> open(const std::filesystem::path& path) {
  auto opened = open_sqlite({.path = path, .on_stall = {}});
  EXPECT_TRUE(opened) << opened.error().message();
  return *std::move(opened);
}

TEST(Backup, HasAllThatWasCommittedAndOpensAsADatabase) {
  TemporaryDirectory directory;
  auto store = open(directory.path() / "det.db");
  store->commit({PutSetting{"who", "before"}, PutExperiment{sample_experiment(1)}}, [] {});
  store->flush();
  int last_done = 0, pages = 0;
  const auto copied = back_up_sqlite(directory.path() / "det.db", directory.path() / "copy.db",
                                     [&](int done, int all) { last_done = done, pages = all; });
  ASSERT_TRUE(copied) << copied.error().message();
  EXPECT_EQ(last_done, pages);
  EXPECT_GT(pages, 0);
  store->commit({PutSetting{"who", "after"}}, [] {});
  store->flush();
  auto copy = open(directory.path() / "copy.db");
  EXPECT_EQ(copy->setting("who"), "before");
  EXPECT_TRUE(copy->experiment(ExperimentId(1)));
}

TEST(Backup, IsOneMomentOfADatabaseThatIsBeingWritten) {
  TemporaryDirectory directory;
  auto store = open(directory.path() / "det.db");
  std::atomic<bool> stop{false};
  std::thread writer([&] {  // the two settings are always equal
    for (int i = 0; !stop; ++i) {
      store->commit({PutSetting{"a", std::to_string(i)}, PutSetting{"b", std::to_string(i)}}, [] {});
      store->flush();
    }
  });
  for (int i = 0; i < 20; ++i) {
    const auto path = directory.path() / fmt::format("copy{}.db", i);
    const auto copied = back_up_sqlite(directory.path() / "det.db", path);
    ASSERT_TRUE(copied) << copied.error().message();
    auto copy = open(path);
    EXPECT_EQ(copy->setting("a"), copy->setting("b"));
  }
  stop = true;
  writer.join();
}

TEST(Backup, RefusesWhatIsNotThereAndOverwritesNothing) {
  TemporaryDirectory directory;
  EXPECT_EQ(back_up_sqlite(directory.path() / "no.db", directory.path() / "copy.db").error().code(),
            ErrorCode::NotFound);
  open(directory.path() / "det.db");
  open(directory.path() / "other.db");
  const auto refused = back_up_sqlite(directory.path() / "det.db", directory.path() / "other.db");
  EXPECT_EQ(refused.error().code(), ErrorCode::AlreadyExists);
  const auto nowhere = back_up_sqlite(directory.path() / "det.db", directory.path() / "no" / "copy.db");
  EXPECT_EQ(nowhere.error().code(), ErrorCode::Unavailable);
}

TEST(Backup, ThatIsUnfinishedIsNeitherOpenedNorMoved) {
  TemporaryDirectory directory;
  open(directory.path() / "determined.db");
  std::ofstream(directory.path() / kUnfinishedBackup) << "x";
  const auto opened = open_sqlite({.path = directory.path() / "determined.db", .on_stall = {}});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message().find("is an unfinished backup"), std::string::npos);
  const auto moved = move_store("sqlite:" + directory.path().string(), "postgres://det@127.0.0.1:1/x");
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().message(), opened.error().message());
}

}  // namespace
}  // namespace det::store
