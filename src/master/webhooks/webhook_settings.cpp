#include "det/master/webhooks/webhook_settings.h"

#include "det/master/administration/settings.h"

namespace det::master {

Result<WebhookSettings> take_webhooks(json::object& configuration) {
  WebhookSettings settings;
  const auto section = take(configuration, "webhooks");
  if (section.is_null()) return settings;
  if (!section.is_object())
    return invalid_argument("webhooks is {}; it must be a map", json::serialize(section));
  std::vector<Error> problems;
  const auto problem = [&](std::string text) {
    problems.emplace_back(ErrorCode::InvalidArgument, std::move(text));
  };
  for (const auto& [name, value] : section.get_object()) {
    if (name == "signing_key" || name == "base_url") {
      auto& into = name == "base_url" ? settings.base_url : settings.signing_key;
      if (value.is_string())
        into = std::string(value.get_string());
      else if (!value.is_null())
        problem(fmt::format("webhooks.{} must be a string", std::string(name)));  // it may be a secret
    } else if (name == "allowed_networks" || name == "allowed_addresses") {
      if (!value.is_array()) {
        problem(
            fmt::format("webhooks.{} is {}; it must be a list", std::string(name), json::serialize(value)));
        continue;
      }
      for (const auto& item : value.get_array()) {
        auto network =
            parse_network(item.is_string() ? std::string(item.get_string()) : json::serialize(item));
        if (network)
          settings.allowed.push_back(*network);
        else
          problem(fmt::format("webhooks.{}: {}", std::string(name), network.error().message()));
      }
    } else {
      problem(fmt::format("webhooks.{} is not a known setting", std::string(name)));
    }
  }
  while (settings.base_url.ends_with('/')) settings.base_url.pop_back();
  if (!settings.base_url.empty() && !settings.base_url.starts_with("http://") &&
      !settings.base_url.starts_with("https://"))
    problem(
        fmt::format("webhooks.base_url is '{}'; it must begin with http:// or https://", settings.base_url));
  if (!problems.empty()) return tl::unexpected(join_errors(problems));
  return settings;
}

Result<bool> take_prometheus(json::object& configuration) {
  const auto section = take(configuration, "observability");
  if (section.is_null()) return true;
  if (!section.is_object())
    return invalid_argument("observability is {}; it must be a map", json::serialize(section));
  bool enabled = true;
  for (const auto& [name, value] : section.get_object()) {
    if (name != "enable_prometheus")
      return invalid_argument("observability.{} is not a known setting; use enable_prometheus",
                              std::string(name));
    if (!value.is_bool())
      return invalid_argument("observability.enable_prometheus is {}; it must be true or false",
                              json::serialize(value));
    enabled = value.get_bool();
  }
  return enabled;
}

}  // namespace det::master
