#include "det/agent/prepare/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include "det/agent/testing.h"

namespace det::agent {
namespace {

struct Entry {
  std::string name;
  unsigned type = AE_IFREG;
  std::string content = {};  ///< Or the target of a link.
  unsigned mode = 0644;
  bool hard_link = false;
};

/// Makes the archive of `entries` and unpacks it.
struct Unpacking {
  explicit Unpacking(const std::vector<Entry>& entries, const ArchiveLimits& limits = {}) {
    std::filesystem::create_directory(out);
    const auto path = directory / "a.tar.gz";
    auto* writer = archive_write_new();
    archive_write_add_filter_gzip(writer);
    archive_write_set_format_pax_restricted(writer);
    archive_write_set_options(writer, "hdrcharset=BINARY");
    archive_write_open_filename(writer, path.c_str());
    for (const auto& each : entries) {
      auto* entry = archive_entry_new();
      archive_entry_set_pathname(entry, each.name.c_str());
      archive_entry_set_filetype(entry, each.type);
      archive_entry_set_perm(entry, static_cast<mode_t>(each.mode));
      if (each.hard_link)
        archive_entry_set_hardlink(entry, each.content.c_str());
      else if (each.type == AE_IFLNK)
        archive_entry_set_symlink(entry, each.content.c_str());
      else if (each.type == AE_IFREG)
        archive_entry_set_size(entry, static_cast<la_int64_t>(each.content.size()));
      EXPECT_GE(archive_write_header(writer, entry), ARCHIVE_WARN) << archive_error_string(writer);
      if (each.type == AE_IFREG && !each.hard_link)
        archive_write_data(writer, each.content.data(), each.content.size());
      archive_entry_free(entry);
    }
    archive_write_free(writer);
    result = unpack(path, out, limits);
  }
  std::string error() const { return result ? "" : result.error().message(); }
  std::string read(const std::string& name) const {
    return read_small_file(out / name).value_or("(nothing)");
  }

