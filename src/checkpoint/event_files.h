#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "det/base/error.h"
#include "det/config/experiment_config.h"

namespace det::checkpoint {

/// What one trial wrote for TensorBoard. One thread at a time.
class EventFiles {
 public:
  /// Files of a bucket are copied to this machine. Files that would make the copies larger than this are left
  /// out.
  static constexpr std::int64_t kCopiesMax = std::int64_t{2} << 30;

  virtual ~EventFiles() = default;

  /// The event files as they are now, or were a few seconds ago, as files of this machine. They only grow.
  /// Links are passed over. None: an empty list.
  virtual Result<std::vector<std::filesystem::path>> current() = 0;
};

/// Unimplemented for a storage that is neither a directory nor a bucket.
Result<std::unique_ptr<EventFiles>> open_event_files(const config::CheckpointStorage& storage,
                                                     const std::string& cluster_id, std::int64_t experiment,
                                                     std::int64_t trial);

}  // namespace det::checkpoint
