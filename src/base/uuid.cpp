#include "det/base/uuid.h"

namespace det {

namespace {

constexpr std::size_t kLength = 36;
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::uint8_t kNoDigit = 0xff;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<std::uint8_t>(kDigits[i])] = static_cast<std::uint8_t>(i);
  return values;
}();

constexpr bool is_dash(std::size_t place) {
  return place == 8 || place == 13 || place == 18 || place == 23;
}

}  // namespace

Uuid uuid_of_bytes(std::span<const std::uint8_t, 16> bytes) {
  Uuid uuid;
  for (std::size_t i = 0; i < 8; ++i) uuid.high = uuid.high << 8 | bytes[i];
  for (std::size_t i = 8; i < 16; ++i) uuid.low = uuid.low << 8 | bytes[i];
  return uuid;
}

std::string uuid_text(const Uuid& uuid) {
  std::string text(kLength, '-');
  int digit = 0;
  for (std::size_t i = 0; i < kLength; ++i) {
    if (is_dash(i)) continue;
    const auto half = digit < 16 ? uuid.high : uuid.low;
    text[i] = kDigits[half >> (60 - 4 * (digit++ % 16)) & 0xf];
  }
  return text;
}

std::optional<Uuid> parse_uuid(std::string_view text) {
  if (text.size() != kLength) return std::nullopt;
  std::array<std::uint64_t, 2> halves{};
  std::size_t digit = 0;
  for (std::size_t i = 0; i < kLength; ++i) {
    if (is_dash(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const auto value = kValues[static_cast<std::uint8_t>(text[i])];
    if (value == kNoDigit) return std::nullopt;
    auto& half = halves[digit++ / 16];
    half = half << 4 | value;
  }
  return Uuid{.high = halves[0], .low = halves[1]};
}

}  // namespace det
