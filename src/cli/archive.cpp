#include "det/cli/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <string>

namespace det::cli {
namespace {

namespace fs = std::filesystem;

bool stays_inside(const fs::path& path) {
  if (path.empty() || path.is_absolute()) return false;
  for (const auto& part : path)
    if (part == "..") return false;
  return true;
}

}  // namespace

Result<void> unpack(const fs::path& archive, const fs::path& directory) {
  const std::unique_ptr<::archive, int (*)(::archive*)> reader(::archive_read_new(), ::archive_read_free);
  const std::unique_ptr<::archive, int (*)(::archive*)> writer(::archive_write_disk_new(),
                                                               ::archive_write_free);
  ::archive_read_support_format_tar(reader.get());
  ::archive_read_support_filter_all(reader.get());
  ::archive_write_disk_set_options(
      writer.get(), ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT);
  const auto broken = [&](::archive* where) {
    const char* text = ::archive_error_string(where);
    return invalid_argument("the archive {} cannot be unpacked: {}", archive.string(),
                            text == nullptr ? "it is broken" : text);
  };
  if (::archive_read_open_filename(reader.get(), archive.c_str(), 64 * 1024) != ARCHIVE_OK)
    return broken(reader.get());
  while (true) {
    ::archive_entry* entry = nullptr;
    const int next = ::archive_read_next_header(reader.get(), &entry);
    if (next == ARCHIVE_EOF) return {};
    if (next < ARCHIVE_WARN) return broken(reader.get());
    const char* name = ::archive_entry_pathname(entry);
    const fs::path path = name == nullptr ? "" : name;
    const auto type = ::archive_entry_filetype(entry);
    if (!stays_inside(path) || (type != AE_IFREG && type != AE_IFDIR) ||
        ::archive_entry_hardlink(entry) != nullptr)
      return invalid_argument("the archive {} has the entry '{}', which is not a file or directory inside it",
                              archive.string(), path.string());
    ::archive_entry_set_pathname(entry, (directory / path).c_str());
    ::archive_entry_set_perm(entry, type == AE_IFDIR ? 0755 : 0644);
    if (::archive_write_header(writer.get(), entry) < ARCHIVE_WARN) return broken(writer.get());
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    int read = ARCHIVE_OK;
    while ((read = ::archive_read_data_block(reader.get(), &block, &size, &offset)) == ARCHIVE_OK)
      if (::archive_write_data_block(writer.get(), block, size, offset) < ARCHIVE_WARN)
        return broken(writer.get());
    if (read != ARCHIVE_EOF) return broken(reader.get());
    if (::archive_write_finish_entry(writer.get()) < ARCHIVE_WARN) return broken(writer.get());
  }
}

}  // namespace det::cli
