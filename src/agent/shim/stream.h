#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <string>

#include "det/agent/shim/shim.h"
#include "det/agent/shim/spool.h"

namespace det::agent {

/// What `clock` says, in microseconds.
inline std::int64_t microseconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * kSecond + time.tv_nsec / 1000;
}

/// One of the task's two streams, from its pipe into its spool.
class Stream {
 public:
  Stream(int pipe, int directory, const char* name, const ShimSpec& spec)
      : pipe_(pipe),
        stall_(static_cast<std::int64_t>(spec.stall_seconds * 1e6)),
        writer_(directory, name, SpoolLimits{1 << 20, spec.spool_bytes_max}),
        buffer_(64 * 1024, '\0') {
    ::fcntl(pipe_, F_SETFL, O_NONBLOCK);
  }
  ~Stream() { close(); }

  bool open() const { return pipe_ >= 0; }
  bool stalled() const { return stalled_since_ != 0 && !dropping_; }
  int pipe() const { return pipe_; }

  /// Moves one buffer's worth. While the spool is full nothing is read, so the
  /// task waits in its write; when that has lasted too long, output is dropped
  /// and counted, so that a task is slowed down by a lost master but never stopped.
  void pump(bool draining) {
    const auto now = microseconds(CLOCK_MONOTONIC);
    if (pending_.empty()) {
      if (!room(draining) && !dropping_) {
        if (stalled_since_ == 0) stalled_since_ = now;
        if (!draining && now - stalled_since_ < stall_) return;
        dropping_ = true;
      }
      const auto got = ::read(pipe_, buffer_.data(), buffer_.size());
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return close();
      if (got < 0) return;
      pending_.assign(buffer_.data(), static_cast<std::size_t>(got));
    }
    if (dropping_ && !room(draining)) return drop();
    if (store()) {
      stalled_since_ = 0;
      dropping_ = false;
      return;
    }
    // The disk refuses: the same patience as with a full spool.
    if (stalled_since_ == 0) stalled_since_ = now;
    if (draining || dropping_ || now - stalled_since_ >= stall_) {
      dropping_ = true;
      refused_ = true;
      drop();
    }
  }

  /// At the very end: says what is still unsaid. False while the disk refuses even that.
  bool finish() {
    close();
    return dropped_ == 0 || mark();
  }

 private:
  bool room(bool draining) { return !writer_.full(draining ? kDrainAllowance : 0); }

  bool store() {
    if (dropped_ > 0 && !mark()) return false;
    if (!writer_.append(Time{microseconds(CLOCK_REALTIME)}, pending_)) return false;
    at_line_start_ = pending_.back() == '\n';
    pending_.clear();
    return true;
  }
  bool mark() {
    const auto text = fmt::format(
        "{}[determined] {} bytes of output are missing here: {}\n", at_line_start_ ? "" : "\n", dropped_,
        refused_ ? "the disk of the agent is full" : "the agent did not collect the output in time");
    if (!writer_.append(Time{microseconds(CLOCK_REALTIME)}, text)) return false;
    at_line_start_ = true;
    dropped_ = 0;
    refused_ = false;
    return true;
  }
  void drop() {
    dropped_ += static_cast<std::int64_t>(pending_.size());
    pending_.clear();
  }
  void close() {
    if (pipe_ >= 0) ::close(pipe_);
    pipe_ = -1;
  }

  static constexpr std::int64_t kDrainAllowance = 1 << 20;

  int pipe_;
  std::int64_t stall_;
  SpoolWriter writer_;
  std::string buffer_;
  std::string pending_;
  std::int64_t stalled_since_ = 0;  ///< 0: not.
  std::int64_t dropped_ = 0;
  bool dropping_ = false;
  bool refused_ = false;  ///< By the disk: why bytes were dropped.
  bool at_line_start_ = true;
};

}  // namespace det::agent
