#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace det {

/// A UUID in 16 bytes, where its text takes 80. In the order of their texts.
struct Uuid {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

/// Big-endian, as the text has them.
Uuid uuid_of_bytes(std::span<const std::uint8_t, 16> bytes);

/// 36 characters, in lower case.
std::string uuid_text(const Uuid& uuid);
/// Reads what `uuid_text` writes, and nothing else.
std::optional<Uuid> parse_uuid(std::string_view text);

}  // namespace det
