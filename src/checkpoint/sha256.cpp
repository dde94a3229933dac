#include "det/checkpoint/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace det::checkpoint {
namespace {

using State = std::array<std::uint32_t, 8>;

constexpr std::size_t kBlock = 64;
constexpr State kFirst = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
alignas(16) constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const unsigned char* bytes) {
  return static_cast<std::uint32_t>(bytes[0]) << 24 | static_cast<std::uint32_t>(bytes[1]) << 16 |
         static_cast<std::uint32_t>(bytes[2]) << 8 | bytes[3];
}

void compress_portably(State& state, const unsigned char* blocks, std::size_t count) {
  for (; count > 0; --count, blocks += kBlock) {
    std::array<std::uint32_t, 64> w{};
    for (std::size_t t = 0; t < 16; ++t) w[t] = big_endian(blocks + 4 * t);
    for (std::size_t t = 16; t < 64; ++t) {
      const auto s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
      const auto s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
      w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t t = 0; t < 64; ++t) {
      const auto choice = (e & f) ^ (~e & g);
      const auto majority = (a & b) ^ (a & c) ^ (b & c);
      const auto x = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + choice + kRound[t] + w[t];
      const auto y = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + majority;
      h = g, g = f, f = e, e = d + x, d = c, c = b, b = a, a = x + y;
    }
    const State added = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < state.size(); ++i) state[i] += added[i];
  }
}

#if defined(__x86_64__)

// The instructions keep the state as two vectors, (a b e f) and (c d g h) with `a` and `c` uppermost, and do
// two rounds at a time from the lower half of a vector of words with their round constants added.
[[gnu::target("sha,sse4.1")]] void compress_natively(State& state, const unsigned char* blocks,
                                                     std::size_t count) {
  const auto load = [](const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); };
  const auto swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);  // to the processor's byte order
  const auto badc = _mm_shuffle_epi32(load(state.data()), 0xb1);
  const auto hgfe = _mm_shuffle_epi32(load(state.data() + 4), 0x1b);
  auto abef = _mm_alignr_epi8(badc, hgfe, 8);
  auto cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
  for (; count > 0; --count, blocks += kBlock) {
    const auto abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];  // the last sixteen words of the schedule, the oldest first at index t % 4
    for (std::size_t t = 0; t < 16; ++t) {
      auto& words = w[t % 4];
      if (t < 4) {
        words = _mm_shuffle_epi8(load(blocks + 16 * t), swap);
      } else {
        const auto seven_back = _mm_alignr_epi8(w[(t + 3) % 4], w[(t + 2) % 4], 4);
        words = _mm_add_epi32(_mm_sha256msg1_epu32(words, w[(t + 1) % 4]), seven_back);
        words = _mm_sha256msg2_epu32(words, w[(t + 3) % 4]);
      }
      const auto sum = _mm_add_epi32(words, load(kRound.data() + 4 * t));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const auto feba = _mm_shuffle_epi32(abef, 0x1b);
  const auto dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}

bool has_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1) != 0 &&
         __builtin_cpu_supports("sse4.1");
}

#else

constexpr auto compress_natively = compress_portably;
bool has_instructions() {
  return false;
}

#endif

}  // namespace

Sha256::Sha256(bool portable) : state_(kFirst) {
  static const bool native = has_instructions();
  compress_ = native && !portable ? compress_natively : compress_portably;
}

void Sha256::update(const unsigned char* data, std::size_t size) {
  if (size == 0) return;
  const auto held = static_cast<std::size_t>(bytes_ % kBlock);
  bytes_ += size;
  if (held > 0) {
    const auto taken = std::min(size, kBlock - held);
    std::memcpy(waiting_.data() + held, data, taken);
    if (held + taken < kBlock) return;
    compress_(state_, waiting_.data(), 1);
    data += taken, size -= taken;
  }
  compress_(state_, data, size / kBlock);
  std::memcpy(waiting_.data(), data + size / kBlock * kBlock, size % kBlock);
}

std::string Sha256::finish() {
  const auto bits = bytes_ * 8;
  const auto held = static_cast<std::size_t>(bytes_ % kBlock);
  std::array<unsigned char, 2 * kBlock> end{};  // what is held, a one, zeros, the length in bits
  std::memcpy(end.data(), waiting_.data(), held);
  end[held] = 0x80;
  const auto size = held + 9 <= kBlock ? kBlock : 2 * kBlock;
  for (std::size_t i = 0; i < 8; ++i) end[size - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
  compress_(state_, end.data(), size / kBlock);
  std::string text;
  for (const auto word : state_) text += fmt::format("{:08x}", word);
  return text;
}

}  // namespace det::checkpoint
