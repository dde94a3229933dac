#include "det/agent/prepare/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "det/base/text.h"
#include "det/base/utf8_names.h"

namespace det::agent {

namespace {

constexpr std::size_t kNameBytesMax = 4096;
constexpr std::size_t kComponentBytesMax = 255;
constexpr std::size_t kBlockBytes = 64 * 1024;
constexpr std::int64_t kNewestTime = std::int64_t{1} << 33;

/// A descriptor that closes itself.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&&) = delete;
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

Fd open_beneath(int root, const std::string& name, int flags, unsigned mode, std::uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = resolve;
  return Fd(static_cast<int>(::syscall(SYS_openat2, root, name.c_str(), &how, sizeof how)));
}

constexpr std::uint64_t kNoLinks = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;

/// The parts of a name; fails unless it leads from the root down.
Result<std::vector<std::string>> parts_of(const std::string& name) {
  if (name.size() > kNameBytesMax)
    return invalid_argument("{}…: the name has {} bytes; the limit is {}", name.substr(0, 80), name.size(),
                            kNameBytesMax);
  if (name.starts_with('/')) return invalid_argument("{}: absolute paths are not allowed", name);
  std::vector<std::string> parts;
  for (auto& part : split(name, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return invalid_argument("{}: \"..\" is not allowed", name);
    if (part.size() > kComponentBytesMax)
      return invalid_argument("{}…: a part of the name has {} bytes; the limit is {}", part.substr(0, 80),
                              part.size(), kComponentBytesMax);
    parts.push_back(std::move(part));
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts, std::size_t count) {
  std::string name;
  for (std::size_t i = 0; i < count; ++i) name += (i == 0 ? "" : "/") + parts[i];
  return name;
}

/// libarchive does not always say why.
tl::unexpected<Error> broken(archive* reader) {
  const char* why = archive_error_string(reader);
  return invalid_argument("the archive is damaged: {}", why == nullptr ? "unknown reason" : why);
}

class Unpacker {
 public:
  Unpacker(int root, const ArchiveLimits& limits, std::int64_t packed)
      : root_(root), limits_(limits), packed_(packed) {}

  Result<void> run(archive* reader) {
    const Utf8Names names_are_utf8;
    archive_entry* entry = nullptr;
    while (true) {
      const int status = archive_read_next_header(reader, &entry);
      if (status == ARCHIVE_EOF) break;
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return broken(reader);
      if (++entries_ > limits_.entries_max)
        return fail(ErrorCode::ResourceExhausted, "the archive has more than {} entries",
                    limits_.entries_max);
      if (auto done = unpack_entry(reader, entry); !done) return done;
    }
    if (auto checked = check_links(); !checked) return checked;
    for (const auto& [name, mode] : directory_modes_) {
      const auto fd = open_beneath(root_, name, O_RDONLY | O_DIRECTORY, 0, kNoLinks);
      if (fd) (void)::fchmod(fd.get(), mode | 0700);
    }
    return {};
  }

 private:
  Result<void> refused(const std::string& name, const char* what) const {
    if (errno == ENOSPC || errno == EDQUOT)
      return fail(ErrorCode::Unavailable, "{}: no space left on the disk", name);
    if (errno == ELOOP || errno == EXDEV)
      return invalid_argument("{}: the path goes through a symbolic link", name);
    return invalid_argument("{}: cannot {}: {}", name, what, std::strerror(errno));
  }

  Result<void> unpack_entry(archive* reader, archive_entry* entry) {
    const char* raw = archive_entry_pathname(entry);
    if (raw == nullptr) return invalid_argument("cannot read the name of an entry");
    const std::string name = raw;
    DET_TRY(const auto parts, parts_of(name));
    const auto mode = archive_entry_perm(entry);
    if ((mode & (S_ISUID | S_ISGID)) != 0)
      return invalid_argument("{}: set-user-ID and set-group-ID bits are not allowed", name);
    const auto type = archive_entry_filetype(entry);
    const char* hard_link = archive_entry_hardlink(entry);
    const bool directory = hard_link == nullptr && type == AE_IFDIR;
    if (parts.empty()) return directory ? Result<void>() : invalid_argument("{}: the name is empty", name);
    const auto clean = joined(parts, parts.size());
    if (const auto [seen, fresh] = names_.emplace(clean, directory); !fresh && !(seen->second && directory))
      return invalid_argument("{}: the name occurs twice", name);
    DET_TRY(const auto parent, parent_of(parts));
    if (hard_link != nullptr) return unpack_hard_link(parent.get(), parts.back(), clean, hard_link);
    if (directory) {
      if (::mkdirat(parent.get(), parts.back().c_str(), 0700) != 0 && errno != EEXIST)
        return refused(name, "create the directory");
      if (!open_beneath(root_, clean, O_RDONLY | O_DIRECTORY, 0, kNoLinks))
        return refused(name, "create the directory");
      directory_modes_[clean] = mode & 0777;
      return {};
    }
    if (type == AE_IFLNK) return unpack_link(parent.get(), parts, clean, archive_entry_symlink(entry));
    if (type != AE_IFREG) return invalid_argument("{}: only files, directories and links are allowed", name);
    const auto file = create(parent.get(), parts.back(), mode);
    if (!file) return refused(name, "create the file");
    if (auto copied = copy(reader, file.get(), name); !copied) return copied;
    if (archive_entry_mtime_is_set(entry) != 0 && archive_entry_mtime(entry) >= 0 &&
        archive_entry_mtime(entry) < kNewestTime) {
      const timespec times[2] = {{0, UTIME_OMIT},
                                 {archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)}};
      (void)::futimens(file.get(), times);  // Only a nicety for build tools.
    }
    return {};
  }

  Result<Fd> parent_of(const std::vector<std::string>& parts) {
    for (std::size_t depth = 1; depth < parts.size(); ++depth) {
      const auto above = joined(parts, depth);
      if (const auto [seen, fresh] = names_.emplace(above, true); !fresh && seen->second) continue;
      if (::mkdirat(root_, above.c_str(), 0755) == 0 || errno == EEXIST) continue;
    }
    if (parts.size() == 1) return Fd(::fcntl(root_, F_DUPFD_CLOEXEC, 0));
    const auto name = joined(parts, parts.size() - 1);
    auto fd = open_beneath(root_, name, O_RDONLY | O_DIRECTORY, 0, kNoLinks);
    if (!fd) {
      if (errno == ENOTDIR) return invalid_argument("{}: the path is both a file and a directory", name);
      return tl::unexpected(refused(joined(parts, parts.size()), "open its directory").error());
    }
    return fd;
  }

  static Fd create(int parent, const std::string& name, unsigned mode) {
    return Fd(::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                       (mode & 0777) | 0600));
  }

  Result<void> account(std::int64_t bytes) {
    bytes_ += bytes;
    if (bytes_ > limits_.bytes_max)
      return fail(ErrorCode::ResourceExhausted, "the archive unpacks to more than {}",
                  human_size(limits_.bytes_max));
    if (bytes_ > limits_.ratio_floor && bytes_ / limits_.ratio_max > packed_)
      return fail(ErrorCode::ResourceExhausted, "the archive unpacks to more than {} times its size",
                  limits_.ratio_max);
    return {};
  }

  Result<void> write(int file, const char* data, std::size_t size, const std::string& name) {
    while (size > 0) {
      const auto written = ::write(file, data, size);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return refused(name, "write the file");
      data += written;
      size -= static_cast<std::size_t>(written);
    }
    return {};
  }

  Result<void> copy(archive* reader, int file, const std::string& name) {
    std::string block(kBlockBytes, '\0');
    while (true) {
      const auto got = archive_read_data(reader, block.data(), block.size());
      if (got == 0) return {};
      if (got < 0) return broken(reader);
      if (auto counted = account(got); !counted) return counted;
      if (auto written = write(file, block.data(), static_cast<std::size_t>(got), name); !written)
        return written;
    }
  }

  Result<void> unpack_link(int parent, const std::vector<std::string>& parts, const std::string& name,
                           const char* target) {
    if (target == nullptr || *target == '\0')
      return invalid_argument("{}: the symbolic link has no target", name);
    if (*target == '/')
      return invalid_argument("{}: the symbolic link to {} points outside the directory", name, target);
    // As text; check_links() asks the kernel once all links are in place.
    auto depth = static_cast<std::int64_t>(parts.size()) - 1;
    for (const auto& part : split(target, '/')) {
      if (part.empty() || part == ".") continue;
      depth += part == ".." ? -1 : 1;
      if (depth < 0)
        return invalid_argument("{}: the symbolic link to {} points outside the directory", name, target);
    }
    if (::symlinkat(target, parent, parts.back().c_str()) != 0) return refused(name, "create the link");
    links_.push_back(name);
    return {};
  }

  /// A hard link becomes a copy: the files of a task must not hang together by chance.
  Result<void> unpack_hard_link(int parent, const std::string& last, const std::string& name,
                                const std::string& target) {
    DET_TRY(const auto parts, parts_of(target));
    const auto from = open_beneath(root_, joined(parts, parts.size()), O_RDONLY | O_NONBLOCK, 0, kNoLinks);
    struct stat status{};
    if (parts.empty() || !from || ::fstat(from.get(), &status) != 0 || !S_ISREG(status.st_mode))
      return invalid_argument("{}: the target of the hard link, {}, is not an earlier file of the archive",
                              name, target);
    const auto file = create(parent, last, status.st_mode);
    if (!file) return refused(name, "create the file");
    std::string block(kBlockBytes, '\0');
    for (ssize_t got = 0; (got = ::read(from.get(), block.data(), block.size())) > 0;) {
      if (auto counted = account(got); !counted) return counted;
      if (auto written = write(file.get(), block.data(), static_cast<std::size_t>(got), name); !written)
        return written;
    }
    return {};
  }

  Result<void> check_links() const {
    for (const auto& name : links_) {
      const auto fd = open_beneath(root_, name, O_PATH, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
      if (!fd && errno == EXDEV)
        return invalid_argument("{}: the symbolic link points outside the directory", name);
    }
    return {};
  }

  int root_;
  ArchiveLimits limits_;
  std::int64_t packed_;
  std::int64_t entries_ = 0;
  std::int64_t bytes_ = 0;
  std::map<std::string, bool> names_;  ///< And whether it is a directory.
  std::map<std::string, unsigned> directory_modes_;
  std::vector<std::string> links_;
};

}  // namespace

Result<void> unpack(const std::filesystem::path& path, const std::filesystem::path& directory,
                    const ArchiveLimits& limits) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0)
    return fail(ErrorCode::Unavailable, "cannot read {}: {}", path.string(), std::strerror(errno));
  const Fd root(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root)
    return fail(ErrorCode::Unavailable, "cannot open {}: {}", directory.string(), std::strerror(errno));
  const std::unique_ptr<archive, int (*)(archive*)> reader(archive_read_new(), archive_read_free);
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_zstd(reader.get());
  archive_read_support_format_tar(reader.get());
  archive_read_support_format_empty(reader.get());
  archive_read_set_options(reader.get(), "hdrcharset=BINARY");
  if (archive_read_open_fd(reader.get(), file.get(), kBlockBytes) != ARCHIVE_OK) return broken(reader.get());
  return Unpacker(root.get(), limits, status.st_size).run(reader.get());
}

}  // namespace det::agent
