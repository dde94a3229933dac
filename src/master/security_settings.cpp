#include "det/master/security_settings.h"

#include "det/master/settings.h"

namespace det::master {

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
    } else {
      return invalid_argument("security.{} is not known; there are authz and audit_days", name);
    }
  }
  return settings;
}

}  // namespace det::master
