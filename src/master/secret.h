#pragma once

#include <sodium.h>

#include <span>
#include <string>

namespace det::master {

/// The bytes as lower case digits.
inline std::string hex(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const auto byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

/// 256 random bits, as 64 digits.
inline std::string random_secret() {
  unsigned char bytes[32];
  randombytes_buf(bytes, sizeof bytes);
  return hex(bytes);
}

}  // namespace det::master
