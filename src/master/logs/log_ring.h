#pragma once

#include <spdlog/sinks/base_sink.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "det/base/time.h"

namespace det::master {

/// The newest lines of this process's own log, for those who ask the master for it.
///
/// A sink of spdlog: add it to the default logger. Keeps a bounded number of lines and
/// cuts long ones, so that it never grows. Threads: any.
class LogRing final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  struct Line {
    std::int64_t id = 0;  ///< counts from 0 since the process started
    Time time;
    std::string level;  ///< "INFO", "WARNING", "ERROR", "DEBUG", "TRACE" or "CRITICAL"
    std::string text;
  };

  static constexpr std::size_t kLinesMax = 4'000;
  static constexpr std::size_t kLineBytesMax = 4'096;

  /// Lines from number `first` on that are still kept, at most `count`.
  std::vector<Line> read(std::int64_t first, std::size_t count);
  /// The number that the next line gets.
  std::int64_t end();
  /// Called after each line, under the lock of the ring, on the thread that logs: it must neither log nor
  /// wait. Nothing: nobody is told.
  void on_line(std::function<void()> tell);

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

  std::deque<Line> lines_;
  std::function<void()> tell_;
  std::int64_t next_ = 0;
};

}  // namespace det::master