  testing::TemporaryDirectory directory;
  std::filesystem::path out = directory / "out";
  Result<void> result;
};

TEST(Archive, UnpacksFilesDirectoriesAndLinksThatStayInside) {
  const Unpacking u({{"./", AE_IFDIR, "", 0755},
                     {"model.py", AE_IFREG, "pass\n"},
                     {"run.sh", AE_IFREG, "#!/bin/sh\n", 0755},
                     {"a/b/c.txt", AE_IFREG, "deep"},
                     {"empty", AE_IFDIR, "", 0755},
                     {"a/up", AE_IFLNK, "../model.py"},
                     {"same", AE_IFREG, "model.py", 0644, true},
                     {"\xc3\xa4\xff", AE_IFREG, "odd name"}});
  ASSERT_TRUE(u.result) << u.error();
  EXPECT_EQ(u.read("model.py"), "pass\n");
  EXPECT_EQ(u.read("a/b/c.txt"), "deep");
  EXPECT_EQ(u.read("a/up"), "pass\n");
  EXPECT_EQ(u.read("same"), "pass\n");
  EXPECT_EQ(u.read("\xc3\xa4\xff"), "odd name");
  EXPECT_TRUE(std::filesystem::is_directory(u.out / "empty"));
  struct stat status{};
  ::stat((u.out / "run.sh").c_str(), &status);
  EXPECT_EQ(status.st_mode & 0111, 0111u);
}

TEST(Archive, AnEmptyArchiveIsAnEmptyDirectory) {
  EXPECT_TRUE(Unpacking(std::vector<Entry>{}).result);
  testing::TemporaryDirectory directory;
  std::ofstream(directory / "a") << "";
  std::filesystem::create_directory(directory / "out");
  EXPECT_TRUE(unpack(directory / "a", directory / "out"));
}

TEST(Archive, ACutCompressionIsRefusedAlthoughTheLibraryGivesNoReason) {
  testing::TemporaryDirectory directory;
  std::ofstream(directory / "a", std::ios::binary) << std::string("\x1f\x8b\x08\0\0\0\0\0\0\0\x03\0", 12);
  std::filesystem::create_directory(directory / "out");
  const auto refused = unpack(directory / "a", directory / "out");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "the archive is damaged: unknown reason");
}

struct Refusal {
  const char* name;
  std::vector<Entry> entries;
  const char* message;
};

class ArchiveRefuses : public ::testing::TestWithParam<Refusal> {};

TEST_P(ArchiveRefuses, AndSaysWhatAndWhy) {
  const Unpacking u(GetParam().entries);
  EXPECT_EQ(u.error(), GetParam().message);
  EXPECT_FALSE(std::filesystem::exists(u.directory / "evil"));
}

INSTANTIATE_TEST_SUITE_P(
    , ArchiveRefuses,
    ::testing::Values(
        Refusal{"parents", {{"a/../../evil", AE_IFREG, "x"}}, "a/../../evil: \"..\" is not allowed"},
        Refusal{"absolute", {{"/tmp/evil", AE_IFREG, "x"}}, "/tmp/evil: absolute paths are not allowed"},
        Refusal{"link_out",
                {{"l", AE_IFLNK, "../evil"}},
                "l: the symbolic link to ../evil points outside the directory"},
        Refusal{"link_absolute",
                {{"l", AE_IFLNK, "/etc"}},
                "l: the symbolic link to /etc points outside the directory"},
        Refusal{"link_chain_out",
                {{"d", AE_IFDIR, "", 0755}, {"d/s", AE_IFLNK, ".."}, {"x", AE_IFLNK, "d/s/../evil"}},
                "x: the symbolic link points outside the directory"},
        Refusal{"file_through_link",  // V15
                {{"d", AE_IFDIR, "", 0755}, {"l", AE_IFLNK, "d"}, {"l/x", AE_IFREG, "x"}},
                "l/x: the path goes through a symbolic link"},
        Refusal{"directory_over_link",
                {{"d", AE_IFDIR, "", 0755}, {"l", AE_IFLNK, "d"}, {"l", AE_IFDIR, "", 0755}},
                "l/: the name occurs twice"},
        Refusal{"hard_link_out", {{"h", AE_IFREG, "../evil", 0644, true}}, "../evil: \"..\" is not allowed"},
        Refusal{"hard_link_to_nothing",
                {{"h", AE_IFREG, "b", 0644, true}},
                "h: the target of the hard link, b, is not an earlier file of the archive"},
        Refusal{"hard_link_through_link",
                {{"d/f", AE_IFREG, "x"}, {"l", AE_IFLNK, "d"}, {"h", AE_IFREG, "l/f", 0644, true}},
                "h: the target of the hard link, l/f, is not an earlier file of the archive"},
        Refusal{"device", {{"null", AE_IFCHR}}, "null: only files, directories and links are allowed"},
        Refusal{"block_device", {{"sda", AE_IFBLK}}, "sda: only files, directories and links are allowed"},
        Refusal{"pipe", {{"p", AE_IFIFO}}, "p: only files, directories and links are allowed"},
        Refusal{"set_user_id",
                {{"su", AE_IFREG, "x", 04755}},
                "su: set-user-ID and set-group-ID bits are not allowed"},
        Refusal{"set_group_id",
                {{"d", AE_IFDIR, "", 02755}},
                "d/: set-user-ID and set-group-ID bits are not allowed"},
        Refusal{"twice", {{"a", AE_IFREG, "1"}, {"./a", AE_IFREG, "2"}}, "./a: the name occurs twice"},
        Refusal{"file_as_directory",
                {{"a", AE_IFREG, "1"}, {"a/b", AE_IFREG, "2"}},
                "a: the path is both a file and a directory"}),
    [](const auto& info) { return info.param.name; });

TEST(Archive, HoldsToItsLimitsExactly) {
  const std::vector<Entry> three = {
      {"a", AE_IFREG, "12345"}, {"b", AE_IFREG, "12345"}, {"c", AE_IFREG, "12345"}};
  ArchiveLimits limits;
  limits.entries_max = 3;
  limits.bytes_max = 15;
  EXPECT_TRUE(Unpacking(three, limits).result);
  limits.entries_max = 2;
  EXPECT_EQ(Unpacking(three, limits).error(), "the archive has more than 2 entries");
  limits.entries_max = 3;
  limits.bytes_max = 14;
  EXPECT_EQ(Unpacking(three, limits).error(), "the archive unpacks to more than 14.0B");
}

TEST(Archive, ABombIsRefused) {
  const std::vector<Entry> zeros = {{"zeros", AE_IFREG, std::string(40 << 20, '\0')}};
  ArchiveLimits limits;
  limits.ratio_floor = 10 << 20;
  EXPECT_EQ(Unpacking(zeros, limits).error(), "the archive unpacks to more than 100 times its size");
  EXPECT_TRUE(Unpacking(zeros).result) << "a folder that a client may send, which compresses well";
}

TEST(Archive, DamageIsSaid) {
  testing::TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "out");
  std::ofstream(directory / "a") << "this is not an archive at all, but it is long enough to be looked at";
  const auto result = unpack(directory / "a", directory / "out");
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().message().starts_with("the archive is damaged: ")) << result.error().message();
  EXPECT_EQ(unpack(directory / "none", directory / "out").error().code(), ErrorCode::Unavailable);
}

}  // namespace
}  // namespace det::agent
