#pragma once

#include <fmt/core.h>

/// Lines of the program's own log, written by spdlog's default logger. What calls this reads neither spdlog
/// nor the part of fmt that formats: both are compiled once, in log.cpp.
namespace det::logging {

enum class Level { Debug, Info, Warn, Error };

/// Formats and writes the line where the logger's level lets it through. Never throws.
void write(Level level, fmt::string_view format, fmt::format_args args) noexcept;

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::Debug, format, fmt::make_format_args(args...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::Info, format, fmt::make_format_args(args...));
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::Warn, format, fmt::make_format_args(args...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::Error, format, fmt::make_format_args(args...));
}

}  // namespace det::logging
