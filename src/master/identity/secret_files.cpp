#include "det/master/identity/secret_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "det/master/identity/secret.h"

namespace det::master {

namespace {

Result<void> put_secret(const std::filesystem::path& file, const std::string& secret) {
  if (std::ifstream in(file); in) {
    std::string known;
    std::getline(in, known);
    if (known == secret) return {};
  }
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool written =
      fd >= 0 && ::write(fd, secret.data(), secret.size()) == static_cast<ssize_t>(secret.size());
  if (fd >= 0) ::close(fd);
  if (written) return {};
  return fail(ErrorCode::Unavailable, "cannot write {}", file.string());
}

}  // namespace

Result<std::string> secret_in(const std::filesystem::path& file, const char* what, const char* prefix) {
  if (std::ifstream in(file); in) {
    std::string token;
    std::getline(in, token);
    if (!token.empty()) return token;
  }
  const auto token = prefix + random_secret();
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ::write(fd, token.data(), token.size()) != static_cast<ssize_t>(token.size()) ||
      ::fsync(fd) != 0)
    return fail(ErrorCode::Unavailable, "cannot write {} to {}", what, file.string());
  ::close(fd);
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
