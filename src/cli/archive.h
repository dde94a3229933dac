#pragma once

#include <filesystem>

#include "det/base/error.h"

namespace det::cli {

/// Unpacks a tar archive, compressed or not, into an existing directory. Refuses
/// entries that would leave it, and everything but files and directories.
Result<void> unpack(const std::filesystem::path& archive, const std::filesystem::path& directory);

}  // namespace det::cli
