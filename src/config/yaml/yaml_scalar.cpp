// What plain scalars mean: https://yaml.org/type (YAML 1.1, as PyYAML implements
// it) with the deviations that yaml.h names.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "det/config/yaml/yaml.h"

namespace det::config {

namespace {

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool all_of(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

PlainScalar refused(std::string_view text, std::string_view why) {
  return {1, fmt::format("{} {}", shown(text), why)};
}

PlainScalar integer(std::string_view text, bool negative, std::string digits, int base) {
  std::erase(digits, '_');
  std::uint64_t magnitude = 0;
  const auto* end = digits.data() + digits.size();
  const auto [at, failure] = std::from_chars(digits.data(), end, magnitude, base);
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (failure != std::errc{} || at != end || (negative && magnitude > kMax + 1))
    return refused(text, "does not fit in 64 bits: write a smaller integer, or quote it to make it text");
  if (negative) return {static_cast<std::int64_t>(~magnitude + 1), ""};
  if (magnitude <= kMax) return {static_cast<std::int64_t>(magnitude), ""};
  return {magnitude, ""};
}

// digits with at most one point, then perhaps an exponent; at least one digit before the exponent.
bool is_decimal(std::string_view text) {
  const auto exponent = text.find_first_of("eE");
  auto mantissa = text.substr(0, exponent);
  const auto point = mantissa.find('.');
  const auto whole = mantissa.substr(0, point);
  const auto fraction = point == std::string_view::npos ? std::string_view{} : mantissa.substr(point + 1);
  if (whole.empty() && (fraction.empty() || !is_digit(fraction.front()))) return false;
  if (!whole.empty() && (!is_digit(whole.front()) || !all_of(whole, "0123456789_"))) return false;
  if (!fraction.empty() && !all_of(fraction, "0123456789_")) return false;
  if (exponent == std::string_view::npos) return point != std::string_view::npos;
  auto power = text.substr(exponent + 1);
  if (!power.empty() && (power.front() == '+' || power.front() == '-')) power.remove_prefix(1);
  return all_of(power, "0123456789");
}

}  // namespace

PlainScalar read_plain_scalar(std::string_view text) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return {nullptr, ""};
  if (is_one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) return {true, ""};
  if (is_one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) return {false, ""};

  const PlainScalar as_text{json::value(text), ""};
  auto number = text;
  const bool negative = number.front() == '-';
  if (negative || number.front() == '+') number.remove_prefix(1);
  if (is_one_of(number, {".inf", ".Inf", ".INF"}) || is_one_of(text, {".nan", ".NaN", ".NAN"}))
    return refused(text,
                   "is not a finite number, and JSON, in which the trial receives its configuration, has "
                   "only finite ones: write a finite number, or quote it to make it text");
  if (number.empty() || (!is_digit(number.front()) && number.front() != '.')) return as_text;

  if (number.starts_with("0x") && all_of(number.substr(2), "0123456789abcdefABCDEF_"))
    return integer(text, negative, std::string(number.substr(2)), 16);
  if (number.starts_with("0o") && all_of(number.substr(2), "01234567_"))
    return integer(text, negative, std::string(number.substr(2)), 8);
  if (number.starts_with("0b") && all_of(number.substr(2), "01_"))
    return integer(text, negative, std::string(number.substr(2)), 2);
  if (all_of(number, "0123456789_")) {
    const auto first = number.find_first_not_of("0_");
    if (number.size() > 1 && number.front() == '0') {
      const auto meant = first == std::string_view::npos ? "0" : number.substr(first);
      return {
          integer(meant, negative, std::string(meant), 10).value,
          fmt::format("{} is ambiguous, because some programs read a leading 0 as octal: write {}{} for the "
                      "integer, or quote it to make it text",
                      shown(text), negative ? "-" : "", shown(meant))};
    }
    return integer(text, negative, std::string(number), 10);
  }
  if (!is_decimal(number)) return as_text;

  std::string digits(text);
  std::erase(digits, '_');
  const double parsed = std::strtod(digits.c_str(), nullptr);
  if (!std::isfinite(parsed))
    return refused(text, "is too large for a floating-point number: quote it to make it text");
  return {parsed, ""};
}

}  // namespace det::config
