#include "det/media/event_records.h"

#include <boost/crc.hpp>

#include "det/base/error.h"

namespace det::media {

namespace {

constexpr std::uint64_t kLengthMax = std::uint64_t{1} << 30;

template <typename Number>
Number little_endian(std::string_view bytes) {
  Number number = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

}  // namespace

std::uint32_t masked_crc(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  const auto sum = crc.checksum();
  return (sum >> 15 | sum << 17) + 0xA282EAD8;
}

std::optional<std::uint64_t> record_length(std::string_view head) {
  DET_ASSERT(head.size() >= kRecordHead);
  if (little_endian<std::uint32_t>(head.substr(8, 4)) != masked_crc(head.substr(0, 8))) return std::nullopt;
  const auto length = little_endian<std::uint64_t>(head.substr(0, 8));
  if (length > kLengthMax) return std::nullopt;
  return length;
}

}  // namespace det::media
