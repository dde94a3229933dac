#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "det/base/error.h"

namespace det::cli {

/// Unpacks a tar archive, compressed or not, into an existing directory. Refuses
/// entries that would leave it, and everything but files and directories.
Result<void> unpack(const std::filesystem::path& archive, const std::filesystem::path& directory);

struct PackedFile {
  std::string path, content;
};

/// Writes a compressed tar archive, readable by its owner alone; complete or not at all.
Result<void> pack(const std::filesystem::path& archive, const std::vector<PackedFile>& files);

}  // namespace det::cli
