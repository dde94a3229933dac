#include "det/checkpoint/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "det/base/text.h"

namespace det::checkpoint {

namespace {

constexpr int kDepthMax = 100;

std::string joined(const std::string& directory, const std::string& name) {
  return directory.ends_with('/') ? directory + name : directory + "/" + name;
}

}  // namespace

void throw_errno(const std::string& doing, int error_number) {
  const auto code = [&] {
    switch (error_number) {
      case ENOENT: return ErrorCode::NotFound;
      case EACCES:
      case EPERM:
      case EROFS: return ErrorCode::PermissionDenied;
      case ENOSPC:
      case EDQUOT:
      case EFBIG: return ErrorCode::ResourceExhausted;
      default: return ErrorCode::Unavailable;
    }
  }();
  throw Failure(Error(code, fmt::format("cannot {}: {}", doing, std::strerror(error_number))));
}

Fd::~Fd() {
  if (number_ >= 0) ::close(number_);
}

Fd open_directory_beneath(int parent, const std::string& name, const std::string& shown) {
  Fd at(::openat(parent, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC));
  if (!at) throw_errno("open " + shown, errno);
  for (const auto& part : split(name, '/')) {
    if (part.empty()) continue;
    Fd next(::openat(at.get(), part.c_str(), O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) throw_errno("open directory " + shown, errno);
    at = std::move(next);
  }
  return at;
}

Fd open_file_beneath(int parent, const std::string& name, const std::string& shown) {
  const auto slash = name.rfind('/');
  const Fd directory =
      open_directory_beneath(parent, slash == std::string::npos ? "" : name.substr(0, slash), shown);
  const auto last = slash == std::string::npos ? name : name.substr(slash + 1);
  Fd file(::openat(directory.get(), last.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) throw_errno("open " + shown, errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) throw_errno("read " + shown, errno);
  if (!S_ISREG(status.st_mode))
    throw Failure(Error(ErrorCode::FailedPrecondition, shown + " is not a regular file"));
  return file;
}

Fd create_file(int parent, const std::string& name, const std::string& shown) {
  Fd file(::openat(parent, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file) throw_errno("create " + shown, errno);
  return file;
}

void create_directory(int parent, const std::string& name, const std::string& shown) {
  if (::mkdirat(parent, name.c_str(), 0777) != 0) throw_errno("create directory " + shown, errno);
}

void write_text(int parent, const std::string& name, const std::string& text, const std::string& shown) {
  const Fd file = create_file(parent, name, shown);
  write_all(file.get(), text, shown);
  sync(file.get(), shown);
}

std::string read_text(int file, const std::string& shown) {
  std::string text;
  std::string buffer(64 * 1024, '\0');
  while (true) {
    const auto got = ::read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno("read " + shown, errno);
    if (got == 0) return text;
    text.append(buffer, 0, static_cast<std::size_t>(got));
  }
}

bool exists_beneath(int parent, const std::string& name, const std::string& shown) {
  struct stat status{};
  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  throw_errno("look for " + joined(shown, name), errno);
}

std::vector<std::string> names_in(int directory, const std::string& shown) {
  // Its own position in the directory: a descriptor made by dup would share it.
  const int copy = ::openat(directory, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
  if (copy < 0) throw_errno("list " + shown, errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(copy), ::closedir);
  if (listing == nullptr) throw_errno("list " + shown, errno);
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const auto* entry = ::readdir(listing.get());
    if (entry == nullptr && errno != 0) throw_errno("list " + shown, errno);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

void remove_tree(int parent, const std::string& name, const std::string& shown) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return;
  if (errno != EISDIR && errno != EPERM) throw_errno("delete " + shown, errno);
  const Fd directory(::openat(parent, name.c_str(), O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory && errno == ENOENT) return;
  if (!directory) throw_errno("delete " + shown, errno);
  for (const auto& member : names_in(directory.get(), shown))
    remove_tree(directory.get(), member, joined(shown, member));
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    throw_errno("delete " + shown, errno);
}

void sync(int file, const std::string& shown) {
  if (::fsync(file) != 0) throw_errno("write " + shown + " to the disk", errno);
}

void begin_sync(int file) {
  ::sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE);
}

void Unsynced::add(Fd file, std::string shown) {
  files_.emplace_back(std::move(file), std::move(shown));
  if (files_.size() >= kOpenMax) sync_all();
}

void Unsynced::sync_all() {
  // Begun for all of them first: then the first commit of the journal has what the others wait for.
  if (files_.size() > 1)
    for (const auto& [file, shown] : files_) begin_sync(file.get());
  for (const auto& [file, shown] : files_) sync(file.get(), shown);
  files_.clear();
}

std::int64_t newest_change(int parent, const std::string& name, const std::string& shown) {
  struct stat status{};
  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return 0;
    throw_errno("look at " + shown, errno);
  }
  std::int64_t newest = status.st_mtim.tv_sec;
  if (!S_ISDIR(status.st_mode)) return newest;
  const Fd directory = open_directory_beneath(parent, name, shown);
  for (const auto& member : names_in(directory.get(), shown))
    newest = std::max(newest, newest_change(directory.get(), member, joined(shown, member)));
  return newest;
}

namespace {

[[noreturn]] void refuse(const std::string& shown, const char* why) {
  throw Failure(
      Error(ErrorCode::InvalidArgument, fmt::format("{} cannot be saved in a checkpoint: {}", shown, why)));
}

void scan_into(int directory, const std::string& shown, const std::string& prefix, int depth,
               std::vector<Member>& members) {
  if (depth > kDepthMax) refuse(shown, "it is more than 100 directories deep");
  for (const auto& name : names_in(directory, shown)) {
    const auto path = joined(shown, name);
    if (!is_utf8(name)) refuse(path, "its name is not UTF-8");
    struct stat status{};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      throw_errno("read " + path, errno);
    if (S_ISLNK(status.st_mode)) {
      if (::fstatat(directory, name.c_str(), &status, 0) != 0) refuse(path, "it is a dangling symbolic link");
      if (!S_ISREG(status.st_mode))
        refuse(path, "it is a symbolic link, and its target is not a regular file");
    }
    if (S_ISREG(status.st_mode)) {
      members.push_back({prefix + name, status.st_size});
    } else if (S_ISDIR(status.st_mode)) {
      members.push_back({prefix + name + "/", 0});
      const Fd child = open_directory_beneath(directory, name, path);
      scan_into(child.get(), path, prefix + name + "/", depth + 1, members);
    } else {
      refuse(path, "it is neither a regular file nor a directory");
    }
  }
}

}  // namespace

std::vector<Member> scan(const std::filesystem::path& directory) {
  const Fd root(::open(directory.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC));
  if (!root) throw_errno("open directory " + directory.string(), errno);
  std::vector<Member> members;
  scan_into(root.get(), directory.string(), "", 1, members);
  return members;
}

bool is_member_name(std::string_view name) {
  if (name.ends_with('/')) name.remove_suffix(1);
  if (name.empty() || name.find('\0') != std::string_view::npos) return false;
  return std::ranges::none_of(split(name, '/'),
                              [](const auto& part) { return part.empty() || part == "." || part == ".."; });
}

Fd open_source(const std::string& path) {
  Fd in(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!in) throw_errno("read " + path, errno);
  return in;
}

void start_again(int file, const std::string& shown) {
  if (::ftruncate(file, 0) != 0 || ::lseek(file, 0, SEEK_SET) != 0) throw_errno("write " + shown, errno);
}

void write_all(int file, std::string_view data, const std::string& shown) {
  while (!data.empty()) {
    const auto written = ::write(file, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_errno("write " + shown, errno);
    data.remove_prefix(static_cast<std::size_t>(written));
  }
}

EmptyDirectory::EmptyDirectory(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code failure;
  created_ = std::filesystem::create_directories(path_, failure);
  if (failure) throw_errno("create directory " + path_.string(), failure.value());
  if (!created_ && !std::filesystem::is_empty(path_, failure))
    throw Failure(Error(ErrorCode::FailedPrecondition, "directory " + path_.string() + " is not empty"));
}

EmptyDirectory::~EmptyDirectory() {
  if (kept_) return;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored))
    std::filesystem::remove_all(entry.path(), ignored);
  if (created_) std::filesystem::remove(path_, ignored);
}

}  // namespace det::checkpoint
