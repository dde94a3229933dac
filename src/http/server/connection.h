#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "det/http/message.h"
#include "det/http/server/head.h"
#include "det/http/server/server.h"
#include "det/http/tls/tcp_stream.h"

namespace det::http {

using tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;

/// What a server's connections share.
struct ConnectionSettings {
  Handler handler;
  ServerOptions options;
  std::string date;  ///< The Date header's value, renewed by the server.
  bool stopping = false;
};

/// One client's connection: reads a request, calls the handler, writes the
/// response, again. Its limits in time are one deadline, which the server
/// compares with the clock a few times a second (`sweep`): no timer a request.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, std::shared_ptr<ConnectionSettings> settings);

  /// Until the connection ends. Never throws.
  asio::awaitable<void> run();

  /// Ends what is late; notices a client that left.
  void sweep(Clock::time_point now);
  /// Whether its client has not proved yet that it speaks TLS.
  bool is_greeting() const { return waiting_ == Waiting::ForGreeting; }
  /// Ends the connection now if it is between requests, else after the response.
  void finish();
  /// Cancels the handler; its client gets 503.
  void abort();
  /// Cuts the connection.
  void close();

 private:
  class Writer;
  class Side;  // the Exchange of a request that is handed over
  // A running handler or stream body.
  struct Running {
    explicit Running(const asio::any_io_executor& executor) : done(executor, Clock::time_point::max()) {}
    asio::steady_timer done;  // cancelled when finished
    asio::cancellation_signal signal;
    bool finished = false;
    bool cancelled = false;
    bool complete = false;  // of a request that was handed over: the answer
    std::exception_ptr failure;
    Response response;
  };
  struct Incoming {
    Request request;
    bool keep_alive = true;
    bool is_http_1_0 = false;
    std::shared_ptr<Side> side;  // set: the body is the handler's
  };
  enum class Waiting { Nothing, ForGreeting, ForRequest, ForHead, ForBody, ForWrite };

  asio::awaitable<bool> greet();
  asio::awaitable<void> serve();
  asio::awaitable<bool> serve_one();
  asio::awaitable<std::optional<std::string>> read_head();
  asio::awaitable<bool> refuse(HeadFault fault);
  asio::awaitable<bool> respond(const Incoming& incoming, Response response);
  asio::awaitable<bool> respond_stream(const Incoming& incoming, Response response);
  asio::awaitable<bool> hand_over(Incoming& incoming, Response response);
  asio::awaitable<void> linger();
  asio::awaitable<bool> read_some(std::size_t bytes_max);
  asio::awaitable<bool> send(std::string bytes);
  asio::awaitable<std::optional<HeadFault>> read_body(Incoming& incoming, std::string head);
  asio::awaitable<bool> wait_for(std::shared_ptr<Running> running);

  void watch(const std::shared_ptr<Running>& running);
  void look_for_hang_up();
  void cancel_running();
  std::string head_text(const Response& response, std::optional<std::size_t> length, bool chunked,
                        bool keep_alive) const;
  void wait(Waiting what, Clock::duration limit);
  std::string_view unread() const;

  TcpStream stream_;
  std::shared_ptr<ConnectionSettings> settings_;
  boost::beast::flat_buffer buffer_;
  std::string remote_;
  Waiting waiting_ = Waiting::Nothing;
  Clock::time_point deadline_ = Clock::time_point::max();
  bool late_ = false;  // the deadline has passed
  bool finishing_ = false;
  std::shared_ptr<Running> running_;
  std::shared_ptr<Side> side_;                              // of the request that is handed over now
  bool pipelined_ = false;                                  // unread bytes hide a hang-up from wait_read
  Clock::time_point cancel_at_ = Clock::time_point::max();  // the running handler's end after a hang-up
};

}  // namespace det::http
