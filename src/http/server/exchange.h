#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "det/base/error.h"
#include "det/http/message.h"

namespace det::http {

/// One request and its answer, in the hands of a handler that reads the body as it arrives and writes the
/// answer's bytes itself. Its memory is bounded: nothing is read before somebody asks, and nothing is written
/// before the client has taken what came before.
///
/// `read` and `write` may be waited for at the same time, each by one coroutine. Both fail once the client
/// has gone, once it is late (ServerOptions), and once the handler has returned.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const Request& request() const = 0;  ///< `body` is empty
  virtual bool is_http_1_0() const = 0;
  /// Whether another request may follow on this connection, once this one's body has been read.
  virtual bool keep_alive() const = 0;

  /// Bytes of the request's body; nothing: it comes in chunks.
  virtual std::optional<std::uint64_t> body_length() const = 0;
  virtual bool body_read() const = 0;  ///< to its end
  /// The next bytes of the body, at most 64 KiB; empty at its end. As a tunnel: what comes next, empty when
  /// the client has closed its sending side. Sends 100-continue first where the client waits for it.
  virtual asio::awaitable<Result<std::string>> read() = 0;
  /// Sends these bytes as they are. False: the client is gone or takes nothing.
  virtual asio::awaitable<bool> write(std::string bytes) = 0;
  /// Sends a whole answer. Requires: nothing was written. What to return from the handler.
  virtual asio::awaitable<bool> respond(Response response) = 0;

  /// From here on bytes go both ways as they are, for as long as both sides like; no request follows.
  virtual void become_tunnel() = 0;
  virtual void close_sending() = 0;  ///< as a tunnel: the client sees the end of what we send
  virtual void cut() = 0;            ///< ends `read` and `write`

  /// Called some times a second until the handler has returned: for its own limits in time.
  virtual void on_sweep(std::function<void(std::chrono::steady_clock::time_point now)> sweep) = 0;
};

}  // namespace det::http
