#include "det/master/identity/security_settings.h"

#include "det/master/administration/settings.h"

namespace det::master {

namespace {

Result<void> take_tls(SecuritySettings& settings, const json::value& value) {
  if (value.is_null()) return {};
  if (!value.is_object())
    return invalid_argument("security.tls is {}; it must be a map such as {{cert: FILE, key: FILE}}",
                            json::serialize(value));
  for (const auto& [key, file] : value.get_object()) {
    const std::string_view name(key);
    if (name != "cert" && name != "key")
      return invalid_argument("security.tls.{} is not a known setting; use cert and key", name);
    if (file.is_null()) continue;
    if (!file.is_string())
      return invalid_argument("security.tls.{} is {}; it must be a file name", name, json::serialize(file));
    (name == "cert" ? settings.tls_certificate : settings.tls_key) = std::string(file.get_string());
  }
  return check_tls_files(settings.tls_certificate, settings.tls_key);
}

Result<void> take_rate_limit(SecuritySettings& settings, const json::value& value) {
  if (!value.is_object())
    return invalid_argument("security.rate_limit is {}; it must be a map with per_second and burst",
                            json::serialize(value));
  for (const auto& [key, number] : value.get_object()) {
    const std::string_view name(key);
    if (name != "per_second" && name != "burst")
      return invalid_argument("security.rate_limit.{} is not a known setting; use per_second and burst",
                              name);
    const auto wanted = json::to_double(number);
    const double least = name == "burst" ? 1 : 0;
    if (!wanted || !(*wanted >= least && *wanted <= 1e9))
      return invalid_argument("security.rate_limit.{} is {}; it must be a number from {} to 1e9", name,
                              json::serialize(number), least);
    (name == "burst" ? settings.rate_limit.burst : settings.rate_limit.per_second) = *wanted;
  }
  return {};
}

}  // namespace

Result<void> check_tls_files(const std::string& certificate, const std::string& key) {
  if (certificate.empty() && !key.empty())
    return invalid_argument("TLS key file provided without a cert file: {}", key);
  if (!certificate.empty() && key.empty())
    return invalid_argument("TLS cert file provided without a key file: {}", certificate);
  return {};
}

Result<SecuritySettings> take_security(json::object& configuration) {
  SecuritySettings settings;
  const auto value = take(configuration, "security");
  if (value.is_null()) return settings;
  if (!value.is_object())
    return invalid_argument("security is {}; it must be a map of settings", json::serialize(value));
  for (const auto& [key, setting] : value.get_object()) {
    const std::string_view name(key);
    if (name == "authz") {
      const auto* type = setting.is_object() ? setting.get_object().if_contains("type") : nullptr;
      if (type == nullptr || setting.get_object().size() != 1)
        return invalid_argument("security.authz is {}; it must be {{type: basic}} or {{type: rbac}}",
                                json::serialize(setting));
      const bool rbac = *type == json::value("rbac");
      if (!rbac && *type != json::value("basic"))
        return invalid_argument("security.authz.type is {}; it must be basic or rbac",
                                json::serialize(*type));
      settings.authz = rbac ? access::Mode::Rbac : access::Mode::Basic;
    } else if (name == "audit_days") {
      const auto days = json::to_int64(setting);
      if (!days || *days < 1 || *days > 36'500)
        return invalid_argument("security.audit_days is {}; it must be from 1 to 36500",
                                json::serialize(setting));
      settings.audit_days = static_cast<int>(*days);
    } else if (name == "tls") {
      DET_TRY([[maybe_unused]] const auto fine, take_tls(settings, setting).map([] { return true; }));
    } else if (name == "rate_limit") {
      DET_TRY([[maybe_unused]] const auto fine, take_rate_limit(settings, setting).map([] { return true; }));
    } else {
      return invalid_argument("security.{} is not a known setting; use authz, audit_days, rate_limit or tls",
                              name);
    }
  }
  return settings;
}

}  // namespace det::master
