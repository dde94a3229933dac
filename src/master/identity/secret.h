#pragma once

#include <sodium.h>

#include <span>
#include <string>
#include <string_view>

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

/// The SHA-256 of the text, as 64 hexadecimal digits.
inline std::string digest(std::string_view text) {
  unsigned char hash[crypto_generichash_BYTES];
  crypto_generichash(hash, sizeof hash, reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                     nullptr, 0);
  return hex(hash);
}

/// 256 random bits, as 64 digits.
inline std::string random_secret() {
  unsigned char bytes[32];
  randombytes_buf(bytes, sizeof bytes);
  return hex(bytes);
}

}  // namespace det::master
