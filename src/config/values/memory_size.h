#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace det::config {

/// Bytes of "4.5 G", "1GiB", "512m" or "100"; units are powers of 1024.
std::optional<std::int64_t> memory_size(std::string_view text);

}  // namespace det::config
