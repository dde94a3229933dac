#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Copies and hashes the content of files.
namespace det::checkpoint {

/// How content is hashed. Both find damage; neither proves who wrote a file.
enum class Hash {
  /// XXH3-128 (xxHash 0.8, canonical byte order) of each piece of `kPieceBytes`, and XXH3-128 of these sums
  /// in order.
  /// Pieces are hashed at once on several processors. As 32 hexadecimal digits.
  Xxh3,
  /// SHA-256 (FIPS 180-4) of the whole, by OpenSSL. Older manifests have it, and S3 compares it. As 64
  /// hexadecimal
  /// digits.
  Sha256,
};

inline constexpr std::size_t kPieceBytes = 4 << 20;

/// XXH3-128 in canonical byte order.
using PieceSum = std::array<unsigned char, 16>;

/// The sums of the first `bytes` of a file in pieces of `piece_bytes`, hashed at once on several processors.
/// Throws Failure, also if the file becomes shorter meanwhile.
std::vector<PieceSum> piece_sums(int file, std::int64_t bytes, std::int64_t piece_bytes,
                                 const std::string& shown);

struct Copied {
  std::int64_t bytes = 0;
  std::string sum;  ///< lower-case hexadecimal
};

/// Copies the file `source`, with the size it has now, to the empty file `target`, or only reads it if
/// `target` is -1. Shares the blocks if the file system can. Throws Failure, also if the file becomes shorter
/// meanwhile.
Copied copy_and_hash(int source, int target, const std::string& shown_source, const std::string& shown_target,
                     Hash hash = Hash::Xxh3);

}  // namespace det::checkpoint
