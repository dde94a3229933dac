#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "det/master/identity/auth.h"

/// Decisions about access tokens, without I/O.
namespace det::master {

/// The hours of "48h", as the command line sends them; "-1h": as long as possible; empty: 30 days.
Result<std::int64_t> lifespan_hours(const std::string& lifespan);

/// Whether the caller may see and change the tokens of that user.
Result<void> check_token_owner(const UserPrincipal& caller, UserId owner);

/// Whose tokens the caller gets: those of the user that it names, else its own; none: those of all, for
/// administrators.
Result<std::optional<UserId>> listed_owner(const UserPrincipal& caller, std::optional<UserId> named);

/// Which tokens a list has.
struct TokenSelection {
  std::optional<UserId> owner;              ///< none: of all users
  std::vector<store::AccessTokenId> ids{};  ///< empty: all
  bool show_inactive = false;               ///< also those that are revoked or expired
};
bool is_selected(const TokenSelection& selection, const store::AccessTokenRecord& token, Time now);

}  // namespace det::master
