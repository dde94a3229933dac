#include <sodium.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "det/checkpoint/buckets/object_storage.h"
#include "det/checkpoint/directory_storage.h"
#include "det/checkpoint/guarded.h"
#include "det/checkpoint/storage.h"

namespace det::checkpoint {

namespace fs = std::filesystem;

namespace {

/// "/a/./b/" and "/a/b" are the same directory.
fs::path normal(const fs::path& path) {
  auto result = path.lexically_normal();
  return result.has_filename() ? result : result.parent_path();
}

bool escapes(const fs::path& relative) {
  return !relative.empty() && *relative.begin() == "..";
}

}  // namespace

bool is_checkpoint_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= 128 && name.front() != '.' && std::ranges::all_of(name, allowed);
}

void check_name(const std::string& uuid) {
  if (!is_checkpoint_name(uuid))
    throw Failure(Error(
        ErrorCode::InvalidArgument,
        "not a valid checkpoint UUID; it must have 1 to 128 letters, digits, '-', '_' and '.', and must not "
        "start with '.'"));
}

Result<fs::path> shared_fs_root(const std::string& host_path, const std::string& storage_path,
                                const fs::path& container_root) {
  if (host_path.find('\0') != std::string::npos || storage_path.find('\0') != std::string::npos)
    return invalid_argument("checkpoint_storage: a path must not contain a zero byte");
  if (!fs::path(host_path).is_absolute())
    return invalid_argument("checkpoint_storage.host_path is \"{}\"; it must be an absolute path", host_path);
  const fs::path host = normal(host_path);
  const fs::path stored = storage_path;
  const fs::path relative = stored.is_absolute() ? normal(stored).lexically_relative(host) : normal(stored);
  if (escapes(relative))
    return invalid_argument(
        "checkpoint_storage.storage_path is \"{}\"; it must be a relative path, or a subdirectory of "
        "host_path \"{}\"",
        storage_path, host.string());
  return normal((container_root.empty() ? host : container_root) / relative);
}

Result<std::unique_ptr<Storage>> open_storage(const config::CheckpointStorage& config,
                                              const fs::path& container_root) {
  if (config.type == "shared_fs") {
    DET_TRY(auto root, shared_fs_root(config.host_path, config.storage_path, container_root));
    auto within = normal(container_root.empty() ? fs::path(config.host_path) : container_root);
    return std::make_unique<DirectoryStorage>(std::move(root), std::move(within));
  }
  if (config.type == "directory") {
    if (!fs::path(config.container_path).is_absolute())
      return invalid_argument("checkpoint_storage.container_path is \"{}\"; it must be an absolute path",
                              config.container_path);
    return directory_storage(normal(config.container_path));
  }
  DET_TRY(auto objects, open_object_store(config.fields));
  return std::make_unique<ObjectStorage>(std::move(objects), bucket_prefix(config.fields));
}

Result<Resources> Storage::verify(const std::string& uuid) {
  return guarded(uuid, [&] { return resources(read_checkpoint(uuid, {})); });
}

Result<Resources> Storage::restore(const std::string& uuid, const fs::path& directory) {
  return guarded(uuid, [&] {
    EmptyDirectory target(directory);
    auto manifest = read_checkpoint(uuid, directory);
    target.keep();
    return resources(manifest);
  });
}

Result<fs::path> Storage::draft(const std::string& uuid) {
  return guarded(uuid, [&] {
    check_name(uuid);
    auto name = (fs::temp_directory_path() / "checkpoint-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw_errno("create the directory " + name, errno);
    return fs::path(name);
  });
}

Result<Resources> Storage::publish(const std::string& uuid, const fs::path& draft) {
  auto saved = save(draft, uuid);
  std::error_code ignored;
  fs::remove_all(draft, ignored);
  return saved;
}

Result<std::shared_ptr<LocalFiles>> LocalFiles::of(Storage& storage, const std::string& uuid) {
  DET_TRY(bool there, storage.exists(uuid));
  if (!there) {
    DET_TRY(there, storage.is_of_original(uuid));
  }
  if (!there) return not_found("checkpoint '{}' not found in the storage", uuid);
  auto files = std::make_shared<LocalFiles>();
  files->path_ = storage.path(uuid);
  if (!files->path_.empty()) return files;
  try {
    files->copy_.emplace("det-checkpoint");
  } catch (const std::system_error& failure) {
    return fail(ErrorCode::Unavailable, "{}", failure.what());
  }
  DET_TRY(const auto restored, storage.restore(uuid, files->path()));
  return files;
}

std::string new_uuid() {
  DET_ASSERT(sodium_init() >= 0);
  std::array<std::uint8_t, 16> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
  std::string uuid;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) uuid += '-';
    uuid += fmt::format("{:02x}", bytes[i]);
  }
  return uuid;
}

}  // namespace det::checkpoint
