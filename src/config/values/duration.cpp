#include "det/config/values/duration.h"

#include <charconv>

namespace det::config {

std::optional<std::int64_t> duration_seconds(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::int64_t seconds = 0;
  std::string_view units = "hms";
  while (!text.empty()) {
    std::int64_t number = -1;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (failure != std::errc{} || number < 0 || number > 1'000'000'000 || text.empty()) return std::nullopt;
    const auto at = units.find(text.front());
    if (at == std::string_view::npos) return std::nullopt;
    seconds += number * (text.front() == 'h' ? 3600 : text.front() == 'm' ? 60 : 1);
    units.remove_prefix(at + 1);
    text.remove_prefix(1);
  }
  return seconds;
}

bool is_duration(std::string_view text) {
  return duration_seconds(text).has_value();
}

}  // namespace det::config
