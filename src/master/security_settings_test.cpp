#include "det/master/security_settings.h"

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

TEST(SecuritySettings, WhatIsWrongIsNamed) {
  for (const auto& [text, message] : std::vector<std::pair<const char*, const char*>>{
           {R"({"security": 3})", "security is 3; it must be a map of settings"},
           {R"({"security": {"authz": {"type": "open"}}})",
            "security.authz.type is \"open\"; it must be basic or rbac"},
           {R"({"security": {"authz": "rbac"}})",
            "security.authz is \"rbac\"; it must be {type: basic} or {type: rbac}"},
           {R"({"security": {"audit_days": 0}})", "security.audit_days is 0; it must be from 1 to 36500"},
           {R"({"security": {"tsl": {}}})", "security.tsl is not known; there are authz and audit_days"}}) {
    auto configuration = document(text);
    const auto settings = take_security(configuration);
    ASSERT_FALSE(settings) << text;
    EXPECT_EQ(settings.error().message(), message);
  }
}

}  // namespace
}  // namespace det::master
