#include "det/agent/shim/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace det::agent {

namespace {

constexpr std::size_t kHeaderBytes = 12;
constexpr std::uint32_t kFrameBytesMax = 1 << 20;
constexpr std::int64_t kSegmentsKeptMax =
    256;  // More than a full spool has: where deleting begins after a restart.

void store(char* to, std::uint64_t number, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<char>(number >> (8 * i));
}

std::uint64_t load(const char* from, std::size_t bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    number |= static_cast<std::uint64_t>(static_cast<unsigned char>(from[i])) << (8 * i);
  return number;
}

}  // namespace

SpoolWriter::SpoolWriter(int directory, std::string name, SpoolLimits limits)
    : directory_(directory), name_(std::move(name)), limits_(limits) {}

SpoolWriter::~SpoolWriter() {
  if (fd_ >= 0) ::close(fd_);
}

std::string SpoolWriter::file(std::int64_t segment) const {
  return name_ + "." + std::to_string(segment);
}

bool SpoolWriter::full(std::int64_t allowance) {
  const auto limit = limits_.total_bytes_max + allowance;
  if (bytes_ < limit) return false;
  while (sizes_.size() > 1 && ::faccessat(directory_, file(sizes_.front().first).c_str(), F_OK, 0) != 0) {
    bytes_ -= sizes_.front().second;
    sizes_.pop_front();
  }
  return bytes_ >= limit;
}

bool SpoolWriter::open_next() {
  const int fd =
      ::openat(directory_, file(next_).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
  sizes_.emplace_back(next_++, 0);
  return true;
}

bool SpoolWriter::append(Time time, std::string_view bytes) {
  if (bytes.empty()) return true;
  if ((fd_ < 0 || sizes_.back().second >= limits_.segment_bytes) && !open_next()) return false;
  std::array<char, kHeaderBytes> header{};
  store(header.data(), static_cast<std::uint64_t>(time.microseconds), 8);
  store(header.data() + 8, bytes.size(), 4);
  const std::array<iovec, 2> parts{
      {{header.data(), header.size()}, {const_cast<char*>(bytes.data()), bytes.size()}}};
  const auto size = static_cast<std::int64_t>(kHeaderBytes + bytes.size());
  const auto written = ::writev(fd_, parts.data(), 2);
  if (written != size) {
    // Half a frame must not stay: the reader would wait for the rest of it for ever.
    if (written > 0 && ::ftruncate(fd_, sizes_.back().second) != 0) open_next();
    return false;
  }
  sizes_.back().second += size;
  bytes_ += size;
  return true;
}

SpoolReader::SpoolReader(std::filesystem::path directory, std::string name, SpoolPosition position)
    : directory_(std::move(directory)),
      name_(std::move(name)),
      position_(position),
      released_(std::max<std::int64_t>(position.segment - kSegmentsKeptMax, 0)) {}

std::filesystem::path SpoolReader::file(std::int64_t segment) const {
  return directory_ / (name_ + "." + std::to_string(segment));
}

Result<std::vector<SpoolFrame>> SpoolReader::read(std::size_t bytes_max) {
  std::vector<SpoolFrame> frames;
  std::size_t total = 0;
  while (total < bytes_max) {
    // Asked before reading: what is there when the next one exists is all there will be.
    const bool complete = ::access(file(position_.segment + 1).c_str(), F_OK) == 0;
    const int fd = ::open(file(position_.segment).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      if (errno != ENOENT && !frames.empty()) break;
      if (errno != ENOENT)
        return fail(ErrorCode::Unavailable, "cannot read {}: {}", file(position_.segment).string(),
                    std::strerror(errno));
      if (!complete) break;
      position_ = {position_.segment + 1, 0};
      continue;
    }
    std::string buffer(256 * 1024 + kFrameBytesMax + kHeaderBytes, '\0');
    const auto got = ::pread(fd, buffer.data(), buffer.size(), position_.offset);
    const int error = errno;
    ::close(fd);
    if (got < 0 && !frames.empty()) break;
    if (got < 0)
      return fail(ErrorCode::Unavailable, "cannot read {}: {}", file(position_.segment).string(),
                  std::strerror(error));
    std::size_t at = 0;
    const auto end = static_cast<std::size_t>(got);
    while (end - at >= kHeaderBytes && total < bytes_max) {
      const auto length = static_cast<std::uint32_t>(load(buffer.data() + at + 8, 4));
      if (length == 0 || length > kFrameBytesMax) {
        if (!frames.empty()) return frames;  // What is good first; the next call says it.
        return fail(ErrorCode::Internal, "{} is damaged at byte {}", file(position_.segment).string(),
                    position_.offset);
      }
      if (end - at - kHeaderBytes < length) break;
      auto& frame = frames.emplace_back();
      frame.time = Time{static_cast<std::int64_t>(load(buffer.data() + at, 8))};
      frame.bytes.assign(buffer, at + kHeaderBytes, length);
      at += kHeaderBytes + length;
      total += length;
      position_.offset += static_cast<std::int64_t>(kHeaderBytes + length);
      frame.next = position_;
    }
    if (at == 0) {  // Nothing whole is left in this segment.
      if (!complete) break;
      position_ = {position_.segment + 1, 0};
    }
  }
  return frames;
}

void SpoolReader::release(SpoolPosition position) {
  for (; released_ < position.segment; ++released_) {
    std::error_code ignored;  // Gone already: what was wanted.
    std::filesystem::remove(file(released_), ignored);
  }
}

}  // namespace det::agent
