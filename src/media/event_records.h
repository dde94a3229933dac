#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace det::media {

/// Bytes before the data of a record: its length, and the checksum of the length.
inline constexpr std::size_t kRecordHead = 12;
/// Bytes after the data: its checksum.
inline constexpr std::size_t kRecordTail = 4;

/// The length of the data of a record (TFRecord: a little-endian length and the masked CRC-32C of these eight
/// bytes). Nothing for a head that is damaged, or a length above 1 GiB. Requires: kRecordHead bytes.
std::optional<std::uint64_t> record_length(std::string_view head);

/// TFRecord's checksum: CRC-32C, rotated and shifted.
std::uint32_t masked_crc(std::string_view bytes);

}  // namespace det::media
