#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"
#include "det/http/message.h"
#include "det/http/tls/tls.h"
#include "det/http/url.h"
#include "det/version.h"

namespace det::http {

/// What a client sends.
struct Call {
  std::string method = "GET";
  std::string path;  ///< With its query, percent-encoded: "/api/v1/me"
  Headers headers;   ///< Host, Content-Length and User-Agent are added.
  std::string body;
  /// For the whole exchange; with `on_data` or `on_line`: for each silence.
  std::chrono::milliseconds timeout{60'000};

  /// Gets the body of a reply below 300 piece by piece as it arrives, or line
  /// by line without the newline. False ends the exchange, which then succeeds.
  /// Errors' bodies are collected in the reply as always.
  std::function<bool(std::string_view)> on_data;
  std::function<bool(std::string_view)> on_line;
};

/// What came back. Any status is a reply; see error_of() in status.h.
struct Reply {
  int status = 0;
  Headers headers;
  std::string body;
  bool ok() const { return status >= 200 && status < 300; }
};

struct ClientOptions {
  std::chrono::milliseconds connect_timeout{5'000};
  std::size_t reply_max = 256 * 1024 * 1024;  ///< Of a collected body.
  std::size_t idle_max = 8;                   ///< Connections kept for the next call.
  std::string user_agent = "det/" DET_VERSION;
  Trust trust = Trust::from_environment();  ///< Of an https address.
  /// With several addresses: how long a call waits before the others are asked whether one of them leads.
  std::chrono::milliseconds leader_check{3'000};
  /// How long a call is tried again while masters stand by and none leads; where nothing answers at several
  /// addresses, a fifth of that.
  std::chrono::milliseconds leader_patience{0};
};

/// An HTTP/1.1 client in coroutines. Connections are kept and used again.
///
/// A call fails with Unavailable when there is no answer: no route, refused,
/// cut off, too late; the message names the address. It fails with FailedPrecondition when what answers there
/// is not to be trusted, or does not speak TLS: a person has to do something. A call that got no byte
/// of an answer on a kept connection is repeated on a fresh one if its method
/// is idempotent (not POST, not PATCH).
///
/// With several addresses, calls go to the master that leads; see masters.h.
///
/// Threads: use it on its executor only. Cancelling the awaiting coroutine
/// drops the connection and throws as Asio does. Calls in progress keep what
/// they need: the client may be destroyed before they end.
class AsyncClient {
 public:
  AsyncClient(asio::any_io_executor executor, Url url, ClientOptions options = {});
  AsyncClient(asio::any_io_executor executor, const std::vector<Url>& urls, ClientOptions options = {});
  ~AsyncClient();
  AsyncClient(AsyncClient&&) noexcept;
  AsyncClient& operator=(AsyncClient&&) noexcept;

  const Url& url() const;         ///< Of several, that of the last answer.
  std::vector<Url> urls() const;  ///< Those that were given.
  asio::awaitable<Result<Reply>> request(Call call);
  /// Cuts every connection; calls in progress fail with Unavailable.
  void close();

 private:
  std::shared_ptr<class Masters> masters_;
};

/// The same for code that may block: the CLI, and threads of a trial.
///
/// Threads: one call at a time; `cancel` from any thread. Make it after
/// `fork`, never before.
class Client {
 public:
  explicit Client(Url url, ClientOptions options = {});
  explicit Client(const std::vector<Url>& urls, ClientOptions options = {});
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  const Url& url() const;
  std::vector<Url> urls() const;
  Result<Reply> request(Call call);
  Result<Reply> get(std::string path, Headers headers = {});
  /// Sends JSON.
  Result<Reply> post(std::string path, std::string body, Headers headers = {});

  /// Ends the call in progress and fails all later ones with Unavailable,
  /// until `resume`.
  void cancel();
  void resume();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace det::http
