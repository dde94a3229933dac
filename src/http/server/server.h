#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "det/base/error.h"
#include "det/http/message.h"
#include "det/http/tls/tls.h"

namespace det::http {

/// Answers one request. Cancelled (terminal) when the client has gone away or
/// the server's grace for stopping is over. An exception is answered with 500.
using Handler = std::function<asio::awaitable<Response>(Request)>;

struct ServerOptions {
  std::size_t uri_max = 8 * 1024;       ///< Longer: 414.
  std::size_t headers_max = 16 * 1024;  ///< More: 431.
  std::size_t body_max = 1024 * 1024;   ///< More: 413.
  /// May raise the body limit for a request whose body is not read yet.
  std::function<std::size_t(const Request& head)> body_limit;
  /// Requests whose handler gets them as soon as the head is read, without the body, and may answer with
  /// Response::take.
  std::function<bool(const Request& head)> hands_over;
  std::size_t connections_max = 10'000;  ///< Further clients wait to be accepted.
  /// Of one address, but for 127.0.0.1 and ::1, where a proxy may be: further ones are closed. 0: no limit.
  std::size_t connections_per_address_max = 0;

  std::chrono::milliseconds header_timeout{
      10'000};                                     ///< From a request's first byte to the end of its headers.
  std::chrono::milliseconds idle_timeout{60'000};  ///< Between requests, and for silence within a body.
  std::chrono::milliseconds write_timeout{30'000};  ///< For a client that takes no byte of the response.
  std::size_t body_rate_min = 1024;                 ///< Bytes a second, after `header_timeout` of grace.
  /// The same once the connection is a tunnel, where people may stop a terminal's output for a while.
  std::chrono::milliseconds tunnel_write_timeout{600'000};
  /// A client that closed only its sending side still gets an answer that is
  /// ready within this time; then its request is cancelled.
  std::chrono::milliseconds half_close_grace{1'000};

  /// Set: the port speaks HTTPS only. A client has `header_timeout` for its handshake.
  std::shared_ptr<const TlsIdentity> tls;
  /// Clients that may be within their handshake at once: one more, and the oldest of them is cut.
  std::size_t handshakes_max = 512;

  /// The program's flag for the port, for the message when a port is taken.
  std::string port_flag = "--port";
};

/// An HTTP/1.1 server: keep-alive, pipelining, HEAD, 100-continue, chunked
/// streaming; strict about what it accepts (head.h), with a limit on
/// everything a client can make it wait for or remember.
///
/// Threads: everything runs on the executor given, which must be a strand or
/// belong to a context that one thread runs. `port` is constant once listening.
///
/// Order of calls: `listen` once, `co_await stop(…)` once. What the handler
/// refers to must live until `stop` has returned.
class Server {
 public:
  Server(asio::any_io_executor executor, Handler handler, ServerOptions options = {});
  ~Server();  ///< Without `stop`: closes every connection.
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Binds and starts to accept. Port 0 takes a free one; see `port`. The
  /// failure is a sentence for the person who started the program.
  Result<void> listen(const std::string& address, std::uint16_t port);
  std::uint16_t port() const;
  std::size_t connections() const;
  /// What new connections are shown from now on; others go on as they are. Needs: ServerOptions::tls was set.
  void use(std::shared_ptr<const TlsIdentity> tls);

  /// Accepts no more, lets requests in flight finish for `grace`, then cancels
  /// them (their clients get 503). Returns within `grace` and two seconds.
  asio::awaitable<void> stop(std::chrono::milliseconds grace = std::chrono::milliseconds(5'000));

 private:
  std::shared_ptr<class Service> service_;
};

}  // namespace det::http
