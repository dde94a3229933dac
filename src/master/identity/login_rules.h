#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "det/base/error.h"

/// Decisions about logins, without I/O: which are refused before the password is checked, and the cookie.
namespace det::master {

/// A login whose password is not checked now.
struct LoginRefusal {
  std::int64_t retry_after = 0;  ///< seconds
  Error error;
};

/// The address of `address:port`, for which failed logins are counted.
std::string login_address(std::string_view remote);

/// Refuses a login where too many others wait to be checked.
std::optional<LoginRefusal> refuse_when_crowded(std::size_t waiting);

/// Refuses a login for which the throttle says that it must wait for so many seconds.
std::optional<LoginRefusal> refuse_when_throttled(std::string_view username, std::string_view address,
                                                  std::int64_t seconds);

/// The Set-Cookie header that logs a browser in for a week. Where the connection is encrypted, the browser
/// sends it on no other.
std::string session_cookie(std::string_view token, bool encrypted);

/// The Set-Cookie header that logs a browser out.
std::string expired_session_cookie(bool encrypted);

}  // namespace det::master
