#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace det::checkpoint {

/// Who calls an AWS service, and where.
struct AwsSigner {
  std::string region;
  std::string access_key;
  std::string secret_key;
  std::string service = "s3";
};

/// A call as it is signed.
struct AwsCall {
  std::string method;
  std::string url;                        ///< encoded as it is sent, parameters in the order of their names
  std::vector<std::string> headers = {};  ///< "name: value", without Host
  std::string payload_sha256;             ///< or UNSIGNED-PAYLOAD
};

/// The headers of a call with its signature: AWS Signature Version 4
/// (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html). All given headers are
/// signed. Pure. libcurl 7.88 cannot do it: it sorts `x-amz-copy-source-range` before `x-amz-copy-source`.
std::vector<std::string> signed_headers(const AwsCall& call, const AwsSigner& who, std::int64_t unix_seconds);

}  // namespace det::checkpoint
