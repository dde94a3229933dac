#include "det/http/server/tcp_tunnel.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "det/base/text.h"
#include "det/http/routing/status.h"
#include "det/http/tls/tcp_stream.h"
#include "det/http/websocket/websocket.h"

namespace det::http {

namespace {

using tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;
constexpr auto kNoDeadline = Clock::time_point::max();
constexpr std::size_t kTunnelReadBytes = 64 * 1024;
constexpr std::size_t kMessageMax = std::size_t{1} << 20;
constexpr std::string_view kNormalEnd("\x03\xE8", 2);  // 1000
constexpr std::string_view kProtocolError("\x03\xEA", 2);

/// One tunnel: the connection to the service, and what both directions must know.
struct TcpPassage {
  TcpPassage(const asio::any_io_executor& executor, std::shared_ptr<Exchange> e, TcpTunnel t)
      : exchange(std::move(e)), how(std::move(t)), service(executor), turn(executor, kNoDeadline) {}

  void close() {
    boost::system::error_code ignored;
    service.close(ignored);
  }
  void sweep(Clock::time_point now) {
    if (now < write_deadline && now < half_closed_deadline) return;
    late = true;
    close();
    if (is_tunnel) exchange->cut();
  }
  void stay_half_closed() {
    if (half_closed) half_closed_deadline = Clock::now() + how.half_closed_timeout;
  }
  /// Sends a frame to the client; both directions do, one at a time.
  asio::awaitable<bool> say(websocket::Kind kind, std::string_view payload) {
    auto bytes = websocket::frame(kind, payload, websocket::Side::Server);
    while (writing) co_await turn.async_wait(kToResult);
    if (over || close_sent) co_return false;
    writing = true;
    close_sent = kind == websocket::Kind::Close;
    const bool taken = co_await exchange->write(std::move(bytes));
    writing = false;
    turn.cancel();
    co_return taken;
  }
  asio::awaitable<bool> write(std::string bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      write_deadline = Clock::now() + how.write_timeout;
      const auto [failure, count] = co_await service.async_write_some(
          asio::buffer(bytes.data() + done, bytes.size() - done), kToResult);
      write_deadline = kNoDeadline;
      done += count;
      if (failure || over) co_return false;
    }
    co_return true;
  }

  std::shared_ptr<Exchange> exchange;
  TcpTunnel how;
  tcp::socket service;
  asio::steady_timer turn;  // cancelled when a frame is written, and when the client's direction ends
  bool is_tunnel = false;
  bool writing = false;
  bool close_sent = false;
  bool receiving = false;
  bool over = false;
  bool late = false;
  bool half_closed = false;
  Clock::time_point write_deadline = kNoDeadline;
  Clock::time_point half_closed_deadline = kNoDeadline;
};

void end_of_input(TcpPassage& way) {
  boost::system::error_code ignored;
  way.service.shutdown(tcp::socket::shutdown_send, ignored);
  way.half_closed = true;
  way.stay_half_closed();
}

/// The client's direction.
asio::awaitable<void> from_client(std::shared_ptr<TcpPassage> way) {
  websocket::Reader reader(kMessageMax, websocket::Side::Client);
  while (true) {
    auto piece = co_await way->exchange->read();
    if (way->over) co_return;
    if (!piece) break;
    if (piece->empty()) {
      end_of_input(*way);
      co_return;
    }
    way->stay_half_closed();
    reader.put(*piece);
    while (true) {
      auto message = reader.next();
      if (!message) {
        co_await way->say(websocket::Kind::Close, kProtocolError);
        way->close();
        co_return;
      }
      if (!*message) break;
      auto& [kind, payload] = **message;
      if (kind == websocket::Kind::Close) {
        end_of_input(*way);
        co_return;
      }
      if (kind == websocket::Kind::Ping) {
        co_await way->say(websocket::Kind::Pong, payload);
      } else if (kind != websocket::Kind::Pong) {
        const bool taken = co_await way->write(std::move(payload));
        if (!taken) {
          way->close();
          co_return;
        }
      }
    }
  }
  way->close();
}

/// The service's direction, to its end.
asio::awaitable<void> from_service(std::shared_ptr<TcpPassage> way) {
  std::string bytes(kTunnelReadBytes, '\0');
  while (true) {
    const auto [failure, count] = co_await way->service.async_read_some(asio::buffer(bytes), kToResult);
    if (failure) break;
    way->stay_half_closed();
    const bool taken = co_await way->say(websocket::Kind::Binary, std::string_view(bytes).substr(0, count));
    if (!taken) {
      way->exchange->cut();
      co_return;
    }
  }
  co_await way->say(websocket::Kind::Close, kNormalEnd);
  way->exchange->close_sending();
  way->half_closed = true;
  way->stay_half_closed();
}

asio::awaitable<bool> refuse_tunnel(std::shared_ptr<TcpPassage> way, int status, std::string why) {
  way->over = true;
  way->close();
  auto response = way->how.failure(status, why);
  co_return co_await way->exchange->respond(std::move(response));
}

bool has_word(const Headers& headers, const char* name, std::string_view word) {
  const auto* list = headers.find(name);
  if (list == nullptr) return false;
  for (const auto& one : split(*list, ','))
    if (to_lower(trim(one)) == word) return true;
  return false;
}

}  // namespace

bool wants_websocket(const Request& request) {
  return request.method == "GET" && has_word(request.headers, "connection", "upgrade") &&
         has_word(request.headers, "upgrade", "websocket") && request.headers.contains("sec-websocket-key");
}

asio::awaitable<bool> tunnel_tcp(std::shared_ptr<Exchange> exchange, TcpTunnel how) {
  const auto executor = co_await asio::this_coro::executor;
  const auto way = std::make_shared<TcpPassage>(executor, exchange, std::move(how));
  struct Guard {  // for a client that goes away: this coroutine is cancelled
    std::shared_ptr<TcpPassage> way;
    ~Guard() {
      way->over = true;
      way->close();
      way->turn.cancel();
    }
  };
  const Guard guard{way};
  exchange->on_sweep([weak = std::weak_ptr(way)](Clock::time_point now) {
    if (const auto found = weak.lock()) found->sweep(now);
  });
  boost::system::error_code failure;
  const auto address = asio::ip::make_address(way->how.host, failure);
  if (failure) co_return co_await refuse_tunnel(way, 502, "has no reachable address");
  const tcp::endpoint endpoint(address, way->how.port);
  way->write_deadline = Clock::now() + way->how.connect_timeout;
  std::tie(failure) = co_await way->service.async_connect(endpoint, kToResult);
  way->write_deadline = kNoDeadline;
  if (way->late) co_return co_await refuse_tunnel(way, 504, "did not accept the connection in time");
  if (failure) co_return co_await refuse_tunnel(way, 502, "cannot be reached: " + failure.message());
  way->service.set_option(tcp::no_delay(true), failure);
  way->service.set_option(asio::socket_base::keep_alive(true), failure);

  exchange->become_tunnel();
  way->is_tunnel = true;
  auto head = fmt::format(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Accept: {}\r\n\r\n",
      websocket::accept_of(*exchange->request().headers.find("sec-websocket-key")));
  const bool taken = co_await exchange->write(std::move(head));
  if (!taken) co_return false;
  way->receiving = true;
  asio::co_spawn(executor, from_client(way), [way](std::exception_ptr thrown) {
    way->receiving = false;
    if (thrown) way->close();
    way->turn.cancel();
  });
  co_await from_service(way);
  while (way->receiving) co_await way->turn.async_wait(kToResult);
  co_return false;
}

}  // namespace det::http
