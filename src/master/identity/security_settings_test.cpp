#include "det/master/identity/security_settings.h"

#include <gtest/gtest.h>

namespace det::master {
namespace {

json::object document(const char* text) {
  return json::parse(text)->get_object();
}

TEST(SecuritySettings, WithoutThemThereAreNoRolesAndTheAuditLogRemembersThreeMonths) {
  auto configuration = document(R"({"checkpoint_storage": {}})");
  const auto settings = take_security(configuration);
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->authz, access::Mode::Basic);
  EXPECT_EQ(settings->audit_days, 90);
  EXPECT_TRUE(configuration.contains("checkpoint_storage"));
}

TEST(SecuritySettings, AreTakenOutOfTheConfiguration) {
  auto configuration = document(R"({"security": {"authz": {"type": "rbac"}, "audit_days": 7}, "x": 1})");
  const auto settings = take_security(configuration);
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->authz, access::Mode::Rbac);
  EXPECT_EQ(settings->audit_days, 7);
  EXPECT_FALSE(configuration.contains("security"));
  EXPECT_TRUE(configuration.contains("x"));
}

TEST(SecuritySettings, ACertificateComesWithItsKey) {
  auto configuration = document(R"({"security": {"tls": {"cert": "a.crt", "key": "a.key"}}})");
  const auto settings = take_security(configuration);
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->tls_certificate, "a.crt");
  EXPECT_EQ(settings->tls_key, "a.key");
}

TEST(SecuritySettings, WhatIsWrongIsNamed) {
  for (const auto& [text, message] : std::vector<std::pair<const char*, const char*>>{
           {R"({"security": 3})", "security is 3; it must be a map of settings"},
           {R"({"security": {"authz": {"type": "open"}}})",
            "security.authz.type is \"open\"; it must be basic or rbac"},
           {R"({"security": {"authz": "rbac"}})",
            "security.authz is \"rbac\"; it must be {type: basic} or {type: rbac}"},
           {R"({"security": {"audit_days": 0}})", "security.audit_days is 0; it must be from 1 to 36500"},
           {R"({"security": {"tsl": {}}})",
            "security.tsl is not a known setting; use authz, audit_days, rate_limit or tls"},
           {R"({"security": {"rate_limit": {"per_second": -1}}})",
            "security.rate_limit.per_second is -1; it must be a number from 0 to 1e9"},
           {R"({"security": {"rate_limit": {"burst": 0}}})",
            "security.rate_limit.burst is 0; it must be a number from 1 to 1e9"},
           {R"({"security": {"rate_limit": {"each": 0}}})",
            "security.rate_limit.each is not a known setting; use per_second and burst"},
           {R"({"security": {"rate_limit": 5}})",
            "security.rate_limit is 5; it must be a map with per_second and burst"},
           {R"({"security": {"tls": {"cert": "a"}}})", "TLS cert file provided without a key file: a"},
           {R"({"security": {"tls": {"key": "b"}}})", "TLS key file provided without a cert file: b"},
           {R"({"security": {"tls": {"cert": 3}}})", "security.tls.cert is 3; it must be a file name"},
           {R"({"security": {"tls": {"file": "a"}}})",
            "security.tls.file is not a known setting; use cert and key"},
           {R"({"security": {"tls": true}})",
            "security.tls is true; it must be a map such as {cert: FILE, key: FILE}"}}) {
    auto configuration = document(text);
    const auto settings = take_security(configuration);
    ASSERT_FALSE(settings) << text;
    EXPECT_EQ(settings.error().message(), message);
  }
}

}  // namespace
}  // namespace det::master
