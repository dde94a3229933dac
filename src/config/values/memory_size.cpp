#include "det/config/values/memory_size.h"

#include <cmath>
#include <cstdlib>
#include <string>

#include "det/base/text.h"

namespace det::config {

std::optional<std::int64_t> memory_size(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  const auto whole = std::min(text.find_first_not_of(kDigits), text.size());
  if (whole == 0 || whole > 18) return std::nullopt;
  auto end = whole;
  if (end < text.size() && text[end] == '.') {
    end = std::min(text.find_first_not_of(kDigits, end + 1), text.size());
    if (end == whole + 1) return std::nullopt;
  }
  double bytes = std::strtod(std::string(text.substr(0, end)).c_str(), nullptr);
  auto unit = text.substr(end);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto name = to_lower(unit);
  if (!name.empty() && name != "b") {
    const auto power = std::string_view("kmgtp").find(name.front());
    const auto rest = std::string_view(name).substr(1);
    if (power == std::string_view::npos || (rest != "" && rest != "b" && rest != "ib")) return std::nullopt;
    bytes *= std::pow(1024.0, static_cast<double>(power + 1));
  }
  if (!(bytes < 9.2e18)) return std::nullopt;
  return static_cast<std::int64_t>(bytes);
}

}  // namespace det::config
