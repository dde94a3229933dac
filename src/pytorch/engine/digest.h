#pragma once

#include <cstdint>
#include <string>

namespace det::pytorch {

/// BLAKE2b of a text, with a digest of eight bytes.
std::uint64_t digest_number(const std::string& text);

}  // namespace det::pytorch
