#include "det/master/identity/token_rules.h"

#include <gtest/gtest.h>

namespace det::master {
namespace {

UserPrincipal caller(std::int64_t id, bool admin) {
  return {.id = UserId(id), .username = "ann", .admin = admin, .token_hash = {}, .allocation_id = {}};
}

TEST(TokenLifespan, IsAWholeNumberOfHours) {
  struct Row {
    const char* lifespan;
    std::int64_t hours;  // 0: refused
  };
  // clang-format off
  const Row rows[] = {
      {"",        720},
      {"1h",      1},
      {"48h",     48},
      {"-1h",     876'000},
      {"876000h", 876'000},
      {"876001h", 0},
      {"0h",      0},
      {"-2h",     0},
      {"48",      0},
      {"48m",     0},
      {"1.5h",    0},
      {"1h30m",   0},
      {"h",       0},
      {"soon",    0}};
  // clang-format on
  for (const auto& row : rows) {
    const auto hours = lifespan_hours(row.lifespan);
    EXPECT_EQ(hours.value_or(0), row.hours) << row.lifespan;
    if (hours) continue;
    EXPECT_EQ(hours.error().code(), ErrorCode::InvalidArgument) << row.lifespan;
    EXPECT_TRUE(hours.error().message().starts_with(fmt::format("lifespan is '{}'", row.lifespan)))
        << hours.error().message();
  }
}

TEST(TokenOwner, IsTheCallerUnlessAnAdministratorCalls) {
  constexpr std::int64_t kAll = 0, kRefused = -1;
  struct Row {
    std::int64_t caller;
    bool admin;
    std::optional<UserId> named;
    std::int64_t owner;
  };
  // clang-format off
  const Row rows[] = {
      {2, false, std::nullopt, 2},
      {2, false, UserId(2),    2},
      {2, false, UserId(3),    kRefused},
      {1, true,  std::nullopt, kAll},
      {1, true,  UserId(1),    1},
      {1, true,  UserId(3),    3}};
  // clang-format on
  for (const auto& row : rows) {
    const auto owner = listed_owner(caller(row.caller, row.admin), row.named);
    const auto got = !owner ? kRefused : *owner ? (*owner)->value() : kAll;
    EXPECT_EQ(got, row.owner) << row.caller;
    if (!owner) {
      EXPECT_EQ(owner.error().code(), ErrorCode::PermissionDenied);
    }
  }
  EXPECT_FALSE(check_token_owner(caller(2, false), UserId(3)));
}

TEST(TokenList, HasActiveTokensUnlessAllAreAskedFor) {
  const auto token = [](std::int64_t id, std::int64_t user, std::int64_t expires, bool revoked) {
    return store::AccessTokenRecord{.id = store::AccessTokenId(id),
                                    .user = UserId(user),
                                    .description = {},
                                    .creation_time = {},
                                    .expires = Time{expires},
                                    .revoked = revoked,
                                    .token_hash = {}};
  };
  const auto live = token(1, 2, 100, false), over = token(2, 2, 99, false), revoked = token(3, 3, 200, true);
  struct Row {
    const char* what;
    TokenSelection selection;
    bool live, over, revoked;
  };
  using Ids = std::vector<store::AccessTokenId>;
  // clang-format off
  const Row rows[] = {
      //              owner         ids                          inactive  live   over   revoked
      {"default",    {std::nullopt, {},                          false},   true,  false, false},
      {"inactive",   {std::nullopt, {},                          true},    true,  true,  true},
      {"of user 2",  {UserId(2),    {},                          true},    true,  true,  false},
      {"of user 4",  {UserId(4),    {},                          true},    false, false, false},
      {"by id",      {std::nullopt, Ids{store::AccessTokenId(3)}, true},   false, false, true},
      {"both",       {UserId(2),    Ids{store::AccessTokenId(3)}, true},   false, false, false}};
  // clang-format on
  for (const auto& row : rows) {
    EXPECT_EQ(is_selected(row.selection, live, Time{100}), row.live) << row.what;
    EXPECT_EQ(is_selected(row.selection, over, Time{100}), row.over) << row.what;
    EXPECT_EQ(is_selected(row.selection, revoked, Time{100}), row.revoked) << row.what;
  }
}

}  // namespace
}  // namespace det::master
