#include "det/checkpoint/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "det/base/error.h"
#include "det/base/text.h"

namespace det::checkpoint {

void Sha256::Free::operator()(EVP_MD_CTX* context) const {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  DET_ASSERT(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256::update(const unsigned char* data, std::size_t size) {
  DET_ASSERT(EVP_DigestUpdate(context_.get(), data, size) == 1);
}

std::string Sha256::finish() {
  std::array<unsigned char, 32> digest{};
  DET_ASSERT(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
  return hexadecimal({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string sha256_of(std::string_view bytes) {
  Sha256 hash;
  hash.update(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  return hash.finish();
}

}  // namespace det::checkpoint
