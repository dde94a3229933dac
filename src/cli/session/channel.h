#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "det/base/error.h"
#include "det/http/tls/tls.h"
#include "det/http/url.h"

namespace det::cli {

/// A connection to the master that can be waited for together with a keyboard; encrypted where the address
/// says so, believing whom the environment names.
class Channel {
 public:
  static Result<std::unique_ptr<Channel>> open(const http::Url& url);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int descriptor() const { return socket_; }
  void do_not_wait();  ///< From here on `flush` and `receive` do what is possible at once.

  void say(std::string_view bytes);                        ///< to be sent by `flush`
  std::size_t pending() const { return pending_.size(); }  ///< bytes that are not sent yet
  /// False: the connection is lost.
  bool flush();

  enum class Heard { Something, Nothing, End };
  /// Appends what has arrived.
  Heard receive(std::string& to);

 private:
  explicit Channel(int socket) : socket_(socket) {}
  Result<void> shake_hands(const http::Url& url);

  int socket_;
  std::unique_ptr<http::TlsSession> session_;
  std::string pending_;  // as it goes over the network
};

}  // namespace det::cli
