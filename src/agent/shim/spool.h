#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"
#include "det/base/time.h"

namespace det::agent {

/// How much output of one stream may lie on disk while nobody fetches it.
struct SpoolLimits {
  std::int64_t segment_bytes = 1 << 20;
  std::int64_t total_bytes_max = 64 << 20;
};

/// Writes what a process said into the segment files `<name>.0`, `<name>.1`, …
/// of a directory, as frames: time (8 bytes, microseconds), length (4 bytes),
/// bytes; little-endian. A segment is complete once the next one exists. The
/// reader deletes segments that it no longer needs, which makes room here.
class SpoolWriter {
 public:
  /// `directory` is a descriptor and stays the caller's.
  SpoolWriter(int directory, std::string name, SpoolLimits limits = {});
  ~SpoolWriter();
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;

  /// Whether the limit is reached; looks at the disk only when it seems so.
  bool full(std::int64_t allowance = 0);
  /// Appends one frame, or nothing at all: false when the disk refuses.
  bool append(Time time, std::string_view bytes);
  /// Bytes of frames on disk, as far as known; falls when `full` looks.
  std::int64_t bytes() const { return bytes_; }

 private:
  bool open_next();
  std::string file(std::int64_t segment) const;

  int directory_;
  std::string name_;
  SpoolLimits limits_;
  int fd_ = -1;
  std::int64_t next_ = 0;                                    ///< The segment after the open one.
  std::deque<std::pair<std::int64_t, std::int64_t>> sizes_;  ///< Segment and its bytes, oldest first.
  std::int64_t bytes_ = 0;
};

struct SpoolPosition {
  std::int64_t segment = 0;
  std::int64_t offset = 0;
  friend auto operator<=>(const SpoolPosition&, const SpoolPosition&) = default;
};

struct SpoolFrame {
  Time time;
  std::string bytes;
  SpoolPosition next;  ///< Where the frame after this one begins.
};

/// Reads frames in order from a position on. Any number of readers may exist.
class SpoolReader {
 public:
  SpoolReader(std::filesystem::path directory, std::string name, SpoolPosition position = {});

  /// The frames that are complete by now, about `bytes_max` at most.
  /// Fails only where the files are damaged or unreadable.
  Result<std::vector<SpoolFrame>> read(std::size_t bytes_max);
  SpoolPosition position() const { return position_; }
  /// Deletes the segments before `position`: all of them are no longer needed.
  void release(SpoolPosition position);

 private:
  std::filesystem::path file(std::int64_t segment) const;

  std::filesystem::path directory_;
  std::string name_;
  SpoolPosition position_;
  std::int64_t released_ = 0;
};

}  // namespace det::agent
