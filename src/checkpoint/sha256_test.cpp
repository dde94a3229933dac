#include "det/checkpoint/sha256.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <random>
#include <vector>

namespace det::checkpoint {
namespace {

std::string hash_of(const std::vector<unsigned char>& data, std::size_t step) {
  Sha256 hash;
  for (std::size_t at = 0; at < data.size(); at += step)
    hash.update(data.data() + at, std::min(step, data.size() - at));
  return hash.finish();
}

std::string sodium_says(const std::vector<unsigned char>& data) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), data.data(), data.size());
  std::string text(2 * digest.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
  text.pop_back();
  return text;
}

TEST(Sha256, OfTheStandardsExamples) {
  EXPECT_EQ(hash_of({}, 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of({'a', 'b', 'c'}, 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, IsThatOfLibsodiumForEveryLengthAndInWhateverPiecesItComes) {
  std::mt19937 random(1);
  std::vector<unsigned char> data;
  for (std::size_t length = 0; length < 300; ++length, data.push_back(static_cast<unsigned char>(random())))
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{64}, std::size_t{1000}})
      ASSERT_EQ(hash_of(data, step), sodium_says(data)) << length << " bytes by " << step;
}

TEST(Sha256, OfMegabytesIsTheSame) {
  std::mt19937 random(2);
  std::vector<unsigned char> data((3 << 20) + 5);
  for (auto& byte : data) byte = static_cast<unsigned char>(random());
  EXPECT_EQ(hash_of(data, 100'003), sodium_says(data));
}

}  // namespace
}  // namespace det::checkpoint
