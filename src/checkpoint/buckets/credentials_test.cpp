#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <sodium.h>

#include <cstdlib>

#include "det/base/text.h"
#include "det/checkpoint/buckets/aws_credentials.h"
#include "det/checkpoint/buckets/google_credentials.h"
#include "det/checkpoint/temporary_directory.h"

namespace det::checkpoint {
namespace {

/// Sets environment variables and takes them back.
class Variables {
 public:
  using Values = std::map<std::string, std::string>;
  explicit Variables(Values values) : values_(std::move(values)) {
    for (const auto& [name, value] : values_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : values_) ::unsetenv(name.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  Values values_;
};

std::string reason(const std::function<void()>& body) {
  try {
    body();
  } catch (const Failure& failure) {
    return failure.error.message();
  }
  return "it succeeded";
}

TEST(AwsCredentials, ProfilesAreReadAsAwsReadsThem) {
  const auto profiles = read_profiles(
      "# comment\n[default]\naws_access_key_id = AK\r\naws_secret_access_key=S/K+=\nnot a setting\n"
      "[profile team]\nregion = eu-west-1\ns3 =\n  addressing_style = path\n");
  EXPECT_EQ(profiles.at("default").at("aws_access_key_id"), "AK");
  EXPECT_EQ(profiles.at("default").at("aws_secret_access_key"), "S/K+=");
  EXPECT_EQ(profiles.at("profile team").at("region"), "eu-west-1");
  EXPECT_FALSE(profiles.at("profile team").contains("addressing_style")) << "it belongs to the setting s3";
}

TEST(AwsCredentials, KeysOfTheConfigurationComeBeforeTheEnvironmentAndThatBeforeFiles) {
  TemporaryDirectory home;
  home.write("credentials",
             "[default]\naws_access_key_id=F\naws_secret_access_key=G\naws_session_token=T\n"
             "[team]\naws_access_key_id=X\naws_secret_access_key=Y\n");
  home.write("config", "[default]\nregion=ap-south-1\n[profile team]\nregion=eu-west-1\n");
  const Variables files(Variables::Values{{"AWS_SHARED_CREDENTIALS_FILE", home.path() / "credentials"},
                                          {"AWS_CONFIG_FILE", home.path() / "config"},
                                          {"AWS_EC2_METADATA_DISABLED", "true"}});
  WebClient web;
  EXPECT_EQ(AwsChain(web, "", "").get().access_key, "F");
  EXPECT_EQ(AwsChain(web, "", "").get().session_token, "T");
  EXPECT_EQ(AwsChain::region(), "ap-south-1");
  {
    const Variables team(Variables::Values{{"AWS_PROFILE", "team"}});
    EXPECT_EQ(AwsChain(web, "", "").get().secret_key, "Y");
    EXPECT_EQ(AwsChain::region(), "eu-west-1");
  }
  const Variables environment(
      {{"AWS_ACCESS_KEY_ID", "E"}, {"AWS_SECRET_ACCESS_KEY", "V"}, {"AWS_REGION", "us-west-2"}});
  EXPECT_EQ(AwsChain(web, "", "").get().access_key, "E");
  EXPECT_EQ(AwsChain::region(), "us-west-2");
  EXPECT_EQ(AwsChain(web, "C", "D").get().access_key, "C");
}

TEST(AwsCredentials, WithoutAnyTheMessageSaysWhereWasLooked) {
  const Variables nowhere(Variables::Values{{"AWS_SHARED_CREDENTIALS_FILE", "/nonexistent"},
                                            {"AWS_CONFIG_FILE", "/nonexistent"},
                                            {"AWS_EC2_METADATA_DISABLED", "true"}});
  WebClient web;
  EXPECT_EQ(
      reason([&] { AwsChain(web, "", "").get(); }),
      "no credentials for S3 found: set access_key and secret_key in the configuration, or AWS_ACCESS_KEY_ID "
      "and AWS_SECRET_ACCESS_KEY in the environment, or the profile \"default\" in ~/.aws/credentials, or "
      "give the machine or container a role");
}

TEST(AwsCredentials, TimesAreInUtc) {
  EXPECT_EQ(seconds_of("1970-01-02T00:00:01Z"), 86401);
  EXPECT_EQ(seconds_of("2026-01-31T12:00:00.123Z"), 1769860800);
  EXPECT_EQ(seconds_of("yesterday"), 0);
}

TEST(GoogleCredentials, ATokenForAServiceAccountIsSignedByItsKey) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_RSA_gen(2048), &EVP_PKEY_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> pem(BIO_new(BIO_s_mem()), &BIO_free);
  ASSERT_EQ(PEM_write_bio_PrivateKey(pem.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr), 1);
  char* text = nullptr;
  const auto size = BIO_get_mem_data(pem.get(), &text);
  const auto jwt = signed_jwt({{"iss", "a@b"}}, std::string(text, static_cast<std::size_t>(size)), "k1");
  const auto dot = jwt.rfind('.');
  std::string signature(512, '\0');
  std::size_t bytes = 0;
  ASSERT_EQ(sodium_base642bin(reinterpret_cast<unsigned char*>(signature.data()), signature.size(),
                              jwt.data() + dot + 1, jwt.size() - dot - 1, nullptr, &bytes, nullptr,
                              sodium_base64_VARIANT_URLSAFE_NO_PADDING),
            0);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  ASSERT_EQ(EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()), 1);
  EXPECT_EQ(EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()), bytes,
                             reinterpret_cast<const unsigned char*>(jwt.data()), dot),
            1);
  EXPECT_TRUE(jwt.starts_with("eyJ")) << "a JSON object in base64";
}

TEST(GoogleCredentials, AKeyThatIsNoneAndAFileThatIsNoneAreNamed) {
  EXPECT_EQ(reason([] { signed_jwt({}, "not a key", ""); }),
            "the private_key of the service account is not an RSA key in PEM format");
  TemporaryDirectory home;
  home.write("key.json", R"({"type": "external_account"})");
  const Variables file(Variables::Values{{"GOOGLE_APPLICATION_CREDENTIALS", home.path() / "key.json"}});
  WebClient web;
  EXPECT_EQ(reason([&] { GoogleTokens(web).get(); }),
            "the type of the Google credentials in " + (home.path() / "key.json").string() +
                " is \"external_account\"; it must be service_account or authorized_user");
  const Variables missing(Variables::Values{{"GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent.json"}});
  EXPECT_EQ(
      reason([&] { GoogleTokens(web).get(); }),
      "cannot read the Google credentials in /nonexistent.json; it must be a JSON file created by Google");
}

TEST(WebClient, AnAddressWhereCloudsTellSecretsIsRefusedAsStorage) {
  WebClient web;
  EXPECT_EQ(reason([&] { web.send({.url = "http://169.254.169.254/latest/", .attempts = 1}); }),
            "http://169.254.169.254/latest/ has a link-local address, which is not allowed for storage");
  EXPECT_EQ(reason([&] { web.send({.url = "file:///etc/passwd", .attempts = 1}); }),
            "no response from file:///etc/passwd: Unsupported protocol");
}

TEST(WebClient, NamesAreEncodedAsSignaturesWantThem) {
  EXPECT_EQ(percent_encode("a/b c~d+é", "/"), "a/b%20c~d%2B%C3%A9");
}

}  // namespace
}  // namespace det::checkpoint
