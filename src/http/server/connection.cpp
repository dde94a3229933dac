#include "det/http/server/connection.h"

#include <poll.h>
#include "det/logging/log.h"

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "det/http/routing/status.h"
#include "det/http/server/body_reader.h"
#include "det/http/server/connection_side.h"
#include "det/http/tls/tcp_stream.h"

namespace det::http {

namespace {

constexpr std::size_t kReadBytes = 4 * 1024;
constexpr std::size_t kBodyReadBytes = 64 * 1024;
constexpr std::size_t kLingerBytesMax = 32 * 1024 * 1024;
constexpr auto kLinger = std::chrono::seconds(2);

// A handler's text must not end a header early.
std::string one_line(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7F; }, ' ');
  return out;
}

Response unavailable(std::string_view why) {
  return error_response(Error(ErrorCode::Unavailable, std::string(why)));
}

Response refusal(const HeadFault& fault) {
  auto response = error_response(Error(ErrorCode::InvalidArgument, "the request was refused: " + fault.rule));
  response.status = fault.status;
  return response;
}

}  // namespace

Connection::Connection(tcp::socket socket, std::shared_ptr<ConnectionSettings> settings)
    : stream_(std::move(socket)), settings_(std::move(settings)) {
  boost::system::error_code ignored;
  if (const auto endpoint = stream_.socket().remote_endpoint(ignored); !ignored)
    remote_ = fmt::format("{}:{}", endpoint.address().to_string(), endpoint.port());
}

std::string_view Connection::unread() const {
  return {static_cast<const char*>(buffer_.data().data()), buffer_.size()};
}

void Connection::wait(Waiting what, Clock::duration limit) {
  waiting_ = what;
  deadline_ = what == Waiting::Nothing ? Clock::time_point::max() : Clock::now() + limit;
}

void Connection::sweep(Clock::time_point now) {
  if (now >= deadline_) {
    late_ = true;
    stream_.cancel();  // again at the next sweep if nothing was pending
  }
  if (side_) side_->sweep(now);
  if (running_ && pipelined_) look_for_hang_up();
  if (running_ && now >= cancel_at_) cancel_running();
}

void Connection::finish() {
  finishing_ = true;
  if (waiting_ == Waiting::ForRequest || waiting_ == Waiting::ForGreeting) stream_.cancel();
}

void Connection::abort() {
  if (running_)
    cancel_running();
  else
    close();
}

void Connection::close() {
  stream_.close();
}

asio::awaitable<bool> Connection::read_some(std::size_t bytes_max) {
  const auto [failure, bytes] = co_await stream_.read_some(buffer_.prepare(bytes_max));
  buffer_.commit(bytes);
  co_return !failure && !late_;
}

asio::awaitable<bool> Connection::send(std::string bytes) {
  // The deadline moves with progress: a slow reader is fine, a stopped one is not.
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    wait(Waiting::ForWrite, settings_->options.write_timeout);
    const auto [failure, count] =
        co_await stream_.write_some(asio::buffer(bytes.data() + sent, bytes.size() - sent));
    sent += count;
    if (failure || late_) {
      wait(Waiting::Nothing, {});
      co_return false;
    }
  }
  wait(Waiting::Nothing, {});
  co_return true;
}

asio::awaitable<void> Connection::run() {
  const auto self = shared_from_this();
  try {
    co_await serve();
  } catch (const std::exception& thrown) {
    logging::error("connection of {}: {}", remote_, thrown.what());
  }
  close();
}

// Shakes hands where the server speaks TLS. False: the connection is over.
asio::awaitable<bool> Connection::greet() {
  const auto identity = settings_->options.tls;
  if (!identity) co_return true;
  wait(Waiting::ForGreeting, settings_->options.header_timeout);
  const auto greeting = co_await stream_.accept(identity);
  wait(Waiting::Nothing, {});
  if (greeting == TcpStream::Greeting::Done) co_return !late_;
  if (greeting == TcpStream::Greeting::NotTls && !late_) {
    HeadFault fault{400, "this port speaks HTTPS only; use https:// instead of http://"};
    co_await refuse(std::move(fault));
  }
  co_return false;
}

asio::awaitable<void> Connection::serve() {
  // Not `while (co_await …)`: g++ 12.2 lays out the frame of a coroutine wrongly when
  // it awaits in a condition and has no named local variable, at every -O.
  bool again = co_await greet();
  while (again) {
    const bool answered = co_await serve_one();
    again = answered && !finishing_ && !settings_->stopping;
  }
}

