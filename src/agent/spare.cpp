#include "det/agent/spare.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string_view>

namespace det::agent {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kSpareMax = 16;

bool is_rank(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool move_to(const fs::path& from, const fs::path& to) {
  return std::rename(from.c_str(), to.c_str()) == 0;
}

bool is_own_directory(const fs::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
}

/// False: the file is of a kind that is not known here.
bool put_aside(const fs::path& file) {
  const auto name = file.filename().string();
  const std::string_view text = name;
  if (text.ends_with(".json.new") || text == "start.new") return true;
  if (text.ends_with(".json")) return move_to(file, file.string() + ".new");
  if (text == "started") return move_to(file, file.parent_path() / "start.new");
  return (text == "cancelled" || text.starts_with("stdout.") || text.starts_with("stderr.")) &&
         ::unlink(file.c_str()) == 0;
}

bool empty(const fs::path& directory) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (fs::remove_all(entry.path(), error); error) return false;
  return !error;
}

bool empty_task(const fs::path& directory) {
  std::error_code error;
  int ranks = 0;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const auto name = entry.path().filename().string();
    const bool is_directory = is_own_directory(entry.path());
    if (is_directory && name == "work") {
      if (!empty(entry.path())) return false;
    } else if (is_directory && is_rank(name)) {
      ++ranks;
      for (const auto& file : fs::directory_iterator(entry.path(), error))
        if (!file.is_regular_file(error) || !put_aside(file.path())) return false;
    } else if (is_directory || !put_aside(entry.path())) {
      return false;
    }
  }
  return !error && ranks == 1;
}

}  // namespace

void SpareDirectories::clear() {
  std::error_code error;
  fs::remove_all(place_, error);
  fs::create_directories(place_, error);
}

bool SpareDirectories::take(const fs::path& directory, const std::string& rank) {
  fs::path spare;
  {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return false;
    spare = std::move(spare_.back());
    spare_.pop_back();
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(spare, error))
    if (const auto name = entry.path().filename().string(); is_rank(name) && name != rank)
      if (!move_to(entry.path(), spare / rank)) return false;
  return !error && move_to(spare, directory);
}

bool SpareDirectories::keep(const fs::path& directory) {
  fs::path spare;
  {
    const std::lock_guard lock(mutex_);
    if (spare_.size() >= kSpareMax) return false;
    spare = place_ / std::to_string(++kept_);
  }
  if (!empty_task(directory) || !move_to(directory, spare)) return false;
  const std::lock_guard lock(mutex_);
  spare_.push_back(std::move(spare));
  return true;
}

}  // namespace det::agent
