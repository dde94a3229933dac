#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "det/checkpoint/buckets/web_client.h"

namespace det::checkpoint {

struct AwsCredentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  ///< empty for keys that do not end
  std::int64_t expires = 0;   ///< seconds since 1970; 0 if never
};

/// Where AWS's own tools look, in their order: the environment, the files in ~/.aws, the container's service,
/// the machine's.
///
/// Threads: safe.
class AwsChain {
 public:
  /// Keys given here come before all else.
  AwsChain(WebClient& web, std::string access_key, std::string secret_key);

  /// Throws Failure that says where was looked.
  AwsCredentials get();

  /// AWS_REGION, AWS_DEFAULT_REGION, the profile's region, else us-east-1.
  static std::string region();

 private:
  AwsCredentials look();
  std::optional<AwsCredentials> from_container();
  std::optional<AwsCredentials> from_machine();
  AwsCredentials read(const std::string& body, const std::string& from);

  WebClient& web_;
  AwsCredentials given_;
  std::mutex mutex_;
  std::optional<AwsCredentials> found_;
};

/// The sections of a file in the form of ~/.aws/credentials. Lines that are neither a section, a setting nor
/// a comment are passed over, as AWS's tools do.
std::map<std::string, std::map<std::string, std::string>> read_profiles(const std::string& text);

/// Seconds since 1970 of "2026-01-31T12:00:00Z"; 0 for anything else.
std::int64_t seconds_of(const std::string& iso_time);

}  // namespace det::checkpoint
