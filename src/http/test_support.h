#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "det/http/client/client.h"
#include "det/http/server/server.h"
#include "det/http/tls/tls.h"

/// A real server on a thread of its own and a raw socket to talk to it. With DET_TEST_TLS in the environment
/// both speak TLS, so that every test here is one of encrypted connections, too.
namespace det::http::test {

using namespace std::chrono_literals;

bool over_tls();

class RunningServer {
 public:
  explicit RunningServer(Handler handler, ServerOptions options = {}, std::uint16_t port = 0);
  ~RunningServer();

  std::uint16_t port() const { return port_; }
  Url url() const;
  /// Runs `task` on the server's thread and returns what it returns.
  std::size_t connections();
  /// Calls Server::use and waits for it.
  void use(std::shared_ptr<const TlsIdentity> identity);
  /// Calls Server::stop and waits for it.
  void stop(std::chrono::milliseconds grace);

 private:
  asio::io_context context_{1};
  std::unique_ptr<Server> server_;
  std::thread thread_;
  std::uint16_t port_ = 0;
  bool stopped_ = false;
  bool tls_ = false;
};

/// A blocking TCP connection.
class RawSocket {
 public:
  explicit RawSocket(std::uint16_t port, bool tls = over_tls(), const char* from = nullptr);
  struct Accepted {
    int fd;
  };
  explicit RawSocket(Accepted accepted) : fd_(accepted.fd) {}
  ~RawSocket();
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;
  RawSocket(RawSocket&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), session_(std::move(other.session_)) {}

  bool send(std::string_view bytes);
  void close_sending();
  void reset();  ///< Closes with RST.
  void close();
  /// How many bytes the other side takes until it takes no more for `pause`, at most `limit`.
  std::size_t send_until_stuck(std::size_t limit, std::chrono::milliseconds pause = 300ms);
  /// What arrives until the other side closes, or `limit` has passed.
  std::string read_all(std::chrono::milliseconds limit = 5s);
  /// What arrives until `end` has come, the other side closes or the limit passes.
  std::string read_until(std::string_view end, std::chrono::milliseconds limit = 5s);
  /// Whether the other side said that it ends, and was not just cut; of TLS.
  bool ended_orderly() const { return ended_orderly_; }

 private:
  bool send_plainly(std::string_view bytes);
  bool flush();

  int fd_ = -1;
  std::unique_ptr<TlsSession> session_;
  bool ended_orderly_ = false;
};

/// A port on which a test answers by hand.
class Listener {
 public:
  Listener();
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::uint16_t port() const { return port_; }
  RawSocket accept();  ///< Fails the test when nobody comes within five seconds.

 private:
  int fd_ = -1;
  std::uint16_t port_ = 0;
};

/// Sends the bytes on a new connection and returns all of the answer.
std::string talk(std::uint16_t port, std::string_view bytes);
/// "HTTP/1.1 400 …" -> 400; 0 where there is no answer.
int status_in(std::string_view answer);

/// Waits until the condition holds, at most `limit`; whether it held.
bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit = 5s);

/// Answers "<method> <path>" and, for a body, its size.
asio::awaitable<Response> echo(Request request);

}  // namespace det::http::test
