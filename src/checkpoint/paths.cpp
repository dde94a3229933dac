#include <sodium.h>

#include <array>

#include "det/checkpoint/directory_storage.h"
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

Result<fs::path> shared_fs_root(const std::string& host_path, const std::string& storage_path,
                                const fs::path& container_root) {
  if (host_path.find('\0') != std::string::npos || storage_path.find('\0') != std::string::npos)
    return invalid_argument("checkpoint_storage: a path must not contain a zero byte");
  if (!fs::path(host_path).is_absolute())
    return invalid_argument("checkpoint_storage.host_path is \"{}\"; must be an absolute path", host_path);
  const fs::path host = normal(host_path);
  const fs::path stored = storage_path;
  const fs::path relative = stored.is_absolute() ? normal(stored).lexically_relative(host) : normal(stored);
  if (escapes(relative))
    return invalid_argument(
        "checkpoint_storage.storage_path is \"{}\"; must be a relative directory, or a subdirectory of "
        "host_path "
        "\"{}\"",
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
      return invalid_argument("checkpoint_storage.container_path is \"{}\"; must be an absolute path",
                              config.container_path);
    return directory_storage(normal(config.container_path));
  }
  return fail(ErrorCode::Unimplemented,
              "checkpoint_storage.type is \"{}\"; this build supports shared_fs and directory", config.type);
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
