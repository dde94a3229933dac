#include "det/checkpoint/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "det/base/error.h"

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
  std::string text;
  for (const auto byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace det::checkpoint
