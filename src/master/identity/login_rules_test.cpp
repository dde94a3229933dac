#include "det/master/identity/login_rules.h"

#include <gtest/gtest.h>

namespace det::master {
namespace {

TEST(LoginAddress, IsWhatComesBeforeThePort) {
  struct Row {
    const char *remote, *address;
  };
  // clang-format off
  const Row rows[] = {
      {"10.0.0.1:4711", "10.0.0.1"},
      {"[::1]:4711",    "[::1]"},
      {"10.0.0.1",      "10.0.0.1"},
      {"",              ""}};
  // clang-format on
  for (const auto& row : rows) EXPECT_EQ(login_address(row.remote), row.address) << row.remote;
}

TEST(LoginQueue, TakesAtMostTwoHundred) {
  EXPECT_FALSE(refuse_when_crowded(0));
  EXPECT_FALSE(refuse_when_crowded(199));
  const auto refusal = refuse_when_crowded(200);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->retry_after, 1);
  EXPECT_EQ(refusal->error,
            Error(ErrorCode::ResourceExhausted, "200 logins are being checked; retry in a moment"));
}

TEST(LoginThrottle, SaysHowLongToWait) {
  EXPECT_FALSE(refuse_when_throttled("ann", "10.0.0.1", 0));
  const auto refusal = refuse_when_throttled("ann", "10.0.0.1", 8);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->retry_after, 8);
  EXPECT_EQ(refusal->error, Error(ErrorCode::ResourceExhausted,
                                  "too many failed logins as user 'ann' from 10.0.0.1; retry in 8 s"));
}

TEST(SessionCookie, TravelsEncryptedOnlyWhereTheLoginDid) {
  EXPECT_EQ(session_cookie("t0", false), "auth=t0; Path=/; HttpOnly; SameSite=Lax; Max-Age=604800");
  EXPECT_EQ(session_cookie("t0", true), "auth=t0; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=604800");
  EXPECT_EQ(expired_session_cookie(false), "auth=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
  EXPECT_EQ(expired_session_cookie(true), "auth=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0");
}

}  // namespace
}  // namespace det::master
