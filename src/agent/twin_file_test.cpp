#include "det/agent/twin_file.h"

#include <sys/stat.h>

#include <fstream>
#include <set>

#include "det/agent/testing.h"

namespace det::agent {
namespace {

namespace fs = std::filesystem;

struct TwinFileTest : ::testing::Test {
  void write(int n) {
    const auto written = file.write({{"n", n}});
    ASSERT_TRUE(written) << written.error().message();
  }
  /// What an agent that starts now reads; -1: nothing.
  std::int64_t read() const {
    const auto content = TwinFile(path).read();
    return content ? content->at("n").to_number<std::int64_t>() : -1;
  }
  void damage(const fs::path& copy, std::streamoff at) const {
    std::fstream(copy, std::ios::in | std::ios::out).seekp(at) << "~";
  }

  const testing::TemporaryDirectory directory;
  const fs::path path = directory.path() / "agent.json";
  const fs::path other = directory.path() / "agent.json.new";
  TwinFile file{path};
};

TEST_F(TwinFileTest, TheNewestContentIsRead) {
  EXPECT_EQ(file.read().error().code(), ErrorCode::NotFound);
  for (int n = 1; n <= 5; ++n) {
    write(n);
    EXPECT_EQ(read(), n);
  }
}

TEST_F(TwinFileTest, NamesThatDidNotReachTheDiskDoNotMatter) {
  for (int n = 1; n <= 3; ++n) write(n);
  fs::rename(path, directory.path() / "newest");
  fs::rename(other, path);
  fs::rename(directory.path() / "newest", other);
  EXPECT_EQ(read(), 3);
  file = TwinFile(path);
  ASSERT_TRUE(file.read());
  write(4);
  EXPECT_EQ(read(), 4);
  damage(path, 30);
  EXPECT_EQ(read(), 3) << "the newest copy was not the one to overwrite";
}

TEST_F(TwinFileTest, ACopyWhoseOtherOneIsGoneIsEnough) {
  for (int n = 1; n <= 3; ++n) write(n);
  fs::rename(path, other);
  EXPECT_EQ(read(), 3);
  EXPECT_EQ(read(), 3);
}

TEST_F(TwinFileTest, OfACopyThatIsHalfWrittenTheOtherOneCounts) {
  for (const std::streamoff at : {0, 12, 22, 30}) {
    for (int n = 1; n <= 3; ++n) write(n);
    damage(path, at);
    EXPECT_EQ(read(), 2) << "damaged at byte " << at;
  }
}

TEST_F(TwinFileTest, OneOfEmptyFilesAndOfDamagedOnesIsNeverTakenForContent) {
  write(1);
  std::ofstream(path, std::ios::trunc);
  const auto nothing = file.read();
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code(), ErrorCode::Internal);
  EXPECT_NE(nothing.error().message().find("agent.json is damaged"), std::string::npos);
}

TEST_F(TwinFileTest, AFileOfAnEarlierVersionIsRead) {
  std::ofstream(path) << R"({"n":7})";
  std::ofstream(other) << R"({"n":6})";
  EXPECT_EQ(read(), 7);
  ASSERT_TRUE(file.read());
  write(8);
  EXPECT_EQ(read(), 8);
}

TEST_F(TwinFileTest, WhatAnEarlierVersionWroteAfterwardsCounts) {
  for (int n = 1; n <= 5; ++n) write(n);
  fs::rename(path, other);  // as it leaves the former file
  std::ofstream(path) << R"({"n":6})";
  EXPECT_EQ(read(), 6);
  file = TwinFile(path);
  ASSERT_TRUE(file.read());
  write(7);
  EXPECT_EQ(read(), 7);
  write(8);
  EXPECT_EQ(read(), 8);
}

TEST_F(TwinFileTest, ContentMayGrowAndShrink) {
  for (const std::size_t size : {10, 10'000, 3, 5'000}) {
    ASSERT_TRUE(file.write({{"text", std::string(size, 'x')}}));
    EXPECT_EQ(TwinFile(path).read()->at("text").get_string().size(), size);
  }
}

TEST_F(TwinFileTest, WritingAgainCreatesNoFile) {
  write(1);
  write(2);
  const auto inodes = [&] {
    std::set<ino_t> found;
    for (const auto& copy : {path, other}) {
      struct stat status{};
      ::stat(copy.c_str(), &status);
      found.insert(status.st_ino);
    }
    return found;
  };
  const auto before = inodes();
  for (int n = 3; n < 10; ++n) write(n);
  EXPECT_EQ(inodes(), before);
}

}  // namespace
}  // namespace det::agent
