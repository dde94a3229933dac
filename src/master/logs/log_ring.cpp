#include "det/master/logs/log_ring.h"

#include <algorithm>
#include <chrono>

#include "det/base/text.h"

namespace det::master {
namespace {

std::string name_of(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace: return "TRACE";
    case spdlog::level::debug: return "DEBUG";
    case spdlog::level::warn: return "WARNING";
    case spdlog::level::err: return "ERROR";
    case spdlog::level::critical: return "CRITICAL";
    default: return "INFO";
  }
}

}  // namespace

std::vector<LogRing::Line> LogRing::read(std::int64_t first, std::size_t count) {
  const std::lock_guard lock(mutex_);
  const auto oldest = next_ - static_cast<std::int64_t>(lines_.size());
  const auto begin = static_cast<std::size_t>(std::clamp(first, oldest, next_) - oldest);
  const auto end = begin + std::min(count, lines_.size() - begin);
  return {lines_.begin() + static_cast<std::ptrdiff_t>(begin),
          lines_.begin() + static_cast<std::ptrdiff_t>(end)};
}

std::int64_t LogRing::end() {
  const std::lock_guard lock(mutex_);
  return next_;
}

void LogRing::on_line(std::function<void()> tell) {
  const std::lock_guard lock(mutex_);
  tell_ = std::move(tell);
}

// The base class holds the lock.
void LogRing::sink_it_(const spdlog::details::log_msg& message) {
  const auto since =
      std::chrono::duration_cast<std::chrono::microseconds>(message.time.time_since_epoch()).count();
  std::string text(message.payload.data(), message.payload.size());
  if (text.size() > kLineBytesMax) {
    auto length = kLineBytesMax;
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0u) == 0x80u) --length;
    text.resize(length);
    text += " […]";
  }
  if (!is_utf8(text)) text = "(not UTF-8, in base64) " + base64_encode(text);
  lines_.push_back(
      {.id = next_++, .time = Time{since}, .level = name_of(message.level), .text = std::move(text)});
  if (lines_.size() > kLinesMax) lines_.pop_front();
  if (tell_) tell_();
}

}  // namespace det::master
