#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "det/http/message.h"
#include "det/http/server/exchange.h"

namespace det::http {

/// A TCP service that a client reaches through a WebSocket: the payloads of its binary messages are the bytes
/// of the connection.
struct TcpTunnel {
  std::string host;  ///< an IP address
  std::uint16_t port = 0;
  /// What the client gets when the service cannot be reached: `status` is 502, or 504 when it does not accept
  /// the connection in time; `why` continues a sentence that begins with the name of the service.
  std::function<Response(int status, const std::string& why)> failure;

  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds write_timeout{600'000};  ///< for a service that reads nothing
  /// How long a tunnel stays open whose one end is closed, while nothing arrives from the other.
  std::chrono::milliseconds half_closed_timeout{60'000};
};

/// Whether the request asks for a WebSocket.
bool wants_websocket(const Request& request);

/// Connects to the service, accepts the WebSocket and moves bytes both ways until both ends are closed: for
/// Response::take. A close frame of the client closes the sending half of the connection, so that what the
/// service still sends arrives; the end of what the service sends becomes a close frame.
///
/// Requires: `wants_websocket` of the request.
asio::awaitable<bool> tunnel_tcp(std::shared_ptr<Exchange> exchange, TcpTunnel how);

}  // namespace det::http
