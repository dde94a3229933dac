#pragma once

#include "det/http/routing/router.h"
#include "det/master/services.h"

namespace det::master {

/// Adds the call to the audit log if a user changed something with it or was refused, or if it is a login.
/// The entry is durable before the answer is sent. Reports of processes are not logged.
asio::awaitable<void> audit(Services& s, const http::Router::Call& call);

}  // namespace det::master
