#include "det/master/experiments/model_definition.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include "det/base/text.h"
#include "det/base/utf8_names.h"

namespace det::master {
namespace {

std::vector<std::string> names_in(const std::string& packed) {
  const Utf8Names names_are_utf8;
  const std::unique_ptr<archive, int (*)(archive*)> reader(archive_read_new(), archive_read_free);
  archive_read_support_filter_all(reader.get());
  archive_read_support_format_tar(reader.get());
  archive_read_open_memory(reader.get(), packed.data(), packed.size());
  std::vector<std::string> names;
  archive_entry* entry = nullptr;
  while (archive_read_next_header(reader.get(), &entry) == ARCHIVE_OK)
    names.emplace_back(archive_entry_pathname(entry));
  return names;
}

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

TEST(ModelDefinition, TakesNamesOfAnyLanguageWhateverTheLocale) {
  const std::string odd =
      "donn\xc3\xa9"
      "es \xe6\x97\xa5\xe6\x9c\xac.txt";
  for (const auto& name : {odd, std::string(120, 'x') + "/" + std::string(120, 'y') + odd}) {
    const auto packed = pack({file(name, "a")});
    ASSERT_TRUE(packed) << packed.error().message();
    EXPECT_EQ(names_in(packed->archive), std::vector<std::string>{name});
  }
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
    BadEntry{"leaves_the_directory", file("../evil.py", ""),                    "is outside the submitted directory"},
    BadEntry{"leaves_it_later",      file("a/../../evil.py", ""),               "is outside the submitted directory"},
    BadEntry{"absolute",             file("/etc/passwd", ""),                   "an absolute path"},
    BadEntry{"nameless",             file("", ""),                              "with an empty name"},
    BadEntry{"twice",                file("fine.py", "y"),                      "two entries named"},
    BadEntry{"symbolic_link",        {.path = "link", .type = 50},              "only files (48) and directories (53)"},
    BadEntry{"not_base64",           {.path = "b", .content = "**"},            "not base64"}),
    [](const auto& info) { return info.param.name; });
// clang-format on

}  // namespace
}  // namespace det::master
