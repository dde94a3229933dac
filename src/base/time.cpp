#include "det/base/time.h"

#include <chrono>
#include <cstdio>

namespace det {
namespace {

using Days = std::chrono::sys_days;

bool digits(std::string_view text, std::size_t at, std::size_t count, int& value) {
  if (at + count > text.size()) return false;
  value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    value = value * 10 + (text[i] - '0');
  }
  return true;
}

}  // namespace

std::string to_rfc3339(Time time) {
  const std::chrono::sys_time<std::chrono::microseconds> point{std::chrono::microseconds{time.microseconds}};
  const auto day = std::chrono::floor<std::chrono::days>(point);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{point - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

std::string to_json_timestamp(Time time) {
  auto text = to_rfc3339(time);
  text.pop_back();  // the Z
  if (text.ends_with("000")) text.resize(text.size() - 3);
  if (text.ends_with(".000")) text.resize(text.size() - 4);
  return text + "Z";
}

Result<Time> parse_rfc3339(std::string_view text) {
  const auto bad = [&] {
    return invalid_argument("'{}' is not a time; write it like 2026-01-02T03:04:05Z", text);
  };
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!digits(text, 0, 4, year) || !digits(text, 5, 2, month) || !digits(text, 8, 2, day) ||
      !digits(text, 11, 2, hour) || !digits(text, 14, 2, minute) || !digits(text, 17, 2, second))
    return bad();
  if (text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != ' ' && text[10] != 't') ||
      text[13] != ':' || text[16] != ':')
    return bad();
  std::size_t at = 19;
  std::int64_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    std::int64_t scale = 100'000;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, scale /= 10)
      fraction += (text[at] - '0') * scale;
  }
  std::int64_t offset_seconds = 0;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) {
    int hours = 0, minutes = 0;
    if (!digits(text, at + 1, 2, hours) || !digits(text, at + 4, 2, minutes) || at + 6 != text.size())
      return bad();
    offset_seconds = (hours * 3600 + minutes * 60) * (text[at] == '+' ? 1 : -1);
  } else if (at + 1 != text.size() || (text[at] != 'Z' && text[at] != 'z')) {
    return bad();
  }
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return bad();
  const std::int64_t seconds =
      Days{date}.time_since_epoch().count() * std::int64_t{86400} + hour * 3600 + minute * 60 + second;
  return Time{(seconds - offset_seconds) * kSecond + fraction};
}

}  // namespace det
