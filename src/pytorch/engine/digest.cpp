#include "det/pytorch/engine/digest.h"

#include <sodium.h>

namespace det::pytorch {

std::uint64_t digest_number(const std::string& text) {
  std::uint64_t digest = 0;
  crypto_generichash_blake2b(reinterpret_cast<unsigned char*>(&digest), sizeof digest,
                             reinterpret_cast<const unsigned char*>(text.data()), text.size(), nullptr, 0);
  return digest;
}

}  // namespace det::pytorch
