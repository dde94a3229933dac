#include "det/master/identity/secret_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "det/master/identity/secret.h"

namespace det::master {

namespace {

Result<void> put_secret(const std::filesystem::path& file, const std::string& secret) {
  if (first_line(file) == secret) return {};
  return write_private(file, secret);
}

}  // namespace

std::string first_line(const std::filesystem::path& file) {
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  return line;
}

Result<void> write_private(const std::filesystem::path& file, const std::string& text) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool written = fd >= 0 &&
                       ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(fd) == 0;
  const int reason = errno;
  if (fd >= 0) ::close(fd);
  if (!written)
    return fail(ErrorCode::Unavailable, "cannot write {}: {}", file.string(), std::strerror(reason));
  return {};
}

Result<std::string> secret_in(const std::filesystem::path& file, const char* what, const char* prefix) {
  if (auto known = first_line(file); !known.empty()) return known;
  const auto token = prefix + random_secret();
  if (!write_private(file, token))
    return fail(ErrorCode::Unavailable, "cannot write {} to {}", what, file.string());
  return token;
}

Result<void> share_secrets(store::Store& store, const std::filesystem::path& directory) {
  struct Shared {
    const char *file, *key, *prefix;
  };
  for (const auto& [name, key, prefix] :
       {Shared{"agent.token", "agent_token", "det_agent_"}, Shared{"webhook.key", "webhook_key", ""}}) {
    const auto file = directory / name;
    auto secret = store.setting(key);
    if (!secret) {
      DET_TRY(secret, secret_in(file, name, prefix));
      std::vector<store::Change> changes;
      changes.push_back(store::PutSetting{key, *secret});
      store.commit(std::move(changes), [] {});
      store.flush();
    }
    DET_TRY([[maybe_unused]] const auto put, put_secret(file, *secret).map([] { return true; }));
  }
  return {};
}

}  // namespace det::master
