#pragma once

#include "det/http/message.h"

namespace det::master {

namespace asio = boost::asio;
struct Services;

/// Whether the request is for the service of a task: `/proxy/{taskId}/…`, any method.
bool is_proxied(const http::Request& head);

/// Hands the request on to the service of its task: to those of Services::proxies only, for users who are
/// logged in only. The service sees the path as it is, `X-Forwarded-*`, and nothing that would let it act as
/// the user. Without a service it answers with a page, or with JSON to programs: 404 no such task, 410 it has
/// ended, 503 it is not ready yet.
asio::awaitable<http::Response> proxy(Services& s, http::Request request);

}  // namespace det::master
