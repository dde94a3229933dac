#pragma once

#include "det/http/message.h"

namespace det::master {

namespace asio = boost::asio;
struct Services;

/// Whether the request is for the service of a task, `/proxy/{taskId}/…` and `/proxy/{taskId}:{port}/…`, with
/// any method; or for `/det/interactive/{taskId}/…`, which leads there.
bool is_proxied(const http::Request& head);

/// Forwards the request of a logged-in user to the service of its task, which must be in Services::proxies,
/// or to one of its proxy_ports (proxy_ports.h). A WebSocket on `/proxy/{taskId}/` of a shell is a TCP
/// connection to its SSH server and needs no login: the shell's key is asked for instead.
///
/// The service sees the unchanged path and `X-Forwarded-*`, but no credentials of the user. Without a service
/// the answer is a page, or JSON for programs: 404 no such task, 410 it has ended, 503 it is not ready yet.
asio::awaitable<http::Response> proxy(Services& s, http::Request request);

}  // namespace det::master
