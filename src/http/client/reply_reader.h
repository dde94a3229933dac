#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "det/http/client/client.h"

namespace det::http {

/// Reads the reply to one call from the bytes of a connection, and hands its
/// body to the call's callbacks as it comes.
class ReplyReader {
 public:
  /// `call` lives as long as the reader.
  ReplyReader(const Call& call, std::size_t reply_max);
  ~ReplyReader();

  void put(std::string_view bytes);
  void put_end();  ///< The other side has closed.
  /// All is read, or a callback wanted no more.
  bool done() const;
  /// Whether the next call may use the connection.
  bool reusable() const;
  /// Why the bytes are no reply, to follow the server's name; empty: nothing.
  const std::string& fault() const { return fault_; }
  Reply take();

 private:
  struct Parser;
  void make_parser();
  void deliver();
  void deliver_lines(bool at_end);

  const Call& call_;
  std::size_t reply_max_;
  std::unique_ptr<Parser> parser_;
  std::string unread_;
  std::string line_;
  std::string body_;
  std::string fault_;
  bool enough_ = false;
};

}  // namespace det::http
