#include "det/checkpoint/buckets/aws_signature.h"

#include <fmt/chrono.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <map>

#include "det/base/text.h"
#include "det/checkpoint/sha256.h"

namespace det::checkpoint {

namespace {

constexpr const char* kAlgorithm = "AWS4-HMAC-SHA256";

std::string hmac(const std::string& key, const std::string& text) {
  std::string sum(EVP_MAX_MD_SIZE, '\0');
  unsigned length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       reinterpret_cast<unsigned char*>(sum.data()), &length);
  sum.resize(length);
  return sum;
}

}  // namespace

std::vector<std::string> signed_headers(const AwsCall& call, const AwsSigner& who,
                                        std::int64_t unix_seconds) {
  const auto time = fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(static_cast<std::time_t>(unix_seconds)));
  const auto day = time.substr(0, 8);
  const auto after_scheme = call.url.substr(call.url.find("//") + 2);
  const auto host_end = std::min(after_scheme.find('/'), after_scheme.size());
  const auto question = std::min(after_scheme.find('?'), after_scheme.size());

  auto headers = call.headers;
  headers.push_back("Host: " + after_scheme.substr(0, host_end));
  headers.push_back("x-amz-content-sha256: " + call.payload_sha256);
  headers.push_back("x-amz-date: " + time);
  std::map<std::string, std::string> by_name;
  for (const auto& line : headers) {
    const auto colon = line.find(':');
    by_name[to_lower(line.substr(0, colon))] = trim(std::string_view(line).substr(colon + 1));
  }
  std::string names, canonical;
  for (const auto& [name, value] : by_name) {
    names += (names.empty() ? "" : ";") + name;
    canonical += name + ":" + value + "\n";
  }
  const auto query = question < after_scheme.size() ? after_scheme.substr(question + 1) : "";
  const auto request =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", call.method, after_scheme.substr(host_end, question - host_end),
                  query, canonical, names, call.payload_sha256);
  const auto scope = fmt::format("{}/{}/{}/aws4_request", day, who.region, who.service);
  const auto to_sign = fmt::format("{}\n{}\n{}\n{}", kAlgorithm, time, scope, sha256_of(request));
  auto key = hmac("AWS4" + who.secret_key, day);
  for (const auto& part : {who.region, who.service, std::string("aws4_request")}) key = hmac(key, part);
  headers.push_back(fmt::format("Authorization: {} Credential={}/{}, SignedHeaders={}, Signature={}",
                                kAlgorithm, who.access_key, scope, names, hexadecimal(hmac(key, to_sign))));
  return headers;
}

}  // namespace det::checkpoint
