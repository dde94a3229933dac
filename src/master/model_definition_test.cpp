#include "det/master/model_definition.h"

#include <gtest/gtest.h>

#include "det/base/text.h"

namespace det::master {
namespace {

SubmittedFile file(const std::string& path, const std::string& content) {
  return {.path = path, .content = base64_encode(content)};
}

TEST(ModelDefinition, TheSameFilesInAnyOrderHaveTheSameDigest) {
  const auto first = pack({file("model_def.py", "a"), file("const.yaml", "b")});
  auto later = file("model_def.py", "a");
  later.mtime = 77;
  const auto second = pack({file("const.yaml", "b"), later});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->digest, second->digest);
  EXPECT_NE(first->digest, pack({file("model_def.py", "ab"), file("const.yaml", "")})->digest);
}

struct BadEntry {
  const char* name;
  SubmittedFile entry;
  const char* says;
};
class BadModelDefinition : public ::testing::TestWithParam<BadEntry> {};

TEST_P(BadModelDefinition, IsRefusedByName) {
  const auto packed = pack({file("fine.py", "x"), GetParam().entry});
  ASSERT_FALSE(packed);
  EXPECT_NE(packed.error().message().find(GetParam().says), std::string::npos) << packed.error().message();
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, BadModelDefinition, ::testing::Values(
    BadEntry{"leaves_the_directory", file("../evil.py", ""),                    "leaves its directory"},
    BadEntry{"leaves_it_later",      file("a/../../evil.py", ""),               "leaves its directory"},
    BadEntry{"absolute",             file("/etc/passwd", ""),                   "is absolute"},
    BadEntry{"nameless",             file("", ""),                              "without a name"},
    BadEntry{"twice",                file("fine.py", "y"),                      "twice"},
    BadEntry{"symbolic_link",        {.path = "link", .type = 50},              "only files (48) and directories (53)"},
    BadEntry{"not_base64",           {.path = "b", .content = "**"},            "not base64"}),
    [](const auto& info) { return info.param.name; });
// clang-format on

}  // namespace
}  // namespace det::master
