#pragma once

#include <mutex>
#include <string>

#include "det/base/json.h"
#include "det/checkpoint/buckets/web_client.h"

namespace det::checkpoint {

/// Tokens for Google's services, from where Google's own libraries look for "application default
/// credentials": the file in GOOGLE_APPLICATION_CREDENTIALS, the one that `gcloud auth application-default
/// login` leaves, the machine's service account (GCE_METADATA_HOST, else metadata.google.internal).
///
/// Threads: safe.
class GoogleTokens {
 public:
  explicit GoogleTokens(WebClient& web) : web_(web) {}

  /// A token that is good for minutes at least. Throws Failure that says where was looked.
  std::string get();

 private:
  std::string look();
  std::string from_service_account(const json::object& key);
  std::string from_user(const json::object& file);
  std::string from_machine();
  std::string exchange(const std::string& url, const std::string& form);
  std::string keep(const std::string& body, const std::string& from);

  WebClient& web_;
  std::mutex mutex_;
  std::string token_;
  std::int64_t expires_ = 0;
};

/// A JSON Web Token (RFC 7519) by RS256. `private_key` is PEM. Throws Failure for a key that is none.
std::string signed_jwt(const json::object& claims, const std::string& private_key, const std::string& key_id);

}  // namespace det::checkpoint
