// The small files through which agent and shim know of each other.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "det/agent/files.h"
#include "det/agent/shim/shim.h"

namespace det::agent {

namespace {

Error system_error(const char* what, const std::filesystem::path& path, int error) {
  const auto code = error == ENOENT ? ErrorCode::NotFound : ErrorCode::Unavailable;
  return Error(code, fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(error)));
}

/// `keep`: the file that was there is kept under the temporary name.
std::optional<Error> put_file(const std::filesystem::path& path, const std::string& content, bool sync,
                              bool keep) {
  const auto temporary = std::filesystem::path(path.string() + ".new");
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return system_error("write", temporary, errno);
  const bool written = write_all(fd, content) && (!sync || ::fsync(fd) == 0);
  const int error = errno;
  ::close(fd);
  if (!written) {
    ::unlink(temporary.c_str());
    return system_error("write", temporary, error);
  }
  const bool exchanged =
      keep && ::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0;
  if (!exchanged && ::rename(temporary.c_str(), path.c_str()) != 0) return system_error("write", path, errno);
  return sync ? sync_directory(path.parent_path()) : std::nullopt;
}

}  // namespace

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const auto written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::optional<Error> replace_file(const std::filesystem::path& path, const std::string& content, bool sync) {
  return put_file(path, content, sync, false);
}

std::optional<Error> replace_often(const std::filesystem::path& path, const std::string& content) {
  return put_file(path, content, true, true);
}

std::optional<Error> sync_directory(const std::filesystem::path& path) {
  const auto name = path.empty() ? std::filesystem::path(".") : path;
  const int fd = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_error("open", name, errno);
  const bool synced = ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  if (!synced) return system_error("sync", name, error);
  return std::nullopt;
}

bool write_control_file(const std::filesystem::path& path, std::string_view content) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size());
  ::close(fd);
  return written;
}

Result<std::string> read_small_file(const std::filesystem::path& path, std::size_t bytes_max) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return tl::unexpected(system_error("read", path, errno));
  std::string content;
  char buffer[16 * 1024];
  while (content.size() <= bytes_max) {
    const auto got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error = errno;
      ::close(fd);
      return tl::unexpected(system_error("read", path, error));
    }
    if (got == 0) break;
    content.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(fd);
  if (content.size() > bytes_max)
    return fail(ErrorCode::ResourceExhausted, "{} has more than {} bytes", path.string(), bytes_max);
  return content;
}

std::string random_hex() {
  std::uint64_t number = 0;
  if (::getentropy(&number, sizeof number) != 0)
    number = static_cast<std::uint64_t>(boot_time().microseconds) * 1'000'003 +
             static_cast<std::uint64_t>(::getpid());
  return fmt::format("{:016x}", number);
}

Time boot_time() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return Time{time.tv_sec * kSecond + time.tv_nsec / 1000};
}

std::optional<std::int64_t> process_start_time(std::int64_t pid) {
  const auto stat = read_small_file(fmt::format("/proc/{}/stat", pid), 64 * 1024);
  return stat ? process_start_time_of(*stat) : std::nullopt;
}

std::optional<std::int64_t> process_start_time_of(std::string_view stat) {
  // The name in parentheses may hold anything; the fields after its last ")" are plain: 3 is the first.
  const auto close = stat.rfind(')');
  if (close == std::string::npos) return std::nullopt;
  std::size_t at = close + 1;
  for (int field = 3; field < 22; ++field) {
    at = stat.find(' ', at + 1);
    if (at == std::string::npos) return std::nullopt;
  }
  return std::strtoll(std::string(stat.substr(at + 1, 24)).c_str(), nullptr, 10);
}

std::map<std::string, std::string> process_environment() {
  std::map<std::string, std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals != std::string_view::npos && equals > 0)
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

}  // namespace det::agent
