#include "det/http/tls/tcp_stream.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/write.hpp>

namespace det::http {

namespace {

constexpr std::size_t kArrivingBytes = 64 * 1024;
constexpr unsigned char kHandshakeRecord = 0x16;

}  // namespace

asio::awaitable<TcpStream::Outcome> TcpStream::read_some(asio::mutable_buffer to) {
  if (session_) return read_encrypted(to);
  return socket_.async_read_some(to, kToResult);
}

asio::awaitable<TcpStream::Outcome> TcpStream::write_some(asio::const_buffer bytes) {
  if (session_) return write_encrypted(bytes);
  return socket_.async_write_some(bytes, kToResult);
}

// Puts what arrives into the session. Nothing is kept for it while nothing arrives.
asio::awaitable<boost::system::error_code> TcpStream::fill() {
  while (true) {
    const auto [failure] = co_await socket_.async_wait(tcp::socket::wait_read, kToResult);
    if (failure) co_return failure;
    static thread_local std::array<char, kArrivingBytes> arriving;
    const auto count = ::recv(socket_.native_handle(), arriving.data(), arriving.size(), MSG_DONTWAIT);
    if (count == 0) co_return asio::error::eof;
    if (count > 0) {
      session_->put(std::string_view(arriving.data(), static_cast<std::size_t>(count)));
      co_return boost::system::error_code();
    }
    if (errno != EAGAIN && errno != EINTR)
      co_return boost::system::error_code(errno, boost::system::system_category());
  }
}

asio::awaitable<TcpStream::Outcome> TcpStream::read_encrypted(asio::mutable_buffer to) {
  while (true) {
    std::size_t count = 0;
    const auto step = session_->read(static_cast<char*>(to.data()), to.size(), count);
    if (step == TlsSession::Step::Done) co_return Outcome(boost::system::error_code(), count);
    if (step == TlsSession::Step::Ended) co_return Outcome(asio::error::eof, 0);
    if (step == TlsSession::Step::Failed) co_return Outcome(asio::error::connection_reset, 0);
    auto failure = co_await fill();
    // Without a word of farewell: somebody may have cut off the rest.
    if (failure == asio::error::eof) failure = asio::error::connection_reset;
    if (failure) co_return Outcome(failure, 0);
  }
}

asio::awaitable<TcpStream::Outcome> TcpStream::write_encrypted(asio::const_buffer bytes) {
  if (sending_at_ == sending_.size()) {
    const std::string_view text(static_cast<const char*>(bytes.data()),
                                std::min(bytes.size(), kArrivingBytes));
    while (encrypted_ < text.size()) {
      const auto count = session_->write(text.substr(encrypted_));
      if (count == 0) co_return Outcome(asio::error::connection_reset, 0);
      encrypted_ += count;
    }
    sending_ = session_->take_output();
    sending_at_ = 0;
  }
  const auto [failure, sent] = co_await socket_.async_write_some(
      asio::buffer(sending_.data() + sending_at_, sending_.size() - sending_at_), kToResult);
  sending_at_ += sent;
  if (failure) co_return Outcome(failure, 0);
  if (sending_at_ < sending_.size()) co_return Outcome(boost::system::error_code(), 0);
  sending_ = std::string();
  sending_at_ = 0;
  co_return Outcome(boost::system::error_code(), std::exchange(encrypted_, 0));
}

asio::awaitable<bool> TcpStream::shake_hands() {
  while (true) {
    const auto step = session_->handshake();
    auto out = session_->take_output();
    if (!out.empty()) {
      const auto [failure, count] = co_await asio::async_write(socket_, asio::buffer(out), kToResult);
      if (failure) co_return false;
    }
    if (step != TlsSession::Step::WantsMore) co_return step == TlsSession::Step::Done;
    const auto failure = co_await fill();
    if (failure) co_return false;
  }
}

asio::awaitable<TcpStream::Greeting> TcpStream::accept(std::shared_ptr<const TlsIdentity> identity) {
  const auto [failure] = co_await socket_.async_wait(tcp::socket::wait_read, kToResult);
  if (failure) co_return Greeting::Failed;
  unsigned char first = 0;
  const auto count = ::recv(socket_.native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (count != 1) co_return Greeting::Failed;
  if (first != kHandshakeRecord) co_return Greeting::NotTls;
  session_ = std::make_unique<TlsSession>(std::move(identity));
  const bool done = co_await shake_hands();
  co_return done ? Greeting::Done : Greeting::Failed;
}

asio::awaitable<bool> TcpStream::connect(std::shared_ptr<const TlsTrust> trust, const std::string& host) {
  session_ = std::make_unique<TlsSession>(std::move(trust), host);
  co_return co_await shake_hands();
}

void TcpStream::cancel() {
  boost::system::error_code ignored;
  socket_.cancel(ignored);
}

void TcpStream::end_sending() {
  boost::system::error_code ignored;
  if (session_ && socket_.is_open() && sending_at_ == sending_.size()) {
    session_->end();
    const auto out = session_->take_output();
    // Thirty bytes at most. Where even they find no room, the client does not read.
    if (!out.empty())
      static_cast<void>(::send(socket_.native_handle(), out.data(), out.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  }
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
}

void TcpStream::close() {
  if (session_) end_sending();
  cut();
}

void TcpStream::cut() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

}  // namespace det::http
