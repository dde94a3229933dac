#include "det/cli/context/context.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "det/base/text.h"
#include "det/cli/context/ignore.h"

namespace det::cli {
namespace {

namespace fs = std::filesystem;

/// What the interpreter and editors leave behind, and repositories: a remote's address may have a password in
/// it.
constexpr std::string_view kDefaultIgnores =
    "__pycache__/\n*.py[co]\n*$py.class\n.detignore\n"
    ".git\n.idea/\n.vscode/\n.mypy_cache/\n.terraform/\n*.tfstate\n*.tfstate.backup\n";

std::int64_t encoded_size(std::int64_t bytes) {
  return (bytes + 2) / 3 * 4;
}

// The whole file, or nothing if it cannot be read or grows beyond the limit.
std::optional<std::string> read_file(const fs::path& path, std::int64_t bytes_max) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::string content;
  char buffer[64 * 1024];
  ssize_t count = 0;
  while ((count = ::read(fd, buffer, sizeof buffer)) > 0 &&
         static_cast<std::int64_t>(content.size()) <= bytes_max)
    content.append(buffer, static_cast<std::size_t>(count));
  ::close(fd);
  if (count < 0) return std::nullopt;
  return content;
}

class Packer {
 public:
  Packer(std::string name, const ContextProgress& progress, std::int64_t bytes_max)
      : name_(std::move(name)), progress_(progress), bytes_max_(bytes_max) {
    rules_.add(kDefaultIgnores);
  }

  void ignore(std::string_view patterns) { rules_.add(patterns); }

  // Adds everything in `directory`; `prefix` is "" or ends in "/".
  Result<void> add_directory(const fs::path& directory, const std::string& prefix) {
    struct stat status{};
    if (::stat(directory.c_str(), &status) != 0) return {};
    const auto identity = std::pair(status.st_dev, status.st_ino);
    if (!open_directories_.insert(identity).second) {
      skip(prefix.substr(0, prefix.size() - 1), "a link to a parent directory");
      return {};
    }
    for (const auto& name : names_in(directory, prefix)) {
      if (auto added = add(directory / name, prefix + name); !added) return added;
    }
    open_directories_.erase(identity);
    return {};
  }

  Result<void> add(const fs::path& file, const std::string& path) {
    if (!is_utf8(path)) {
      skip(escaped(path), "its name is not UTF-8");
      return {};
    }
    struct stat status{};
    if (::stat(file.c_str(), &status) != 0) {
      if (!rules_.ignored(path, false)) skip(path);
      return {};
    }
    const bool is_directory = S_ISDIR(status.st_mode);
    if (rules_.ignored(path, is_directory)) return {};
    if (!is_directory && !S_ISREG(status.st_mode)) {
      skip(path, "not a file or directory");
      return {};
    }
    ContextEntry entry{.path = path,
                       .directory = is_directory,
                       .mode = static_cast<int>(status.st_mode & 0777),
                       .mtime = status.st_mtime,
                       .content = ""};
    if (!is_directory) {
      if (context_.bytes + encoded_size(status.st_size) > bytes_max_) return too_large();
      const auto content = read_file(file, bytes_max_);
      if (!content) {
        skip(path);
        return {};
      }
      entry.content = base64_encode(*content);
      context_.bytes += static_cast<std::int64_t>(entry.content.size());
      if (context_.bytes > bytes_max_) return too_large();
    }
    if (!paths_.insert(path).second)
      return invalid_argument("Path '{}' would be in the model definition twice; remove one --include", path);
    context_.entries.push_back(std::move(entry));
    if (progress_) progress_(context_.bytes, context_.entries.size());
    if (is_directory) return add_directory(file, path + '/');
    return {};
  }

  Context finish() {
    std::sort(context_.entries.begin(), context_.entries.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    return std::move(context_);
  }

 private:
  std::vector<std::string> names_in(const fs::path& directory, const std::string& prefix) {
    std::vector<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
    if (!open) {
      skip(prefix.substr(0, prefix.size() - 1));
      return names;
    }
    while (const auto* found = ::readdir(open.get())) {
      const std::string name = found->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  static std::string escaped(const std::string& path) {
    std::string out;
    for (const char c : path) out += static_cast<unsigned char>(c) < 0x80 ? c : '?';
    return out;
  }

  void skip(const std::string& path, const std::string& why = "") {
    context_.skipped.push_back(
        fmt::format("Error reading '{}'{}, skipping this file.", path, why.empty() ? "" : " (" + why + ")"));
  }

  tl::unexpected<Error> too_large() const {
    return invalid_argument(
        "Directory '{}' exceeds the maximum allowed size {}.\nConsider using a .detignore file to specify "
        "that certain "
        "files or directories should be omitted from the model.",
        name_, human_size(bytes_max_));
  }

  std::string name_;
  const ContextProgress& progress_;
  std::int64_t bytes_max_;
  IgnoreRules rules_;
  Context context_;
  std::set<std::string> paths_;
  std::set<std::pair<dev_t, ino_t>> open_directories_;
};

}  // namespace

Result<Context> pack_context(const fs::path& directory, const std::vector<std::string>& includes,
                             const ContextProgress& progress, std::int64_t bytes_max) {
  Packer packer(directory.string(), progress, bytes_max);
  if (!directory.empty()) {
    std::error_code failure;
    const auto status = fs::status(directory, failure);
    if (status.type() == fs::file_type::not_found)
      return not_found("Path '{}' doesn't exist", directory.string());
    if (failure)
      return invalid_argument("Path '{}' cannot be read: {}", directory.string(), failure.message());
    if (!fs::is_directory(status))
      return invalid_argument("Path '{}' must be a directory", directory.string());
    if (::access(directory.c_str(), R_OK | X_OK) != 0)
      return invalid_argument("Path '{}' cannot be read: permission denied", directory.string());
    if (const auto patterns = read_file(directory / ".detignore", 1024 * 1024)) packer.ignore(*patterns);
    if (auto added = packer.add_directory(directory, ""); !added) return tl::unexpected(added.error());
  }
  for (const auto& include : includes) {
    std::error_code failure;
    const auto path = fs::canonical(include, failure);
    if (failure) return not_found("Path '{}' doesn't exist", include);
    // The name as the user wrote it, where that says one.
    auto name = fs::path(display_path(include)).filename().string();
    if (name.empty()) name = path.filename().string();
    if (auto added = packer.add(path, name); !added) return tl::unexpected(added.error());
  }
  return packer.finish();
}

std::string display_path(const std::string& argument) {
  auto path = fs::path(argument).lexically_normal();
  if (!path.has_filename() && path.has_relative_path()) path = path.parent_path();  // "dir/"
  const auto last = path.filename();
  if (last != "." && last != "..") return path.string();
  std::error_code failure;
  const auto name = fs::canonical(path, failure).filename();
  if (failure || name.empty()) return path.string();
  return (path == "." ? fs::path("..") / name : path / ".." / name).string();
}

json::array context_json(Context context) {
  json::array files;
  files.reserve(context.entries.size());
  for (auto& entry : context.entries) {
    json::object file;
    file["path"] = std::move(entry.path);
    file["type"] = entry.directory ? 53 : 48;  // '5' and '0', as in tar
    file["content"] = entry.content;
    file["mode"] = entry.mode;
    file["mtime"] = std::to_string(entry.mtime);
    file["uid"] = 0;
    file["gid"] = 0;
    entry.content = std::string();
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace det::cli
