#pragma once

#include "det/http/message.h"

namespace det::master {

namespace asio = boost::asio;
struct Services;

/// Whether the request is for the service of a task: `/proxy/{taskId}/…`, any method.
bool is_proxied(const http::Request& head);

/// Forwards the request of a logged-in user to the service of its task, which must be in Services::proxies.
/// The service sees the unchanged path and `X-Forwarded-*`, but no credentials of the user. Without a service
/// the answer is a page, or JSON for programs: 404 no such task, 410 it has ended, 503 it is not ready yet.
asio::awaitable<http::Response> proxy(Services& s, http::Request request);

}  // namespace det::master
