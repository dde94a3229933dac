#include "det/checkpoint/buckets/aws_signature.h"

#include <gtest/gtest.h>

namespace det::checkpoint {
namespace {

constexpr const char* kEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::int64_t kDay = 1369353600;  // 2013-05-24, 00:00 UTC
const AwsSigner kWho{"us-east-1", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
const std::string kHost = "https://examplebucket.s3.amazonaws.com";

std::string signature(const AwsCall& call) {
  const auto headers = signed_headers(call, kWho, kDay);
  const auto& line = headers.back();
  return line.substr(line.rfind('=') + 1);
}

// The examples of https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
TEST(AwsSignature, IsThatOfAmazonsExamples) {
  EXPECT_EQ(signature({"GET", kHost + "/test.txt", {"Range: bytes=0-9"}, kEmpty}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(signature({"GET", kHost + "/?lifecycle=", {}, kEmpty}),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(signature({"GET", kHost + "/?max-keys=2&prefix=J", {}, kEmpty}),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(AwsSignature, NamesAllHeadersInTheirOrder) {
  const auto headers = signed_headers(
      {"PUT", kHost + "/key", {"x-amz-copy-source-range: bytes=0-9", "x-amz-copy-source: /a/b"}, kEmpty},
      kWho, kDay);
  EXPECT_NE(headers.back().find("SignedHeaders=host;x-amz-content-sha256;x-amz-copy-source;"
                                "x-amz-copy-source-range;x-amz-date,"),
            std::string::npos)
      << headers.back();
}

}  // namespace
}  // namespace det::checkpoint
