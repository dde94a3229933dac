#include "det/cli/context/context.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "det/base/text.h"
#include "det/cli/context/ignore.h"
#include "det/cli/test_master.h"

namespace det::cli {
namespace {

namespace fs = std::filesystem;
using test::TemporaryDirectory;

struct IgnoreCase {
  const char* name;
  const char* patterns;
  const char* path;
  bool directory;
  bool ignored;
};

class Ignore : public ::testing::TestWithParam<IgnoreCase> {};

TEST_P(Ignore, IsWhatGitWouldIgnore) {
  const auto& c = GetParam();
  IgnoreRules rules;
  rules.add(c.patterns);
  EXPECT_EQ(rules.ignored(c.path, c.directory), c.ignored);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, Ignore, ::testing::Values(
    IgnoreCase{"name_at_any_depth",          "data",           "a/b/data",     false, true},
    IgnoreCase{"star_stops_at_slash",        "a/*",            "a/b/c",        false, false},
    IgnoreCase{"star_within_name",           "*.csv",          "x/train.csv",  false, true},
    IgnoreCase{"question_mark",              "?.py",           "a.py",         false, true},
    IgnoreCase{"question_mark_is_one",       "?.py",           "ab.py",        false, false},
    IgnoreCase{"slash_at_start_anchors",     "/data",          "x/data",       false, false},
    IgnoreCase{"slash_inside_anchors",       "x/data",         "y/x/data",     false, false},
    IgnoreCase{"slash_at_end_is_directory",  "data/",          "data",         false, false},
    IgnoreCase{"directory_matches",          "data/",          "x/data",       true,  true},
    IgnoreCase{"two_stars_first",            "**/data",        "a/b/data",     false, true},
    IgnoreCase{"two_stars_first_at_top",     "**/data",        "data",         false, true},
    IgnoreCase{"two_stars_last",             "data/**",        "data/a/b",     false, true},
    IgnoreCase{"two_stars_last_not_itself",  "data/**",        "data",         true,  false},
    IgnoreCase{"two_stars_between_none",     "a/**/b",         "a/b",          false, true},
    IgnoreCase{"two_stars_between_many",     "a/**/b",         "a/x/y/b",      false, true},
    IgnoreCase{"two_stars_in_a_name",        "a**b",           "a/b",          false, false},
    IgnoreCase{"last_pattern_decides",       "*.csv\n!a.csv",  "a.csv",        false, false},
    IgnoreCase{"and_again",                  "!a.csv\n*.csv",  "a.csv",        false, true},
    IgnoreCase{"comment",                    "# a\n#b",        "#b",           false, false},
    IgnoreCase{"escaped_hash",               "\\#b",           "#b",           false, true},
    IgnoreCase{"escaped_exclamation",        "\\!b",           "!b",           false, true},
    IgnoreCase{"spaces_at_end_go",           "a  ",            "a",            false, true},
    IgnoreCase{"escaped_space_stays",        "a\\ ",           "a ",           false, true},
    IgnoreCase{"class_range",                "[a-c].py",       "b.py",         false, true},
    IgnoreCase{"class_negated",              "[!a-c].py",      "b.py",         false, false},
    IgnoreCase{"class_with_bracket",         "[]x].py",        "].py",         false, true},
    IgnoreCase{"class_never_closed",         "[ab",            "a",            false, false},
    IgnoreCase{"escaped_star",               "\\*",            "x",            false, false},
    IgnoreCase{"windows_line_end",           "a\r\nb\r\n",     "a",            false, true},
    IgnoreCase{"case_matters",               "Data",           "data",         false, false},
    IgnoreCase{"many_stars_are_quick",       "*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false, false}),
    [](const auto& info) { return info.param.name; });
// clang-format on

std::vector<std::string> paths(const Context& context) {
  std::vector<std::string> list;
  for (const auto& entry : context.entries) list.push_back(entry.path + (entry.directory ? "/" : ""));
  return list;
}

TEST(PackContext, CountsDirectoriesAndTheEncodedSize) {
  const TemporaryDirectory directory;
  directory.write("model_def.py", "12345");
  directory.write("layers/conv.py", "x");
  directory.write("layers/empty.py", "");
  const auto context = pack_context(directory.path(), {}).value();
  EXPECT_EQ(paths(context),
            (std::vector<std::string>{"layers/", "layers/conv.py", "layers/empty.py", "model_def.py"}));
  EXPECT_EQ(context.bytes, 8 + 4);
  EXPECT_EQ(base64_decode(context.entries[3].content).value(), "12345");
}

TEST(PackContext, LeavesOutWhatPythonCompilesAndWhatDetignoreSays) {
  const TemporaryDirectory directory;
  for (const auto* name : {"a.py", "a.pyc", "a.pyo", "x$py.class", "__pycache__/a.pyc", "sub/__pycache__/b",
                           ".git/config", "sub/.git", ".idea/a.xml", "infra/a.tfstate", "data/big.bin",
                           "sub/keep.log", "out.log", ".hidden", "sub/.detignore"})
    directory.write(name, "x");
  directory.write(".detignore", "data/\n*.log\n!keep.log\n");
  EXPECT_EQ(paths(pack_context(directory.path(), {}).value()),
            (std::vector<std::string>{".hidden", "a.py", "infra/", "sub/", "sub/keep.log"}));
}

TEST(PackContext, TakesLinksForWhatTheyPointTo) {
  const TemporaryDirectory outside, directory;
  outside.write("shared/lib.py", "lib");
  directory.write("a.py", "a");
  fs::create_symlink(outside.path() + "/shared", directory.path() + "/shared");
  fs::create_symlink("a.py", directory.path() + "/b.py");
  fs::create_symlink("nowhere", directory.path() + "/broken");
  fs::create_symlink(".", directory.path() + "/loop");
  const auto context = pack_context(directory.path(), {}).value();
  EXPECT_EQ(paths(context), (std::vector<std::string>{"a.py", "b.py", "loop/", "shared/", "shared/lib.py"}));
  EXPECT_EQ(
      context.skipped,
      (std::vector<std::string>{"Error reading 'broken', skipping this file.",
                                "Error reading 'loop' (a link to a parent directory), skipping this file."}));
}

TEST(PackContext, SkipsAndNamesWhatCannotBeRead) {
  const TemporaryDirectory directory;
  directory.write("a.py", "a");
  ASSERT_EQ(::mkfifo((directory.path() + "/pipe").c_str(), 0600), 0);
  const auto context = pack_context(directory.path(), {}).value();
  EXPECT_EQ(paths(context), std::vector<std::string>{"a.py"});
  EXPECT_EQ(context.skipped,
            std::vector<std::string>{"Error reading 'pipe' (not a file or directory), skipping this file."});
  if (::getuid() == 0) GTEST_SKIP() << "the superuser may read every file";
  ::chmod(directory.write("secret", "s").c_str(), 0);
  EXPECT_EQ(pack_context(directory.path(), {}).value().skipped[1],
            "Error reading 'secret', skipping this file.");
}

TEST(PackContext, RefusesWhatIsTooLargeWithoutReadingIt) {
  const TemporaryDirectory directory;
  const auto path = directory.write("huge", "");
  fs::resize_file(path, 1LL << 40);  // sparse
  const auto packed = pack_context(directory.path(), {});
  ASSERT_FALSE(packed);
  EXPECT_EQ(
      packed.error().message(),
      "Directory '" + directory.path() +
          "' exceeds the maximum allowed size 95.0MB.\nConsider using a .detignore file to specify that "
          "certain files or directories should be omitted from the model.");
}

TEST(PackContext, ReachesItsLimitAndNoFurther) {
  const TemporaryDirectory directory;
  directory.write("a", "abc");
  EXPECT_TRUE(pack_context(directory.path(), {}, {}, 4));
  EXPECT_FALSE(pack_context(directory.path(), {}, {}, 3));
}

TEST(PackContext, SaysWhatIsWrongWithItsDirectory) {
  const TemporaryDirectory directory;
  const auto file = directory.write("file", "x");
  EXPECT_EQ(pack_context("/no/such", {}).error().message(), "Path '/no/such' doesn't exist");
  EXPECT_EQ(pack_context(file, {}).error().message(), "Path '" + file + "' must be a directory");
}

TEST(PackContext, PutsIncludesAtTheTopOnce) {
  const TemporaryDirectory directory, other;
  directory.write("a.py", "a");
  const auto tools = fs::path(other.write("tools/t.py", "t")).parent_path().string();
  const auto extra = other.write("extra.py", "e");
  EXPECT_EQ(paths(pack_context(directory.path(), {tools, extra}).value()),
            (std::vector<std::string>{"a.py", "extra.py", "tools/", "tools/t.py"}));
  EXPECT_EQ(paths(pack_context("", {extra}).value()), std::vector<std::string>{"extra.py"});
  EXPECT_EQ(pack_context(directory.path(), {other.write("x/a.py", "2")}).error().message(),
            "Path 'a.py' would be in the model definition twice; remove one --include");
}

TEST(PackContext, IsSentAsTheMasterTakesIt) {
  const TemporaryDirectory directory;
  ::chmod(directory.write("run.sh", "hi").c_str(), 0755);
  fs::create_directory(directory.path() + "/d");
  ::chmod((directory.path() + "/d").c_str(), 0700);
  const auto files = context_json(pack_context(directory.path(), {}).value());
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].at("path"), "d");
  EXPECT_EQ(files[0].at("type"), 53);
  EXPECT_EQ(files[0].at("content"), "");
  EXPECT_EQ(files[0].at("mode"), 0700);
  EXPECT_EQ(files[1].at("type"), 48);
  EXPECT_EQ(files[1].at("content"), "aGk=");
  EXPECT_EQ(files[1].at("mode"), 0755);
  EXPECT_TRUE(files[1].at("mtime").is_string());
  EXPECT_EQ(files[1].at("uid"), 0);
  EXPECT_EQ(files[1].at("gid"), 0);
}

TEST(DisplayPath, EndsInTheDirectorysName) {
  const TemporaryDirectory directory;
  directory.write("mnist_pytorch/sub/x", "");
  const auto before = fs::current_path();
  fs::current_path(directory.path() + "/mnist_pytorch");
  EXPECT_EQ(display_path("."), "../mnist_pytorch");
  EXPECT_EQ(display_path("./"), "../mnist_pytorch");
  EXPECT_EQ(display_path("sub/.."), "../mnist_pytorch");
  EXPECT_EQ(display_path("sub/"), "sub");
  EXPECT_EQ(display_path("../mnist_pytorch"), "../mnist_pytorch");
  EXPECT_EQ(display_path("/a/b"), "/a/b");
  fs::current_path(directory.path() + "/mnist_pytorch/sub");
  EXPECT_EQ(display_path(".."), "../../mnist_pytorch");
  fs::current_path(before);
}

}  // namespace
}  // namespace det::cli
