#include "det/checkpoint/content.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <random>
#include <vector>

#include "det/checkpoint/files.h"
#include "det/checkpoint/temporary_directory.h"

namespace det::checkpoint {
namespace {

std::string random_bytes(std::size_t size) {
  std::mt19937_64 random(size);
  std::string data(size, '\0');
  for (auto& byte : data) byte = static_cast<char>(random());
  return data;
}

/// The sum by its definition, with the library's functions for whole buffers.
std::string by_definition(const std::string& data) {
  std::vector<XXH128_canonical_t> sums;
  for (std::size_t at = 0; at < data.size(); at += kPieceBytes) {
    const auto piece = std::string_view(data).substr(at, kPieceBytes);
    XXH128_canonicalFromHash(&sums.emplace_back(), XXH3_128bits(piece.data(), piece.size()));
  }
  XXH128_canonical_t whole;
  XXH128_canonicalFromHash(&whole, XXH3_128bits(sums.data(), sums.size() * sizeof(XXH128_canonical_t)));
  std::string text;
  for (const auto byte : whole.digest) text += fmt::format("{:02x}", byte);
  return text;
}

class Content : public ::testing::TestWithParam<std::size_t> {
 protected:
  Fd open(const std::string& name, int flags = O_RDONLY) const {
    return Fd(::open((directory.path() / name).c_str(), flags, 0666));
  }
  Copied read(const std::string& name, Hash hash = Hash::Xxh3) const {
    return copy_and_hash(open(name).get(), -1, name, "", hash);
  }
  TemporaryDirectory directory;
};

TEST_P(Content, IsCopiedAndHashedAsTheDefinitionSays) {
  const auto data = random_bytes(GetParam());
  directory.write("a", data);
  const auto copied = copy_and_hash(open("a").get(), open("b", O_RDWR | O_CREAT | O_EXCL).get(), "a", "b");
  EXPECT_EQ(copied.bytes, static_cast<std::int64_t>(data.size()));
  EXPECT_EQ(copied.sum, by_definition(data));
  EXPECT_EQ(read("b").sum, copied.sum);
  EXPECT_EQ(directory.read("b"), data);
}

INSTANTIATE_TEST_SUITE_P(OfEverySizeAroundAPiece, Content,
                         ::testing::Values(0, 1, 1000, 300'000, kPieceBytes - 1, kPieceBytes, kPieceBytes + 1,
                                           3 * kPieceBytes, 5 * kPieceBytes + 17));

TEST_F(Content, WithOneBitChangedHasAnotherSum) {
  auto data = random_bytes(2 * kPieceBytes + 100);
  directory.write("a", data);
  const auto sum = read("a").sum;
  const auto sha = read("a", Hash::Sha256).sum;
  for (const std::size_t at : {std::size_t{0}, kPieceBytes - 1, kPieceBytes, data.size() - 1}) {
    data[at] ^= 1;
    directory.write("a", data);
    EXPECT_NE(read("a").sum, sum) << "byte " << at;
    EXPECT_NE(read("a", Hash::Sha256).sum, sha) << "byte " << at;
    data[at] ^= 1;
  }
}

TEST_F(Content, WithTwoPiecesExchangedHasAnotherSum) {
  const auto data = random_bytes(2 * kPieceBytes);
  directory.write("a", data);
  directory.write("b", data.substr(kPieceBytes) + data.substr(0, kPieceBytes));
  EXPECT_NE(read("a").sum, read("b").sum);
}

TEST_F(Content, ThatCannotBeWrittenIsAnErrorThatNamesTheFile) {
  directory.write("a", random_bytes(2 * kPieceBytes));
  directory.write("b", "");
  try {
    copy_and_hash(open("a").get(), open("b").get(), "a", "b");
    FAIL() << "a file that is open for reading only was written";
  } catch (const Failure& failure) {
    EXPECT_NE(failure.error.message().find("cannot write b"), std::string::npos) << failure.error.message();
  }
}

}  // namespace
}  // namespace det::checkpoint
