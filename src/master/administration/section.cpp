#include "det/master/administration/section.h"

#include <charconv>

#include "det/config/values/duration.h"

namespace det::master {
namespace {

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || value < 0 || value > 1'000'000'000) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::int64_t> time_span(std::string_view text) {
  if (const auto seconds = number(text)) return seconds;
  if (text.find_first_of(":-") == std::string_view::npos) return config::duration_seconds(text);
  std::int64_t sum = 0;
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    const auto days = number(text.substr(0, dash));
    if (!days) return std::nullopt;
    sum = *days * 24;  // hours, of which the next part has more
    text.remove_prefix(dash + 1);
    std::string_view rest = text;
    int parts = 1;
    for (const char c : rest) parts += c == ':' ? 1 : 0;
    const auto hours = number(text.substr(0, text.find(':')));
    if (!hours || parts > 3) return std::nullopt;
    sum += *hours;
    text.remove_prefix(text.find(':') + 1);
    for (int i = 0; i < 2; ++i) {
      const auto part =
          i < parts - 1 ? number(text.substr(0, text.find(':'))) : std::optional<std::int64_t>(0);
      if (!part || *part > 59) return std::nullopt;
      sum = sum * 60 + *part;
      const auto colon = text.find(':');
      text.remove_prefix(colon == std::string_view::npos ? text.size() : colon + 1);
    }
    return sum;
  }
  int parts = 0;
  while (true) {
    const auto colon = text.find(':');
    const auto part = number(text.substr(0, colon));
    if (!part || (parts > 0 && *part > 59) || ++parts > 3) return std::nullopt;
    sum = sum * 60 + *part;
    if (colon == std::string_view::npos) return sum;
    text.remove_prefix(colon + 1);
  }
}

}  // namespace det::master
