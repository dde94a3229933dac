#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace det::trial {

/// Where the kernel says how much memory there is.
struct MemoryFiles {
  std::filesystem::path proc = "/proc";
  std::filesystem::path groups = "/sys/fs/cgroup";  ///< control groups, version 2
};

/// How many bytes this process may still use: the least of what is free in the machine and below the limit of
/// each control group that it is in. Files that are only cached count as free. Nothing if the kernel does not
/// say.
std::optional<std::int64_t> available_memory(const MemoryFiles& files = {});

}  // namespace det::trial
