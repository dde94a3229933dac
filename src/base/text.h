#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"

namespace det {

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);
/// Whether `text` contains `part`, in upper or lower case.
bool contains_ignoring_case(std::string_view text, std::string_view part);

/// Bytes as people read them, in steps of 1024: "2.5KB", "512.0B".
std::string human_size(std::int64_t bytes);

/// RFC 4648 base64 with padding.
std::string base64_encode(std::string_view bytes);
/// Accepts padding or none; refuses every other character.
Result<std::string> base64_decode(std::string_view text);

/// Two lower-case digits a byte.
std::string hexadecimal(std::string_view bytes);

/// As in URLs (RFC 3986): every byte but letters, digits, "-_.~" and those of `also_plain` as %XX.
std::string percent_encode(std::string_view text, std::string_view also_plain = "");

/// Whether `text` is well-formed UTF-8 (no surrogates, no overlong forms).
bool is_utf8(std::string_view text);

/// How many single-character edits lie between two words; for "did you mean".
int edit_distance(std::string_view a, std::string_view b);

}  // namespace det
