#include "det/store/sqlite/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "det/base/text.h"

namespace det::store {

namespace {

std::string holder(int descriptor) {
  std::array<char, 32> text{};
  const auto count = pread(descriptor, text.data(), text.size(), 0);
  const auto pid = trim(std::string_view(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0));
  return pid.empty() ? "another process" : fmt::format("process {}", pid);
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::filesystem::path& path) {
  const auto lock_path = path.string() + ".lock";
  // O_CLOEXEC: the lock belongs to the open file, and a child must not keep it.
  const int descriptor = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return fail(ErrorCode::Unavailable, "cannot open {}: {}", lock_path, std::strerror(errno));
  FileLock lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK)
      return fail(ErrorCode::Unavailable, "cannot lock {}: {}", lock_path, std::strerror(errno));
    return failed_precondition(
        "the database {} is in use by {}, which has locked {}; stop that process, or choose another data "
        "directory",
        path.string(), holder(descriptor), lock_path);
  }
  const auto pid = fmt::format("{}\n", getpid());
  // Only for the message above: the lock holds without it, on a full disk too.
  if (ftruncate(descriptor, 0) == 0) [[maybe_unused]]
    const auto count = pwrite(descriptor, pid.data(), pid.size(), 0);
  return lock;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace det::store
