#include "det/logging/log.h"

#include <spdlog/spdlog.h>

namespace det::logging {
namespace {

spdlog::level::level_enum level_of(Level level) {
  switch (level) {
    case Level::Debug: return spdlog::level::debug;
    case Level::Info: return spdlog::level::info;
    case Level::Warn: return spdlog::level::warn;
    case Level::Error: break;
  }
  return spdlog::level::err;
}

}  // namespace

void write(Level level, fmt::string_view format, fmt::format_args args) noexcept try {
  auto* logger = spdlog::default_logger_raw();
  if (!logger->should_log(level_of(level))) return;
  fmt::memory_buffer line;
  fmt::vformat_to(fmt::appender(line), format, args);
  logger->log(level_of(level), spdlog::string_view_t(line.data(), line.size()));
} catch (...) {
  // No memory for a line: the line is lost, not what logged it.
}

}  // namespace det::logging
