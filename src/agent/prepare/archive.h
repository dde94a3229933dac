#pragma once

#include <cstdint>
#include <filesystem>

#include "det/base/error.h"

namespace det::agent {

struct ArchiveLimits {
  std::int64_t entries_max = 100'000;
  std::int64_t bytes_max = std::int64_t{1} << 30;
  std::int64_t ratio_max = 100;  ///< Of unpacked to packed bytes, once more than `ratio_floor` are unpacked.
  std::int64_t ratio_floor =
      128 << 20;  ///< More than the 95 MiB that a client packs, however well they compress.
};

/// Unpacks a tar archive (plain, gzip or zstd) that a stranger made into
/// `directory`, which must exist and be empty.
///
/// Accepts regular files, directories, symbolic links and hard links, all of
/// which must stay inside; the kernel resolves every name beneath `directory`
/// and through no symbolic link. Refuses absolute names, "..", links that lead
/// out, devices, pipes, set-id bits, names that come twice, and whatever is
/// over the limits. What had been unpacked before a refusal stays: the caller
/// deletes the directory.
Result<void> unpack(const std::filesystem::path& archive, const std::filesystem::path& directory,
                    const ArchiveLimits& limits = {});

}  // namespace det::agent
