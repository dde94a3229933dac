#pragma once

#include "det/http/routing/router.h"
#include "det/master/services.h"

namespace det::master {

/// Remembers the call if it changed something for a user, or would have, and every attempt to log in. The
/// entry is durable before the answer is sent. What processes report of themselves is not remembered.
asio::awaitable<void> audit(Services& s, const http::Router::Call& call);

}  // namespace det::master
