// A full disk: nothing is acknowledged, nothing is lost, and work goes on when there is space.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>
#include <thread>

#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

using std::chrono::milliseconds;

/// Fills a store until it stalls.
class FullDisk : public ::testing::Test {
 protected:
  void open(const std::filesystem::path& directory) {
    SqliteSettings options;
    options.retry_after = milliseconds(20);
    options.on_stall = [this](const std::string& message) {
      const std::lock_guard lock(mutex);
      messages.push_back(message);
    };
    store = *open_sqlite(directory / "det.db", options);
  }
  std::size_t message_count() {
    const std::lock_guard lock(mutex);
    return messages.size();
  }
  void commit_next() {
    const auto n = ++committed;
    store->commit(
        {AppendEvent{{n, Time{n}, boost::json::string(20'000, 'x')}}, PutSetting{"n", std::to_string(n)}},
        [this, n] { acknowledged = n; });
  }
  bool fill() {
    for (int i = 0; i < 1000 && message_count() == 0; ++i) {
      commit_next();
      std::this_thread::sleep_for(milliseconds(1));
    }
    return message_count() == 1;
  }
  void expect_all_there() {
    EXPECT_EQ(acknowledged, committed);
    EXPECT_EQ(static_cast<std::int64_t>(store->events_after(0, 0).size()), committed);
    EXPECT_EQ(store->setting("n"), std::to_string(committed));
  }

  std::mutex mutex;
  std::vector<std::string> messages;
  std::int64_t committed = 0;
  std::atomic<std::int64_t> acknowledged = 0;
  std::unique_ptr<Store> store;
};

/// Lets no file grow beyond a size while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(FullDisk, CommitsWaitForSpaceAndReadsGoOn) {
  const TemporaryDirectory directory;
  open(directory.path());
  commit_next();
  store->flush();
  {
    const FileSizeLimit limit(1 << 20);
    ASSERT_TRUE(fill()) << "the store did not notice";
    const auto before = acknowledged.load();
    EXPECT_LT(before, committed);
    std::this_thread::sleep_for(milliseconds(100));
    EXPECT_EQ(acknowledged, before);
    EXPECT_GE(std::stoll(*store->setting("n")), before);
    EXPECT_EQ(message_count(), 1u) << "told once, not at every try";
    EXPECT_TRUE(store->disk_full());
  }
  store->flush();
  EXPECT_FALSE(store->disk_full());
  EXPECT_EQ(message_count(), 2u);
  expect_all_there();
}

TEST_F(FullDisk, ClosingDoesNotWaitForSpace) {
  const TemporaryDirectory directory;
  open(directory.path());
  {
    const FileSizeLimit limit(1 << 20);
    ASSERT_TRUE(fill());
    store.reset();
  }
  const auto kept = acknowledged.load();
  open(directory.path());
  EXPECT_EQ(static_cast<std::int64_t>(store->events_after(0, 0).size()), kept);
}

TEST_F(FullDisk, ARealFullFileSystemIsSurvivedToo) {
  const TemporaryDirectory directory;
  if (mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=4m") != 0)
    GTEST_SKIP() << "cannot mount a small tmpfs here: " << std::strerror(errno);
  {
    std::ofstream(directory.path() / "ballast") << std::string(2 << 20, 'x');
    open(directory.path());
    EXPECT_TRUE(fill());
    std::filesystem::remove(directory.path() / "ballast");
    store->flush();
    expect_all_there();
    store.reset();
  }
  umount2(directory.path().c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace det::store
