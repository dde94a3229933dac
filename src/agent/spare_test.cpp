#include "det/agent/spare.h"

#include <fstream>

#include "det/agent/testing.h"

namespace det::agent {
namespace {

namespace fs = std::filesystem;

struct Spare : ::testing::Test {
  Spare() {
    spares.clear();
    fs::create_directories(task / "0");
    fs::create_directories(task / "work" / "deep");
    for (const char* file : {"0/spec.json", "0/shim.json", "0/exit.json", "0/started", "0/stdout.0",
                             "0/stderr.3", "logs.json", "work/model_def.py", "work/deep/data"})
      std::ofstream(task / file) << "old " << file;
  }
  std::vector<std::string> files(const fs::path& below) {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(below))
      found.push_back(entry.path().lexically_relative(below));
    std::ranges::sort(found);
    return found;
  }
  static auto inode(const fs::path& path) {
    struct stat status{};
    ::stat(path.c_str(), &status);
    return status.st_ino;
  }
  testing::TemporaryDirectory directory;
  fs::path task = directory / "one", next = directory / "two";
  SpareDirectories spares{directory / "spare"};
};

TEST_F(Spare, ATasksDirectoryBecomesThatOfTheNextWithoutWhatWasInIt) {
  const auto before = inode(task / "0" / "exit.json");
  ASSERT_TRUE(spares.keep(task));
  EXPECT_FALSE(fs::exists(task));
  ASSERT_TRUE(spares.take(next, "0"));
  EXPECT_EQ(files(next),
            (std::vector<std::string>{"0", "0/exit.json.new", "0/shim.json.new", "0/spec.json.new",
                                      "0/start.new", "logs.json.new", "work"}));
  EXPECT_FALSE(replace_file(next / "0" / "exit.json", "new", false));
  EXPECT_EQ(read_small_file(next / "0" / "exit.json").value(), "new");
  EXPECT_EQ(inode(next / "0" / "exit.json"), before) << "no file was created";
  EXPECT_FALSE(spares.take(directory / "three", "0")) << "there was one";
}

TEST_F(Spare, TheNextTaskMayBeAnotherRank) {
  ASSERT_TRUE(spares.keep(task));
  ASSERT_TRUE(spares.take(next, "3"));
  EXPECT_TRUE(fs::is_directory(next / "3"));
  EXPECT_FALSE(fs::exists(next / "0"));
}

TEST_F(Spare, WhatIsNotKnownIsNotKept) {
  std::ofstream(task / "0" / "core.1234") << "dump";
  EXPECT_FALSE(spares.keep(task));
  fs::remove(task / "0" / "core.1234");
  fs::create_directory(task / "packages");
  EXPECT_FALSE(spares.keep(task));
  fs::remove(task / "packages");
  fs::create_directory(task / "1");
  EXPECT_FALSE(spares.keep(task)) << "it had two ranks";
  fs::remove(task / "1");
  EXPECT_TRUE(spares.keep(task));
}

TEST_F(Spare, LinksAreNotFollowed) {
  fs::create_directory(directory / "elsewhere");
  std::ofstream(directory / "elsewhere" / "file") << "kept";
  fs::create_directory_symlink(directory / "elsewhere", task / "work" / "link");
  EXPECT_TRUE(spares.keep(task));
  EXPECT_TRUE(fs::exists(directory / "elsewhere" / "file"));
  fs::create_directories(task / "0");
  fs::create_directory_symlink(directory / "elsewhere", task / "work");
  EXPECT_FALSE(spares.keep(task));
  EXPECT_TRUE(fs::exists(directory / "elsewhere" / "file"));
}

TEST_F(Spare, SixteenAreKept) {
  int kept = 0;
  for (int i = 0; i < 20; ++i) {
    fs::create_directories(task / "0");
    kept += spares.keep(task) ? 1 : 0;
  }
  EXPECT_EQ(kept, 16);
}

}  // namespace
}  // namespace det::agent
