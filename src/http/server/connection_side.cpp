#include "det/http/server/connection_side.h"

#include <netinet/tcp.h>
#include "det/logging/log.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "det/http/routing/status.h"
#include "det/http/server/body_reader.h"

namespace det::http {

namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;

}  // namespace

Connection::Side::Side(std::shared_ptr<Connection> connection, Request request, const std::string& head,
                       bool keep_alive, bool is_http_1_0)
    : connection_(std::move(connection)),
      request_(std::move(request)),
      reader_(PartReader::Of::Request),
      keep_alive_(keep_alive),
      is_http_1_0_(is_http_1_0) {
  std::string nothing;
  reader_.put(head, nothing);
  const auto* expect = request_.headers.find("expect");
  expects_continue_ = expect != nullptr && is_continue(*expect) && !is_http_1_0_;
}

bool Connection::Side::keep_alive() const {
  return keep_alive_ && !connection_->settings_->stopping && !connection_->finishing_;
}

std::optional<std::uint64_t> Connection::Side::body_length() const {
  if (reader_.chunked()) return std::nullopt;
  return reader_.length().value_or(0);
}

asio::awaitable<Result<std::string>> Connection::Side::read() {
  if (tunnel_) co_return co_await read_tunnel();
  auto& buffer = connection_->buffer_;
  std::string body;
  while (body.empty() && !reader_.done()) {
    if (buffer.size() > 0) {
      const auto used = reader_.put(connection_->unread().substr(0, kPieceBytes), body);
      buffer.consume(used);
      if (!reader_.fault().empty()) co_return invalid_argument("the body is malformed: {}", reader_.fault());
      if (used > 0) continue;
      if (buffer.size() >= kPieceBytes) co_return invalid_argument("a chunk's first line is too long");
    }
    if (over_) co_return fail(ErrorCode::Unavailable, "the request is already answered");
    if (expects_continue_ && !written_) {
      expects_continue_ = false;
      std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
      const bool sent = co_await send(std::move(go_on));
      if (!sent) co_return fail(ErrorCode::Unavailable, "the client went away");
    }
    read_deadline_ = Clock::now() + connection_->settings_->options.idle_timeout;
    const auto [failure, bytes] = co_await connection_->stream_.read_some(buffer.prepare(kPieceBytes));
    read_deadline_ = Clock::time_point::max();
    buffer.commit(bytes);
    if (failure) co_return fail(ErrorCode::Unavailable, "the client went away before the end of the body");
  }
  if (reader_.done() && buffer.size() == 0) buffer.shrink_to_fit();
  co_return body;
}

asio::awaitable<Result<std::string>> Connection::Side::read_tunnel() {
  auto& buffer = connection_->buffer_;
  if (over_) co_return fail(ErrorCode::Unavailable, "the request is already answered");
  if (buffer.size() == 0) {
    const auto [failure, bytes] = co_await connection_->stream_.read_some(buffer.prepare(kPieceBytes / 4));
    buffer.commit(bytes);
    if (failure == asio::error::eof) co_return std::string();
    if (failure) co_return fail(ErrorCode::Unavailable, "the client went away");
  }
  std::string out(connection_->unread());
  buffer.consume(buffer.size());
  co_return out;
}

asio::awaitable<bool> Connection::Side::write(std::string bytes) {
  if (!bytes.empty()) written_ = true;
  co_return co_await send(std::move(bytes));
}

asio::awaitable<bool> Connection::Side::send(std::string bytes) {
  const auto& options = connection_->settings_->options;
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    if (over_ || !connection_->stream_.is_open()) co_return false;
    write_deadline_ = Clock::now() + (tunnel_ ? options.tunnel_write_timeout : options.write_timeout);
    const auto [failure, count] =
        co_await connection_->stream_.write_some(asio::buffer(bytes.data() + sent, bytes.size() - sent));
    write_deadline_ = Clock::time_point::max();
    sent += count;
    if (failure) co_return false;
  }
  co_return true;
}

asio::awaitable<bool> Connection::Side::respond(Response response) {
  DET_ASSERT(!written_ && !response.stream && !response.take);
  const bool again = keep_alive() && reader_.done();
  auto bytes = connection_->head_text(response, response.body.size(), false, again);
  if (is_http_1_0_ && again) bytes.insert(bytes.size() - 2, "Connection: keep-alive\r\n");
  if (request_.method != "HEAD") bytes += response.body;
  const bool sent = co_await write(std::move(bytes));
  co_return sent&& again;
}

void Connection::Side::become_tunnel() {
  tunnel_ = true;
  connection_->cancel_at_ = Clock::time_point::max();
  boost::system::error_code ignored;
  auto& socket = connection_->stream_.socket();
  // A machine that vanished is noticed although nobody writes.
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  using Seconds = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPIDLE>;
  socket.set_option(Seconds(60), ignored);
  using Pause = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPINTVL>;
  socket.set_option(Pause(15), ignored);
}

void Connection::Side::close_sending() {
  connection_->stream_.end_sending();
}

void Connection::Side::cut() {
  if (!over_) connection_->close();
}

void Connection::Side::sweep(Clock::time_point now) {
  if (now >= read_deadline_ || now >= write_deadline_) connection_->close();
  if (on_sweep_) on_sweep_(now);
}

asio::awaitable<bool> Connection::hand_over(Incoming& incoming, Response response) {
  const auto side = incoming.side;
  if (!response.take) {
    if (!side->body_read()) incoming.keep_alive = false;
    const bool is_stream = response.stream && incoming.request.method != "HEAD";
    bool again = false;
    if (is_stream)
      again = co_await respond_stream(incoming, std::move(response));
    else
      again = co_await respond(incoming, std::move(response));
    if (!side->body_read()) co_await linger();
    co_return again;
  }
  const auto running = std::make_shared<Running>(stream_.socket().get_executor());
  running_ = running;
  side_ = side;
  asio::co_spawn(stream_.socket().get_executor(), response.take(side),
                 asio::bind_cancellation_slot(running->signal.slot(),
                                              [running](std::exception_ptr failure, bool complete) {
                                                running->failure = failure;
                                                running->complete = complete;
                                                running->finished = true;
                                                running->done.cancel();
                                              }));
  const bool client_is_there = co_await wait_for(running);
  side->end();
  side->on_sweep({});
  side_.reset();
  if (!client_is_there) co_return false;
  if (running->failure && !running->cancelled) {
    try {
      std::rethrow_exception(running->failure);
    } catch (const std::exception& thrown) {
      logging::error("{} {}: {}", incoming.request.method, incoming.request.path, thrown.what());
    }
  }
  if (running->failure) {
    if (side->written()) co_return false;
    incoming.keep_alive = false;
    auto failed =
        running->cancelled
            ? error_response(Error(ErrorCode::Unavailable, "the server is stopping; retry in a moment"))
            : error_response(Error(ErrorCode::Internal, "the request failed inside the server"));
    co_return co_await respond(incoming, std::move(failed));
  }
  if (!running->complete && !side->is_tunnel() && !side->body_read()) co_await linger();
  co_return running->complete && side->body_read() && !side->is_tunnel();
}

}  // namespace det::http
