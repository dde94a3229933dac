#include "det/checkpoint/buckets/google_credentials.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sodium.h>

#include <ctime>
#include <fstream>
#include <sstream>

#include "det/base/text.h"
#include "det/checkpoint/environment.h"

namespace det::checkpoint {

namespace {

using namespace std::chrono_literals;

constexpr const char* kScope = "https://www.googleapis.com/auth/devstorage.read_write";

std::string base64url(std::string_view bytes) {
  std::string out(sodium_base64_encoded_len(bytes.size(), sodium_base64_VARIANT_URLSAFE_NO_PADDING), '\0');
  sodium_bin2base64(out.data(), out.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  out.pop_back();  // its zero byte
  return out;
}

Failure refused(const std::string& why) {
  return Failure(Error(ErrorCode::PermissionDenied, why));
}

std::string rs256(const std::string& text, const std::string& private_key) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> pem(
      BIO_new_mem_buf(private_key.data(), static_cast<int>(private_key.size())), &BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(pem.get(), nullptr, nullptr, nullptr), &EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  std::string signature;
  const bool sized = key != nullptr && EVP_PKEY_base_id(key.get()) == EVP_PKEY_RSA &&
                     EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
                     EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) == 1;
  if (sized) signature.resize(size);
  if (!sized || EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                               bytes, text.size()) != 1)
    throw refused("the private_key of the service account is not an RSA key in PEM format");
  signature.resize(size);
  return signature;
}

json::object read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  auto document = json::parse(text.str());
  if (!file || !document || !document->is_object())
    throw refused("cannot read the Google credentials in " + path +
                  "; it must be a JSON file created by Google");
  return document->get_object();
}

}  // namespace

std::string signed_jwt(const json::object& claims, const std::string& private_key,
                       const std::string& key_id) {
  json::object header{{"alg", "RS256"}, {"typ", "JWT"}};
  if (!key_id.empty()) header["kid"] = key_id;
  const auto text = base64url(json::serialize(header)) + "." + base64url(json::serialize(claims));
  return text + "." + base64url(rs256(text, private_key));
}

std::string GoogleTokens::get() {
  const std::lock_guard lock(mutex_);
  if (token_.empty() || std::time(nullptr) > expires_ - 300) token_ = look();
  return token_;
}

std::string GoogleTokens::look() {
  auto path = environment_variable("GOOGLE_APPLICATION_CREDENTIALS");
  if (path.empty()) {
    const auto left = environment_variable("HOME") + "/.config/gcloud/application_default_credentials.json";
    if (std::ifstream(left)) path = left;
  }
  if (path.empty()) return from_machine();
  const auto file = read_file(path);
  const auto type = json::text_member(file, "type");
  if (type == "service_account") return from_service_account(file);
  if (type == "authorized_user") return from_user(file);
  throw refused(fmt::format(
      "the type of the Google credentials in {} is \"{}\"; it must be service_account or authorized_user",
      path, type));
}

std::string GoogleTokens::from_service_account(const json::object& key) {
  auto where = json::text_member(key, "token_uri");
  if (where.empty()) where = "https://oauth2.googleapis.com/token";
  const auto now = static_cast<std::int64_t>(std::time(nullptr));
  const json::object claims{{"iss", json::text_member(key, "client_email")},
                            {"scope", kScope},
                            {"aud", where},
                            {"iat", now},
                            {"exp", now + 3600}};
  return exchange(where, "grant_type=" + percent_encode("urn:ietf:params:oauth:grant-type:jwt-bearer") +
                             "&assertion=" +
                             signed_jwt(claims, json::text_member(key, "private_key"),
                                        json::text_member(key, "private_key_id")));
}

std::string GoogleTokens::from_user(const json::object& file) {
  auto where = json::text_member(file, "token_uri");
  if (where.empty()) where = "https://oauth2.googleapis.com/token";
  return exchange(
      where, "grant_type=refresh_token&client_id=" + percent_encode(json::text_member(file, "client_id")) +
                 "&client_secret=" + percent_encode(json::text_member(file, "client_secret")) +
                 "&refresh_token=" + percent_encode(json::text_member(file, "refresh_token")));
}

std::string GoogleTokens::exchange(const std::string& url, const std::string& form) {
  const auto reply = web_.send({.method = "POST",
                                .url = url,
                                .headers = {"Content-Type: application/x-www-form-urlencoded"},
                                .body = form});
  if (reply.status >= 400 && reply.status < 500)
    throw refused(fmt::format("{} rejected the Google credentials: {}", url, reply.body.substr(0, 300)));
  check_reply(reply, "ask " + url + " for a token");
  return keep(reply.body, url);
}

std::string GoogleTokens::from_machine() {
  auto host = environment_variable("GCE_METADATA_HOST");
  if (host.empty()) host = "metadata.google.internal";
  const auto url = "http://" + host + "/computeMetadata/v1/instance/service-accounts/default/token";
  WebCall call{.url = url,
               .headers = {"Metadata-Flavor: Google"},
               .attempts = 2,
               .connect_timeout = 2000ms,
               .to_link_local = true};
  try {
    const auto reply = web_.send(call);
    check_reply(reply, "ask " + url + " for a token");
    return keep(reply.body, url);
  } catch (const Failure&) {
    throw refused(
        "no credentials for Google Cloud Storage found: set GOOGLE_APPLICATION_CREDENTIALS to a file, run "
        "`gcloud "
        "auth application-default login`, or give the machine a service account");
  }
}

std::string GoogleTokens::keep(const std::string& body, const std::string& from) {
  const auto document = json::parse(body);
  const auto token =
      document && document->is_object() ? json::text_member(document->get_object(), "access_token") : "";
  if (token.empty()) throw refused(from + " returned no token");
  const auto* seconds = document->get_object().if_contains("expires_in");
  const auto number = seconds == nullptr ? std::nullopt : json::to_double(*seconds);
  expires_ = std::time(nullptr) + static_cast<std::int64_t>(number.value_or(3600));
  return token;
}

}  // namespace det::checkpoint
