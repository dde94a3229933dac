#include "det/trial/memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>

namespace det::trial {

namespace fs = std::filesystem;

namespace {

using Bytes = std::optional<std::int64_t>;

Bytes number_in(const fs::path& file) {
  std::ifstream stream(file);
  std::int64_t number = 0;
  return stream >> number ? Bytes(number) : std::nullopt;
}

/// The number after a word at the beginning of a line.
Bytes number_after(const std::string& word, const fs::path& file) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(word + " ") && !line.starts_with(word + ":")) continue;
    const auto digits = line.find_first_of("0123456789", word.size());
    std::int64_t number = 0;
    if (digits != std::string::npos &&
        std::from_chars(line.data() + digits, line.data() + line.size(), number).ec == std::errc())
      return number;
  }
  return std::nullopt;
}

/// Nothing where the group has no limit.
Bytes left_in_group(const fs::path& group) {
  const auto limit = number_in(group / "memory.max");
  const auto used = number_in(group / "memory.current");
  if (!limit || !used) return std::nullopt;
  auto left = *limit - *used;
  for (const auto* cached : {"inactive_file", "active_file"})
    left += number_after(cached, group / "memory.stat").value_or(0);
  return std::max<std::int64_t>(0, left);
}

/// The path of this process's group below the root of all.
fs::path own_group(const fs::path& proc) {
  std::ifstream stream(proc / "self" / "cgroup");
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with("0::/")) return line.substr(4);
  return {};
}

}  // namespace

std::optional<std::int64_t> available_memory(const MemoryFiles& files) {
  Bytes least;
  const auto take = [&](Bytes found) {
    if (found && (!least || *found < *least)) least = found;
  };
  if (const auto kilobytes = number_after("MemAvailable", files.proc / "meminfo")) take(*kilobytes * 1024);
  auto group = files.groups;
  take(left_in_group(group));
  for (const auto& part : own_group(files.proc)) take(left_in_group(group /= part));
  return least;
}

}  // namespace det::trial
