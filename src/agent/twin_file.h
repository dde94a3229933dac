#pragma once

#include <cstdint>
#include <filesystem>

#include "det/base/error.h"
#include "det/base/json.h"

namespace det::agent {

/// A small JSON object on disk that is replaced many times a second, and has to be there after a power
/// failure.
///
/// It has two copies, `path` and `path.new`. The older one is overwritten in place and synced, which needs no
/// journal of the file system, and then takes the name of the other one. Where the power fails before the
/// names are on disk, the copy with the higher number counts; one that is half written has a wrong checksum,
/// and the other one is then the newest that is complete. A `path` without a checksum is of an earlier
/// version, and counts.
class TwinFile {
 public:
  explicit TwinFile(std::filesystem::path path) : path_(std::move(path)) {}

  /// NotFound: there is none. Internal: no copy is complete. Call it before the first `write`.
  Result<json::object> read();
  /// On disk when this returns. Not from two threads at a time.
  Result<void> write(json::object content);

 private:
  std::filesystem::path other() const { return path_.string() + ".new"; }

  bool exchange() const;

  std::filesystem::path path_;
  std::int64_t number_ = 0;  ///< Of the newest copy.
  bool overwrites_ = false;  ///< `path` is of this version, also after a power failure.
};

}  // namespace det::agent
