#include "det/master/administration/section.h"

#include <charconv>

#include "det/base/text.h"
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
  // [DAYS-]parts, of which the first is the largest: with days it is hours, else the last one is seconds.
  const auto dash = text.find('-');
  const bool with_days = dash != std::string_view::npos;
  const auto days = with_days ? number(text.substr(0, dash)) : std::optional<std::int64_t>(0);
  auto parts = split(with_days ? text.substr(dash + 1) : text, ':');
  if (!days || parts.size() > 3) return std::nullopt;
  if (with_days) parts.resize(3, "0");
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto part = number(parts[i]);
    if (!part || (i > 0 && *part > 59)) return std::nullopt;
    sum = sum * 60 + *part;
  }
  return *days * 24 * 3600 + sum;
}

}  // namespace det::master
