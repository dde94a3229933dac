#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace det::config {

inline constexpr const char* kDurationPattern = "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$";

/// Seconds of "30s", "1h" or "1m30s"; nothing where the text is no duration.
std::optional<std::int64_t> duration_seconds(std::string_view text);
bool is_duration(std::string_view text);

}  // namespace det::config
