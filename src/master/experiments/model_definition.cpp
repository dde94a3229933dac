#include "det/master/experiments/model_definition.h"

#include <archive.h>
#include <archive_entry.h>
#include <sodium.h>

#include <algorithm>
#include <memory>
#include <set>

#include "det/base/text.h"
#include "det/base/utf8_names.h"

namespace det::master {
namespace {

constexpr std::size_t kEntriesMax = 100'000;
constexpr std::size_t kBytesMax = std::size_t{1} << 30;
constexpr std::int32_t kRegular = '0';
constexpr std::int32_t kDirectory = '5';

Result<void> check_name(const std::string& path) {
  if (path.empty()) return invalid_argument("modelDefinition has an entry with an empty name");
  if (path.front() == '/')
    return invalid_argument(
        "modelDefinition entry '{}' is an absolute path; it must be relative to the submitted directory",
        path);
  if (path.find('\0') != std::string::npos)
    return invalid_argument("modelDefinition has a name with a NUL byte");
  for (const auto& part : split(path, '/'))
    if (part == "..")
      return invalid_argument(
          "modelDefinition entry '{}' is outside the submitted directory; remove '..' from its path", path);
  return {};
}

struct Hash {
  crypto_hash_sha256_state state;
  Hash() { crypto_hash_sha256_init(&state); }
  void add(std::string_view bytes) {
    const std::uint64_t size = bytes.size();
    crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char*>(&size), sizeof size);
    crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  std::string finish() {
    unsigned char out[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_final(&state, out);
    return hexadecimal({reinterpret_cast<const char*>(out), sizeof out});
  }
};

la_ssize_t append(archive*, void* client, const void* buffer, std::size_t length) {
  static_cast<std::string*>(client)->append(static_cast<const char*>(buffer), length);
  return static_cast<la_ssize_t>(length);
}

}  // namespace

Result<ModelDefinition> pack(const std::vector<SubmittedFile>& files) {
  if (files.size() > kEntriesMax)
    return invalid_argument("modelDefinition has {} entries; at most {} are allowed", files.size(),
                            kEntriesMax);
  ModelDefinition packed;
  const Utf8Names names_are_utf8;
  std::unique_ptr<archive, int (*)(archive*)> out(archive_write_new(), archive_write_free);
  archive_write_add_filter_gzip(out.get());
  archive_write_set_options(out.get(), "gzip:!timestamp,gzip:compression-level=1");
  archive_write_set_format_pax_restricted(out.get());
  archive_write_open(out.get(), &packed.archive, nullptr, append, nullptr);

  std::vector<const SubmittedFile*> sorted;
  for (const auto& file : files) sorted.push_back(&file);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->path < b->path; });
  Hash hash;
  std::size_t total = 0;
  std::set<std::string> names;
  for (const auto* file : sorted) {
    const auto name =
        std::string(file->path.ends_with('/') ? file->path.substr(0, file->path.size() - 1) : file->path);
    if (name == ".") continue;
    if (const auto fine = check_name(name); !fine) return tl::unexpected(fine.error());
    if (!names.insert(name).second)
      return invalid_argument("modelDefinition has two entries named '{}'", name);
    if (file->type != kRegular && file->type != kDirectory)
      return invalid_argument(
          "modelDefinition entry '{}' has type {}; only files (48) and directories (53) are allowed", name,
          file->type);
    DET_TRY(const auto content, base64_decode(file->content));
    total += content.size();
    if (total > kBytesMax)
      return invalid_argument("modelDefinition unpacks to more than {}",
                              human_size(static_cast<std::int64_t>(kBytesMax)));
    const bool directory = file->type == kDirectory;
    const int mode = directory ? 0755 : (file->mode & 0111) != 0 ? 0755 : 0644;
    hash.add(name);
    hash.add(directory ? "5" : mode == 0755 ? "x" : "0");
    hash.add(content);
    std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(), archive_entry_free);
    archive_entry_set_pathname_utf8(entry.get(), name.c_str());
    archive_entry_set_filetype(entry.get(), directory ? AE_IFDIR : AE_IFREG);
    archive_entry_set_perm(entry.get(), static_cast<mode_t>(mode));
    archive_entry_set_mtime(entry.get(), file->mtime, 0);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
    if (archive_write_header(out.get(), entry.get()) < ARCHIVE_WARN) {
      const char* why = archive_error_string(out.get());
      return invalid_argument("modelDefinition entry '{}' cannot be archived: {}", name,
                              why == nullptr ? "unknown reason" : why);
    }
    archive_write_data(out.get(), content.data(), content.size());
  }
  archive_write_close(out.get());
  packed.digest = hash.finish();
  return packed;
}

}  // namespace det::master
