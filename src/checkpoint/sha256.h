#pragma once

#include <openssl/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace det::checkpoint {

/// SHA-256 (FIPS 180-4), computed in pieces by OpenSSL, which uses the processor's SHA instructions where it
/// has them: 2.2 GB/s on one core, where libsodium does 0.25 GB/s. Every checkpoint is hashed when it is
/// saved and when it is read.
class Sha256 {
 public:
  Sha256();

  void update(const unsigned char* data, std::size_t size);
  /// The digest as 64 lower-case hexadecimal digits. Ends the use of this object.
  std::string finish();

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const;
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

/// The digest of all of it, as `Sha256::finish`.
std::string sha256_of(std::string_view bytes);

}  // namespace det::checkpoint