// The head of the next request, out of the buffer; nothing when the
// connection has ended or was refused.
asio::awaitable<std::optional<std::string>> Connection::read_head() {
  const auto& options = settings_->options;
  const HeadLimits limits{options.uri_max, options.headers_max, 100};
  HeadScanner scanner(limits);
  bool begun = false;
  while (true) {
    if (!begun && unread().starts_with("\r\n")) buffer_.consume(2);  // RFC 9112, 2.2
    if (!begun && buffer_.size() > 0) {
      begun = true;
      wait(Waiting::ForHead, options.header_timeout);
    } else if (!begun) {
      wait(Waiting::ForRequest, options.idle_timeout);
    }
    const auto length = begun ? scanner.scan(unread()) : std::nullopt;
    std::optional<HeadFault> fault = scanner.fault();
    if (length) {
      std::string head(unread().substr(0, *length));
      fault = check_head(head, limits);
      if (!fault) {
        buffer_.consume(*length);
        wait(Waiting::Nothing, {});
        co_return head;
      }
    }
    if (fault) {
      co_await refuse(*std::move(fault));
      co_return std::nullopt;
    }
    if (!begun && finishing_) co_return std::nullopt;
    const bool more = co_await read_some(kReadBytes);
    if (!more && late_ && begun) {
      HeadFault too_slow{
          408, fmt::format("its headers took longer than {} s", options.header_timeout.count() / 1000)};
      co_await refuse(std::move(too_slow));
    }
    if (!more) co_return std::nullopt;
  }
}

asio::awaitable<bool> Connection::refuse(HeadFault fault) {
  late_ = false;
  auto response = refusal(fault);
  auto head = head_text(response, response.body.size(), false, false);
  const bool sent = co_await send(head + response.body);
  if (sent) co_await linger();
  co_return false;
}

// Lets the client read our answer before the kernel answers its unread bytes
// with a reset.
asio::awaitable<void> Connection::linger() {
  stream_.end_sending();
  wait(Waiting::ForBody, kLinger);
  std::size_t dropped = 0;
  buffer_.consume(buffer_.size());
  while (dropped < kLingerBytesMax) {
    const bool more = co_await read_some(kBodyReadBytes);
    if (!more) break;
    dropped += buffer_.size();
    buffer_.consume(buffer_.size());
  }
  wait(Waiting::Nothing, {});
}

asio::awaitable<std::optional<HeadFault>> Connection::read_body(Incoming& incoming, std::string head) {
  const auto& options = settings_->options;
  BodyReader reader(head);
  if (!reader.fault().empty()) co_return HeadFault{400, reader.fault()};
  reader.describe(incoming.request);
  incoming.keep_alive = reader.keep_alive();
  incoming.is_http_1_0 = reader.is_http_1_0();
  if (const auto split = split_target(incoming.request); !split)
    co_return HeadFault{400, split.error().message()};

  if (options.hands_over && options.hands_over(incoming.request)) {
    incoming.side = std::make_shared<Side>(shared_from_this(), incoming.request, head, incoming.keep_alive,
                                           incoming.is_http_1_0);
    co_return std::nullopt;
  }
  const auto limit =
      std::max(options.body_max, options.body_limit ? options.body_limit(incoming.request) : 0);
  const auto too_large = [&] {
    return HeadFault{413, fmt::format("its body is larger than {} bytes", limit)};
  };
  if (reader.length() && *reader.length() > limit) co_return too_large();
  if (const auto* expect = incoming.request.headers.find("expect")) {
    if (!is_continue(*expect))
      co_return HeadFault{417,
                          fmt::format("the expectation \"{}\" is not supported; use 100-continue", *expect)};
    if (!reader.done() && buffer_.size() == 0 && !incoming.is_http_1_0) {
      const bool sent = co_await send(std::string("HTTP/1.1 100 Continue\r\n\r\n"));
      if (!sent) co_return HeadFault{400, "the client went away"};
    }
  }
  const auto begun = Clock::now();
  std::size_t received = 0;
  while (!reader.done()) {
    if (buffer_.size() > 0) {
      const auto used = reader.put(unread());
      buffer_.consume(used);
      received += used;
      if (!reader.fault().empty()) co_return HeadFault{400, reader.fault()};
      if (reader.body_bytes() > limit) co_return too_large();
      if (reader.done()) break;
      if (buffer_.size() >= kBodyReadBytes) co_return HeadFault{400, "a chunk's first line is too long"};
      if (used > 0 && buffer_.size() > 0) continue;
    }
    const auto floor =
        begun + options.header_timeout +
        std::chrono::milliseconds(received * 1000 / std::max<std::size_t>(options.body_rate_min, 1));
    waiting_ = Waiting::ForBody;
    deadline_ = std::min(floor, Clock::now() + options.idle_timeout);
    const bool more =
        co_await read_some(reader.length().value_or(limit) > kReadBytes ? kBodyReadBytes : kReadBytes);
    if (!more && late_)
      co_return HeadFault{
          408, fmt::format("its body arrived at less than {} bytes per second", options.body_rate_min)};
    if (!more) co_return HeadFault{400, "its body ended early"};
  }
  wait(Waiting::Nothing, {});
  if (buffer_.size() == 0 && buffer_.capacity() > kReadBytes) buffer_.shrink_to_fit();
  incoming.request.body = reader.take();
  co_return std::nullopt;
}

