#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "det/base/error.h"

namespace det::http {

/// The WebSocket protocol (RFC 6455, no extensions): bytes in, bytes out, no socket of its own.
namespace websocket {

/// The random text that a handshake sends as Sec-WebSocket-Key.
std::string make_key();
/// What a server answers to it as Sec-WebSocket-Accept.
std::string accept_of(std::string_view key);

enum class Kind : std::uint8_t { Text = 1, Binary = 2, Close = 8, Ping = 9, Pong = 10 };

struct Message {
  Kind kind = Kind::Text;
  std::string payload;
};

enum class Side : std::uint8_t { Client, Server };

/// A whole message as that side sends it.
std::string frame(Kind kind, std::string_view payload, Side from = Side::Client);

/// Reads what the other side sends.
class Reader {
 public:
  explicit Reader(std::size_t message_max = std::size_t{16} << 20, Side from = Side::Server)
      : message_max_(message_max), from_(from) {}

  void put(std::string_view bytes) { unread_ += bytes; }
  /// The next message, put together from its fragments; nothing: more bytes are needed. The error: these
  /// bytes are no WebSocket's.
  Result<std::optional<Message>> next();

 private:
  Result<bool> take_frame(std::optional<Message>& out);

  std::size_t message_max_;
  Side from_;
  std::string unread_;
  std::optional<Message> begun_;
};

}  // namespace websocket

}  // namespace det::http
