#include "det/base/random.h"

#include <algorithm>

#include "det/base/error.h"
#include "det/base/uuid.h"

namespace det {

Random::Random(std::uint32_t seed) {
  auto& mt = state_.words;
  mt[0] = seed;
  for (std::uint32_t i = 1; i < kWords; ++i) mt[i] = 1812433253u * (mt[i - 1] ^ (mt[i - 1] >> 30)) + i;
}

void Random::refill() {
  constexpr std::size_t kShift = 397;
  auto& mt = state_.words;
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint32_t y = (mt[i] & 0x80000000u) | (mt[(i + 1) % kWords] & 0x7fffffffu);
    mt[i] = mt[(i + kShift) % kWords] ^ (y >> 1) ^ ((y & 1u) != 0 ? 0x9908b0dfu : 0u);
  }
  state_.position = 0;
}

std::uint32_t Random::bits32() {
  if (state_.position >= kWords) refill();
  std::uint32_t y = state_.words[static_cast<std::size_t>(state_.position++)];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

std::uint64_t Random::bits64() {
  const std::uint64_t high = bits32();
  return (high << 32) | bits32();
}

std::uint64_t Random::up_to(std::uint64_t limit) {
  if (limit == 0) return 0;
  std::uint64_t mask = limit;
  for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
  while (true) {
    const std::uint64_t value = (limit <= 0xffffffffu ? bits32() : bits64()) & mask;
    if (value <= limit) return value;
  }
}

std::int64_t Random::below(std::int64_t n) {
  DET_ASSERT(n > 0);
  return static_cast<std::int64_t>(up_to(static_cast<std::uint64_t>(n) - 1));
}

double Random::unit() {
  const double high = static_cast<double>(bits32() >> 5);
  const double low = static_cast<double>(bits32() >> 6);
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

double Random::uniform(double low, double high) {
  return low + (high - low) * unit();
}

void Random::read(std::span<std::uint8_t> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += 4) {
    const std::uint32_t word = bits32();
    const std::size_t count = std::min<std::size_t>(4, bytes.size() - at);
    for (std::size_t i = 0; i < count; ++i) bytes[at + i] = static_cast<std::uint8_t>(word >> (8 * i));
  }
}

std::string Random::uuid() {
  std::array<std::uint8_t, 16> b{};
  read(b);
  b[6] = static_cast<std::uint8_t>((b[6] & 0x0f) | 0x40);
  b[8] = static_cast<std::uint8_t>((b[8] & 0x3f) | 0x80);
  return uuid_text(uuid_of_bytes(b));
}

}  // namespace det
