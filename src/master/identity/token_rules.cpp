#include "det/master/identity/token_rules.h"

#include <algorithm>
#include <charconv>

namespace det::master {
namespace {

constexpr std::int64_t kDefaultHours = 30 * 24;
constexpr std::int64_t kHoursMax = 100 * 365 * 24;  // what "never" means

}  // namespace

Result<std::int64_t> lifespan_hours(const std::string& lifespan) {
  if (lifespan.empty()) return kDefaultHours;
  std::int64_t hours = 0;
  const auto* end = lifespan.data() + lifespan.size();
  const auto [rest, error] = std::from_chars(lifespan.data(), end, hours);
  if (error != std::errc() || std::string_view(rest, static_cast<std::size_t>(end - rest)) != "h")
    return invalid_argument(
        "lifespan is '{}'; it must be a whole number of hours such as '48h', or '-1h' for a token that does "
        "not expire",
        lifespan);
  if (hours == -1) return kHoursMax;
  if (hours < 1 || hours > kHoursMax)
    return invalid_argument(
        "lifespan is '{}'; it must be from 1h to {}h, or '-1h' for a token that does not expire", lifespan,
        kHoursMax);
  return hours;
}

Result<void> check_token_owner(const UserPrincipal& caller, UserId owner) {
  if (caller.admin || caller.id == owner) return {};
  return fail(
      ErrorCode::PermissionDenied,
      "only administrators can list and change the tokens of other users; you can list and change your own");
}

Result<std::optional<UserId>> listed_owner(const UserPrincipal& caller, std::optional<UserId> named) {
  if (!named) return caller.admin ? std::nullopt : std::optional(caller.id);
  if (auto allowed = check_token_owner(caller, *named); !allowed)
    return tl::unexpected(std::move(allowed).error());
  return named;
}

bool is_selected(const TokenSelection& selection, const store::AccessTokenRecord& token, Time now) {
  if (selection.owner && token.user != *selection.owner) return false;
  if (!selection.show_inactive && (token.revoked || token.expires < now)) return false;
  return selection.ids.empty() || std::ranges::find(selection.ids, token.id) != selection.ids.end();
}

}  // namespace det::master
