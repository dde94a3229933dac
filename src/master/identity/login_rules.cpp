#include "det/master/identity/login_rules.h"

namespace det::master {
namespace {

constexpr std::size_t kLoginsMax = 200;  // that wait to be checked

/// What browsers may do with the cookie.
std::string_view cookie_rules(bool encrypted) {
  return encrypted ? "; Path=/; HttpOnly; SameSite=Lax; Secure" : "; Path=/; HttpOnly; SameSite=Lax";
}

}  // namespace

std::string login_address(std::string_view remote) {
  return std::string(remote.substr(0, remote.rfind(':')));
}

std::optional<LoginRefusal> refuse_when_crowded(std::size_t waiting) {
  if (waiting < kLoginsMax) return std::nullopt;
  return LoginRefusal{1, Error(ErrorCode::ResourceExhausted,
                               fmt::format("{} logins are being checked; retry in a moment", waiting))};
}

std::optional<LoginRefusal> refuse_when_throttled(std::string_view username, std::string_view address,
                                                  std::int64_t seconds) {
  if (seconds <= 0) return std::nullopt;
  return LoginRefusal{seconds, Error(ErrorCode::ResourceExhausted,
                                     fmt::format("too many failed logins as user '{}' from {}; retry in {} s",
                                                 username, address, seconds))};
}

std::string session_cookie(std::string_view token, bool encrypted) {
  return fmt::format("auth={}{}; Max-Age=604800", token, cookie_rules(encrypted));
}

std::string expired_session_cookie(bool encrypted) {
  return fmt::format("auth={}; Max-Age=0", cookie_rules(encrypted));
}

}  // namespace det::master
