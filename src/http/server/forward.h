#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "det/base/error.h"
#include "det/http/message.h"
#include "det/http/server/exchange.h"

namespace det::http {

/// How a request is handed on to a service.
struct Forward {
  std::string host;  ///< an IP address
  std::uint16_t port = 0;
  std::string target;  ///< the request's path and query, as the service gets them; empty: as they are
  /// What the service gets; start with the request's. What concerns one connection only (hop-by-hop) is
  /// removed, and what frames the body is written anew.
  Headers headers;
  /// Changes what the client gets of the service's headers.
  std::function<void(Headers& reply)> on_reply;
  /// What the client gets when the service gives no answer: `status` is 502, or 504 when it is silent; `why`
  /// goes on after its name.
  std::function<Response(int status, const std::string& why)> failure;

  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds head_timeout{300'000};  ///< from the request's end to the answer's head
  std::chrono::milliseconds write_timeout{60'000};  ///< for a service that takes nothing of a body
  /// How long a tunnel stays whose one end is closed, while the other says nothing.
  std::chrono::milliseconds half_closed_timeout{60'000};
};

/// Sends the request to the service and its answer back, both as they come: for Response::take.
///
/// A body of any length costs 64 KiB a direction. `Upgrade` (WebSocket; any but h2c) that the service accepts
/// becomes a tunnel, in which each side may close its sending on its own. An answer that the service does not
/// finish ends the client's connection, so that it cannot be taken for a whole one.
asio::awaitable<bool> forward(std::shared_ptr<Exchange> exchange, Forward how);

/// Removes what concerns one connection only: Connection and what it names, Keep-Alive, TE, Upgrade … and,
/// with `of_request`, names with an underscore, which many programs take for one with a hyphen.
void remove_hop_by_hop(Headers& headers, bool of_request);

}  // namespace det::http
