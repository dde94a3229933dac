#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <string>
#include <tuple>

#include "det/http/message.h"
#include "det/http/tls/tls.h"

namespace det::http {

/// For calls of asio whose errors are awaited as values, not thrown.
inline constexpr auto kToResult = asio::as_tuple(asio::use_awaitable);

/// One TCP connection, encrypted or not: what is read and written is the same.
///
/// One coroutine may read while another writes. Not encrypted, each call is the socket's own.
class TcpStream {
 public:
  using tcp = asio::ip::tcp;
  using Outcome = std::tuple<boost::system::error_code, std::size_t>;

  explicit TcpStream(tcp::socket socket) : socket_(std::move(socket)) {}
  explicit TcpStream(const asio::any_io_executor& executor) : socket_(executor) {}

  /// For what is no matter of encryption: its address, options, waiting.
  tcp::socket& socket() { return socket_; }
  bool is_open() const { return socket_.is_open(); }
  bool encrypted() const { return session_ != nullptr; }

  enum class Greeting { Done, NotTls, Failed };
  /// Waits for a client's handshake. NotTls: its first byte begins none, and the connection stays as it was.
  asio::awaitable<Greeting> accept(std::shared_ptr<const TlsIdentity> identity);
  /// Shakes hands with a server; false: `session()->fault()` says why, if it was not the connection.
  asio::awaitable<bool> connect(std::shared_ptr<const TlsTrust> trust, const std::string& host);
  const TlsSession* session() const { return session_.get(); }

  /// End of file: the other side says no more. A connection that is cut is an error.
  asio::awaitable<Outcome> read_some(asio::mutable_buffer to);
  /// Sends a part; 0 without an error: it got on, but none of these bytes is through. Call it again with the
  /// bytes that are left, until there are none.
  asio::awaitable<Outcome> write_some(asio::const_buffer bytes);

  void cancel();
  /// The other side sees that we say no more.
  void end_sending();
  /// The same, and closes.
  void close();
  /// Closes without a word: what was sent is not all.
  void cut();

 private:
  asio::awaitable<boost::system::error_code> fill();
  asio::awaitable<Outcome> read_encrypted(asio::mutable_buffer to);
  asio::awaitable<Outcome> write_encrypted(asio::const_buffer bytes);
  asio::awaitable<bool> shake_hands();

  tcp::socket socket_;
  std::unique_ptr<TlsSession> session_;
  std::string sending_;  // ciphertext on its way
  std::size_t sending_at_ = 0;
  std::size_t encrypted_ = 0;  // bytes of the caller's that are in it
};

}  // namespace det::http
