#include "det/checkpoint/buckets/aws_credentials.h"

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "det/base/json.h"
#include "det/base/text.h"
#include "det/base/time.h"
#include "det/checkpoint/environment.h"

namespace det::checkpoint {

namespace {

using namespace std::chrono_literals;

std::string variable_or(const char* name, std::string otherwise) {
  auto value = environment_variable(name);
  return value.empty() ? std::move(otherwise) : value;
}

std::map<std::string, std::map<std::string, std::string>> profiles_in(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return read_profiles(text.str());
}

std::string in_home(const char* name) {
  return variable_or("HOME", "/root") + "/.aws/" + name;
}

std::string profile() {
  return variable_or("AWS_PROFILE", variable_or("AWS_DEFAULT_PROFILE", "default"));
}

std::string config_section(const std::string& profile) {
  return profile == "default" ? profile : "profile " + profile;
}

std::optional<AwsCredentials> from_settings(const std::map<std::string, std::string>& settings) {
  const auto at = [&](const char* name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string() : found->second;
  };
  if (at("aws_access_key_id").empty() || at("aws_secret_access_key").empty()) return std::nullopt;
  return AwsCredentials{at("aws_access_key_id"), at("aws_secret_access_key"), at("aws_session_token"), 0};
}

std::optional<AwsCredentials> from_files() {
  const auto name = profile();
  auto files = profiles_in(variable_or("AWS_SHARED_CREDENTIALS_FILE", in_home("credentials")));
  if (auto found = from_settings(files[name])) return found;
  auto config = profiles_in(variable_or("AWS_CONFIG_FILE", in_home("config")));
  return from_settings(config[config_section(name)]);
}

}  // namespace

std::map<std::string, std::map<std::string, std::string>> read_profiles(const std::string& text) {
  std::map<std::string, std::map<std::string, std::string>> profiles;
  std::istringstream lines(text);
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    const auto plain = trim(line);
    if (plain.empty() || plain.front() == '#' || plain.front() == ';') continue;
    if (plain.front() == '[') {
      section = trim(plain.substr(1, plain.find(']') - 1));
    } else if (const auto equals = plain.find('='); equals != std::string::npos && line.front() != ' ') {
      profiles[section][std::string(trim(plain.substr(0, equals)))] = trim(plain.substr(equals + 1));
    }
  }
  return profiles;
}

std::int64_t seconds_of(const std::string& iso_time) {
  const auto time = parse_rfc3339(iso_time);
  return time ? time->microseconds / kSecond : 0;
}

AwsChain::AwsChain(WebClient& web, std::string access_key, std::string secret_key)
    : web_(web), given_{std::move(access_key), std::move(secret_key), {}, 0} {}

std::string AwsChain::region() {
  auto region = variable_or("AWS_REGION", environment_variable("AWS_DEFAULT_REGION"));
  if (region.empty())
    region =
        profiles_in(variable_or("AWS_CONFIG_FILE", in_home("config")))[config_section(profile())]["region"];
  return region.empty() ? "us-east-1" : region;
}

AwsCredentials AwsChain::get() {
  if (!given_.access_key.empty() && !given_.secret_key.empty()) return given_;
  const std::lock_guard lock(mutex_);
  if (!found_ || (found_->expires != 0 && std::time(nullptr) > found_->expires - 300)) found_ = look();
  return *found_;
}

AwsCredentials AwsChain::look() {
  AwsCredentials of_environment{environment_variable("AWS_ACCESS_KEY_ID"),
                                environment_variable("AWS_SECRET_ACCESS_KEY"),
                                environment_variable("AWS_SESSION_TOKEN"), 0};
  if (!of_environment.access_key.empty() && !of_environment.secret_key.empty()) return of_environment;
  if (auto found = from_files()) return *found;
  if (auto found = from_container()) return *found;
  if (auto found = from_machine()) return *found;
  throw Failure(Error(
      ErrorCode::PermissionDenied,
      "no credentials for S3 found: set access_key and secret_key in the configuration, or AWS_ACCESS_KEY_ID "
      "and AWS_SECRET_ACCESS_KEY in the environment, or the profile \"" +
          profile() + "\" in ~/.aws/credentials, or give the machine or container a role"));
}

AwsCredentials AwsChain::read(const std::string& body, const std::string& from) {
  const auto document = json::parse(body);
  const auto said = document && document->is_object() ? document->get_object() : json::object();
  AwsCredentials found{json::text_member(said, "AccessKeyId"), json::text_member(said, "SecretAccessKey"),
                       json::text_member(said, "Token"), seconds_of(json::text_member(said, "Expiration"))};
  if (found.access_key.empty() || found.secret_key.empty())
    throw Failure(Error(ErrorCode::PermissionDenied, from + " returned no credentials for S3"));
  return found;
}

std::optional<AwsCredentials> AwsChain::from_container() {
  auto url = environment_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (const auto relative = environment_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); !relative.empty())
    url = "http://169.254.170.2" + relative;
  if (url.empty()) return std::nullopt;
  WebCall call{.url = url, .to_link_local = true};
  auto token = environment_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const auto file = environment_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
      token.empty() && !file.empty()) {
    std::ifstream in(file);
    std::getline(in, token);
  }
  if (!token.empty()) call.headers.push_back("Authorization: " + token);
  const auto reply = web_.send(call);
  check_reply(reply, "ask " + url + " for credentials");
  return read(reply.body, url);
}

std::optional<AwsCredentials> AwsChain::from_machine() {
  if (environment_variable("AWS_EC2_METADATA_DISABLED") == "true") return std::nullopt;
  const auto base = variable_or("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254") + "/latest/";
  try {
    WebCall ask{.method = "PUT",
                .url = base + "api/token",
                .headers = {"X-aws-ec2-metadata-token-ttl-seconds: 21600"},
                .attempts = 1,
                .connect_timeout = 1000ms,
                .to_link_local = true};
    const auto token = web_.send(ask);
    if (token.status != 200) return std::nullopt;
    ask.method = "GET";
    ask.url = base + "meta-data/iam/security-credentials/";
    ask.headers = {"X-aws-ec2-metadata-token: " + token.body};
    const auto role = web_.send(ask);
    if (role.status != 200 || role.body.empty()) return std::nullopt;
    ask.url += trim(std::string_view(role.body).substr(0, role.body.find('\n')));
    const auto reply = web_.send(ask);
    if (reply.status != 200) return std::nullopt;
    return read(reply.body, ask.url);
  } catch (const Failure& failure) {
    if (failure.error.code() == ErrorCode::Unavailable) return std::nullopt;  // not a machine of Amazon's
    throw;
  }
}

}  // namespace det::checkpoint
