#include "det/searcher/state_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

namespace det::searcher {

namespace fs = std::filesystem;

namespace {

tl::unexpected<Error> failed(const char* what, const fs::path& path) {
  return fail(ErrorCode::Unavailable, "cannot {} {}: {}", what, path.string(), std::strerror(errno));
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Result<StateFile> StateFile::open(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  const auto path = directory / "lock";
  const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return failed("open", path);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return failed_precondition(
        "another search runner uses the directory {}; stop it, or choose another directory",
        directory.string());
  }
  return StateFile(directory, lock);
}

StateFile::~StateFile() {
  if (lock_ >= 0) ::close(lock_);
}

StateFile::StateFile(StateFile&& other) noexcept
    : directory_(std::move(other.directory_)), lock_(std::exchange(other.lock_, -1)) {}

Result<std::optional<Saved>> StateFile::read() const {
  const auto path = directory_ / "state.json";
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (!fs::exists(path)) return std::nullopt;
    return failed("read", path);
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto document = json::parse(text);
  if (!document) return tl::unexpected(Error(document.error()).within(path.string()));
  auto saved = json::from_json<Saved>(*document);
  if (!saved) return tl::unexpected(Error(saved.error()).within(path.string()));
  return *std::move(saved);
}

Result<void> StateFile::write(const Saved& saved) const {
  const auto path = directory_ / "state.json";
  const auto fresh = directory_ / "state.json.new";
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return failed("write", fresh);
  const bool kept = write_all(file, json::serialize(json::to_json(saved))) && ::fsync(file) == 0;
  const int why = errno;
  ::close(file);
  errno = why;
  if (!kept) return failed("write", fresh);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return failed("write", path);
  const int folder = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return failed("open", directory_);
  const bool synced = ::fsync(folder) == 0;
  const int error = errno;
  ::close(folder);
  errno = error;
  if (!synced) return failed("sync", directory_);
  return {};
}

}  // namespace det::searcher