asio::awaitable<bool> Connection::serve_one() {
  auto head = co_await read_head();
  if (!head) co_return false;
  Incoming incoming;
  incoming.request.remote = remote_;
  auto fault = co_await read_body(incoming, *std::move(head));
  if (fault) co_return co_await refuse(*std::move(fault));

  const bool is_head = incoming.request.method == "HEAD";
  const auto running = std::make_shared<Running>(stream_.socket().get_executor());
  running_ = running;
  const auto method = incoming.request.method;
  const auto path = incoming.request.path;
  asio::co_spawn(stream_.socket().get_executor(), settings_->handler(std::move(incoming.request)),
                 asio::bind_cancellation_slot(running->signal.slot(),
                                              [running](std::exception_ptr failure, Response response) {
                                                running->failure = failure;
                                                running->response = std::move(response);
                                                running->finished = true;
                                                running->done.cancel();
                                              }));
  const bool client_is_there = co_await wait_for(running);
  if (!client_is_there) co_return false;
  Response response = std::move(running->response);
  if (running->failure) {
    if (running->cancelled) {
      response = unavailable("the server is stopping; retry in a moment");
      incoming.keep_alive = false;
    } else {
      try {
        std::rethrow_exception(running->failure);
      } catch (const std::exception& thrown) {
        logging::error("{} {}: {}", method, path, thrown.what());
        response =
            error_response(Error(ErrorCode::Internal, fmt::format("{} {} failed inside the server ({})",
                                                                  method, path, thrown.what())));
      }
    }
  }
  incoming.request.method = method;
  incoming.request.path = path;
  if (incoming.side) co_return co_await hand_over(incoming, std::move(response));
  if (response.stream && !is_head) co_return co_await respond_stream(incoming, std::move(response));
  co_return co_await respond(incoming, std::move(response));
}

// Waits for the handler and meanwhile for the client's going away. False: it went.
asio::awaitable<bool> Connection::wait_for(std::shared_ptr<Running> running) {
  pipelined_ = false;
  cancel_at_ = Clock::time_point::max();
  if (!running->finished) {
    watch(running);
    co_await running->done.async_wait(kToResult);
    stream_.cancel();  // the watch
  }
  running_.reset();
  co_return stream_.is_open() && !(running->cancelled && !settings_->stopping);
}

void Connection::watch(const std::shared_ptr<Running>& running) {
  stream_.socket().async_wait(tcp::socket::wait_read,
                              [self = shared_from_this(), running](boost::system::error_code failure) {
                                if (!failure && !running->finished && self->running_ == running)
                                  self->look_for_hang_up();
                              });
}

void Connection::look_for_hang_up() {
  if (side_ && side_->is_tunnel()) return;  // its reader sees it, and a tunnel may be half closed
  pollfd state{};
  state.fd = stream_.socket().native_handle();
  state.events = POLLIN | POLLRDHUP;
  if (::poll(&state, 1, 0) < 0) return;
  if ((state.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
    cancel_running();
  } else if ((state.revents & POLLRDHUP) != 0) {
    // Closed, or closed only for sending: both look the same until we write.
    cancel_at_ = std::min(cancel_at_, Clock::now() + settings_->options.half_close_grace);
    pipelined_ = true;  // a reset may follow
  } else {
    pipelined_ = true;  // the next request waits already; ask again at each sweep
  }
}

void Connection::cancel_running() {
  if (running_->cancelled || running_->finished) return;
  running_->cancelled = true;
  // Posted, so that no coroutine is cancelled from within itself.
  asio::post(stream_.socket().get_executor(), [running = running_] {
    if (!running->finished) running->signal.emit(asio::cancellation_type::terminal);
  });
}

std::string Connection::head_text(const Response& response, std::optional<std::size_t> length, bool chunked,
                                  bool keep_alive) const {
  std::string out;
  out.reserve(256);
  out += fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", response.status, reason_phrase(response.status),
                     settings_->date);
  for (const auto& [name, value] : response.headers) out += one_line(name) + ": " + one_line(value) + "\r\n";
  if (length) out += fmt::format("Content-Length: {}\r\n", *length);
  if (chunked) out += "Transfer-Encoding: chunked\r\n";
  if (!keep_alive) out += "Connection: close\r\n";
  out += "\r\n";
  return out;
}

