#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "det/base/error.h"

namespace det {

/// A point in time, in microseconds since 1970-01-01 UTC. Pure modules receive
/// it with the event and never ask for it.
struct Time {
  std::int64_t microseconds = 0;
  friend constexpr auto operator<=>(const Time&, const Time&) = default;
};

constexpr Time operator+(Time time, std::int64_t microseconds) {
  return {time.microseconds + microseconds};
}
constexpr std::int64_t operator-(Time a, Time b) {
  return a.microseconds - b.microseconds;
}
constexpr std::int64_t kSecond = 1'000'000;

/// RFC 3339 in UTC with microseconds: "2026-01-02T03:04:05.123456Z".
std::string to_rfc3339(Time time);
/// The same with 0, 3 or 6 digits of the second's fraction, whatever is exact: the JSON form of a Timestamp
/// of Protocol Buffers.
std::string to_json_timestamp(Time time);
/// Reads RFC 3339 with "Z" or a numeric offset and any number of fraction digits.
Result<Time> parse_rfc3339(std::string_view text);

}  // namespace det
