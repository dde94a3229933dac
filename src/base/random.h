#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace det {

/// The documented random stream: MT19937, bit for bit NumPy's legacy
/// `RandomState(seed)` (Matsumoto and Nishimura 1998; numpy/random/mtrand).
///
/// Every draw says how much of the stream it consumes, so that a search can be
/// replayed draw for draw from its seed or from `state()`.
class Random {
 public:
  static constexpr int kWords = 624;
  struct State {
    std::array<std::uint32_t, kWords> words{};
    int position = kWords;
    friend bool operator==(const State&, const State&) = default;
  };

  explicit Random(std::uint32_t seed);
  explicit Random(const State& state) : state_(state) {}

  const State& state() const { return state_; }

  std::uint32_t bits32();                    ///< One draw.
  std::uint64_t bits64();                    ///< Two draws, the first is the high half.
  std::uint64_t up_to(std::uint64_t limit);  ///< Uniform in [0, limit], limit included. 0 draws nothing.
  std::int64_t below(std::int64_t n);        ///< Uniform in [0, n). Requires: n > 0.
  double unit();                             ///< Uniform in [0, 1), 53 bits, two draws.
  double uniform(double low, double high);
  void read(std::span<std::uint8_t> bytes);  ///< Little-endian words; the last may be used in part.
  std::string uuid();                        ///< 16 bytes of `read` as an RFC 4122 version 4 UUID.

 private:
  void refill();
  State state_;
};

}  // namespace det
