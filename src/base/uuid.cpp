#include "det/base/uuid.h"

namespace det {

namespace {

constexpr std::size_t kLength = 36;
constexpr std::array<std::size_t, 4> kDashes = {8, 13, 18, 23};
// Of the digits of each half, so that nothing is asked of each character.
constexpr std::array<std::size_t, 16> kHigh = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 14, 15, 16, 17};
constexpr std::array<std::size_t, 16> kLow = {19, 20, 21, 22, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35};
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::uint8_t kNoDigit = 0xff;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<std::uint8_t>(kDigits[i])] = static_cast<std::uint8_t>(i);
  return values;
}();

}  // namespace

Uuid uuid_of_bytes(std::span<const std::uint8_t, 16> bytes) {
  Uuid uuid;
  for (std::size_t i = 0; i < 8; ++i) uuid.high = uuid.high << 8 | bytes[i];
  for (std::size_t i = 8; i < 16; ++i) uuid.low = uuid.low << 8 | bytes[i];
  return uuid;
}

std::string uuid_text(const Uuid& uuid) {
  std::string text(kLength, '-');
  for (std::size_t i = 0; i < 16; ++i) {
    text[kHigh[i]] = kDigits[uuid.high >> (60 - 4 * i) & 0xf];
    text[kLow[i]] = kDigits[uuid.low >> (60 - 4 * i) & 0xf];
  }
  return text;
}

std::optional<Uuid> parse_uuid(std::string_view text) {
  if (text.size() != kLength) return std::nullopt;
  for (const auto dash : kDashes)
    if (text[dash] != '-') return std::nullopt;
  Uuid uuid;
  std::uint8_t seen = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    const auto high = kValues[static_cast<std::uint8_t>(text[kHigh[i]])];
    const auto low = kValues[static_cast<std::uint8_t>(text[kLow[i]])];
    uuid.high = uuid.high << 4 | high;
    uuid.low = uuid.low << 4 | low;
    seen |= static_cast<std::uint8_t>(high | low);
  }
  return seen > 0xf ? std::nullopt : std::optional(uuid);
}

}  // namespace det