asio::awaitable<bool> Connection::respond(const Incoming& incoming, Response response) {
  const bool keep_alive = incoming.keep_alive && !settings_->stopping && !finishing_;
  const bool has_no_body = response.status == 204 || response.status == 304 || response.status < 200;
  std::optional<std::size_t> length;
  if (!has_no_body && !response.stream) length = response.body.size();
  auto bytes = head_text(response, length, false, keep_alive);
  if (incoming.is_http_1_0 && keep_alive) bytes.insert(bytes.size() - 2, "Connection: keep-alive\r\n");
  if (!has_no_body && incoming.request.method != "HEAD") bytes += response.body;
  const bool sent = co_await send(std::move(bytes));
  co_return sent&& keep_alive;
}

// Sends chunks for a stream's body, and remembers how that went.
class Connection::Writer final : public StreamWriter {
 public:
  Writer(Connection& connection, std::string head, bool chunked)
      : connection_(&connection), head_(std::move(head)), chunked_(chunked) {}

  asio::awaitable<bool> write(std::string data) override {
    if (gone_ || (connection_->running_ && connection_->running_->cancelled)) co_return false;
    if (!connection_->stream_.is_open()) gone_ = true;
    if (gone_ || data.empty()) co_return !gone_;
    std::string bytes = started_ ? std::string() : std::move(head_);
    started_ = true;
    bytes += chunked_ ? fmt::format("{:x}\r\n{}\r\n", data.size(), data) : data;
    gone_ = true;  // if this write is cancelled, what the client has is unknown
    const bool sent = co_await connection_->send(std::move(bytes));
    gone_ = !sent;
    co_return sent;
  }
  bool started() const override { return started_; }
  void replace(Response response) override {
    DET_ASSERT(!started_);
    replacement_ = std::move(response);
  }

  std::string ending() {
    return (started_ ? std::string() : std::move(head_)) + (chunked_ ? "0\r\n\r\n" : "");
  }
  bool gone() const { return gone_; }
  std::optional<Response>& replacement() { return replacement_; }

 private:
  Connection* connection_;
  std::string head_;
  bool chunked_;
  bool started_ = false;
  bool gone_ = false;
  std::optional<Response> replacement_;
};

asio::awaitable<bool> Connection::respond_stream(const Incoming& incoming, Response response) {
  const bool chunked = !incoming.is_http_1_0;
  const bool keep_alive = incoming.keep_alive && chunked && !settings_->stopping && !finishing_;
  Writer writer(*this, head_text(response, std::nullopt, chunked, keep_alive), chunked);
  const auto running = std::make_shared<Running>(stream_.socket().get_executor());
  running_ = running;
  asio::co_spawn(stream_.socket().get_executor(), response.stream(writer),
                 asio::bind_cancellation_slot(running->signal.slot(), [running](std::exception_ptr failure) {
                   running->failure = failure;
                   running->finished = true;
                   running->done.cancel();
                 }));
  const bool client_is_there = co_await wait_for(running);
  if (!client_is_there || writer.gone()) co_return false;
  if (running->failure) {
    if (!running->cancelled) {
      try {
        std::rethrow_exception(running->failure);
      } catch (const std::exception& thrown) {
        logging::error("{} {}: {}", incoming.request.method, incoming.request.path, thrown.what());
      }
    }
    if (writer.started()) {  // without the last chunk: the client sees that it is cut
      stream_.cut();
      co_return false;
    }
    auto failed = running->cancelled
                      ? unavailable("the server is stopping; retry in a moment")
                      : error_response(Error(ErrorCode::Internal, "the stream failed inside the server"));
    co_return co_await respond(incoming, std::move(failed));
  }
  if (writer.replacement()) co_return co_await respond(incoming, *std::move(writer.replacement()));
  const bool sent = co_await send(writer.ending());
  co_return sent&& keep_alive;
}

}  // namespace det::http
