#include "det/cli/context/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <string>

#include "det/base/utf8_names.h"

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
  const Utf8Names names_are_utf8;
  const std::unique_ptr<::archive, int (*)(::archive*)> reader(::archive_read_new(), ::archive_read_free);
  const std::unique_ptr<::archive, int (*)(::archive*)> writer(::archive_write_disk_new(),
                                                               ::archive_write_free);
  ::archive_read_support_format_tar(reader.get());
  ::archive_read_support_filter_all(reader.get());
  ::archive_write_disk_set_options(
      writer.get(), ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT);
  const auto broken = [&](::archive* where) {
    const char* text = ::archive_error_string(where);
    return invalid_argument("cannot unpack the archive {}: {}", archive.string(),
                            text == nullptr ? "it is damaged" : text);
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
      return invalid_argument(
          "the archive {} has the unsafe entry '{}', which is not a file or directory inside the archive",
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

Result<void> pack(const fs::path& path, const std::vector<PackedFile>& files) {
  const Utf8Names names_are_utf8;
  const std::unique_ptr<::archive, int (*)(::archive*)> writer(::archive_write_new(), ::archive_write_free);
  ::archive_write_add_filter_gzip(writer.get());
  ::archive_write_set_format_pax_restricted(writer.get());
  const auto partial = path.string() + ".partial";
  const auto broken = [&] {
    const auto reason = ::archive_error_string(writer.get());
    const auto error =
        fail(ErrorCode::Unavailable, "cannot write {}: {}", path.string(), reason == nullptr ? "?" : reason);
    std::error_code ignored;
    fs::remove(partial, ignored);
    return error;
  };
  if (::archive_write_open_filename(writer.get(), partial.c_str()) != ARCHIVE_OK) return broken();
  for (const auto& file : files) {
    const std::unique_ptr<::archive_entry, void (*)(::archive_entry*)> entry(::archive_entry_new(),
                                                                             ::archive_entry_free);
    ::archive_entry_set_pathname(entry.get(), file.path.c_str());
    ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(file.content.size()));
    ::archive_entry_set_filetype(entry.get(), AE_IFREG);
    ::archive_entry_set_perm(entry.get(), 0600);
    if (::archive_write_header(writer.get(), entry.get()) != ARCHIVE_OK) return broken();
    const auto written = ::archive_write_data(writer.get(), file.content.data(), file.content.size());
    if (written != static_cast<la_ssize_t>(file.content.size())) return broken();
  }
  if (::archive_write_close(writer.get()) != ARCHIVE_OK) return broken();
  std::error_code failure;
  fs::permissions(partial, fs::perms::owner_read | fs::perms::owner_write, failure);
  fs::rename(partial, path, failure);
  if (failure) return fail(ErrorCode::Unavailable, "cannot write {}: {}", path.string(), failure.message());
  return {};
}

}  // namespace det::cli
