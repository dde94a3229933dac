#include "det/http/test_support.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <cstdlib>

#include "det/http/tls/tls_files.h"

namespace det::http::test {

namespace {

std::size_t left(std::chrono::steady_clock::time_point end) {
  const auto now = std::chrono::steady_clock::now();
  return now >= end
             ? 0
             : static_cast<std::size_t>(std::chrono::ceil<std::chrono::milliseconds>(end - now).count());
}

asio::awaitable<void> stop_server(Server& server, std::chrono::milliseconds grace, std::promise<void>& done) {
  co_await server.stop(grace);
  done.set_value();
}

// Of all tests of this process, which trust it by the variable that people use, too.
TlsFiles& tls_files() {
  static TlsFiles files;
  return files;
}

}  // namespace

bool over_tls() {
  return std::getenv("DET_TEST_TLS") != nullptr;
}

RunningServer::RunningServer(Handler handler, ServerOptions options, std::uint16_t port) {
  if (over_tls() && !options.tls) {
    options.tls = tls_files().identity();
    ::setenv("DET_MASTER_CERT_FILE", tls_files().authority().c_str(), 1);
  }
  tls_ = options.tls != nullptr;
  server_ = std::make_unique<Server>(context_.get_executor(), std::move(handler), std::move(options));
  const auto listening = server_->listen("127.0.0.1", port);
  EXPECT_TRUE(listening) << listening.error().message();
  port_ = server_->port();
  thread_ = std::thread([this] { context_.run(); });
}

RunningServer::~RunningServer() {
  if (!stopped_) stop(0ms);
  thread_.join();
}

Url RunningServer::url() const {
  Url url;
  url.host = "127.0.0.1";
  url.port = port_;
  url.tls = tls_;
  return url;
}

std::size_t RunningServer::connections() {
  std::promise<std::size_t> count;
  asio::post(context_, [&] { count.set_value(server_->connections()); });
  return count.get_future().get();
}

void RunningServer::use(std::shared_ptr<const TlsIdentity> identity) {
  std::promise<void> done;
  asio::post(context_, [&] {
    server_->use(std::move(identity));
    done.set_value();
  });
  done.get_future().get();
}

void RunningServer::stop(std::chrono::milliseconds grace) {
  std::promise<void> done;
  asio::co_spawn(context_, stop_server(*server_, grace, done), asio::detached);
  done.get_future().get();
  stopped_ = true;
}

RawSocket::RawSocket(std::uint16_t port, bool tls, const char* from)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (from != nullptr) {
    address.sin_addr.s_addr = ::inet_addr(from);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  if (!tls) return;
  session_ = std::make_unique<TlsSession>(*TlsTrust::load(Trust::from("noverify", "")), "localhost");
  while (session_->handshake() == TlsSession::Step::WantsMore) {
    flush();
    pollfd state{fd_, POLLIN, 0};
    if (::poll(&state, 1, 5'000) <= 0) break;
    char bytes[4096];
    const auto count = ::recv(fd_, bytes, sizeof bytes, 0);
    if (count <= 0) break;
    session_->put(std::string_view(bytes, static_cast<std::size_t>(count)));
  }
  flush();
}

bool RawSocket::flush() {
  return send_plainly(session_->take_output());
}

RawSocket::~RawSocket() {
  if (fd_ >= 0) ::close(fd_);
}

bool RawSocket::send(std::string_view bytes) {
  if (!session_) return send_plainly(bytes);
  while (!bytes.empty()) {
    const auto count = session_->write(bytes);
    if (count == 0 || !flush()) return false;
    bytes.remove_prefix(count);
  }
  return true;
}

bool RawSocket::send_plainly(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void RawSocket::close_sending() {
  if (session_) {
    session_->end();
    flush();
  }
  ::shutdown(fd_, SHUT_WR);
}

void RawSocket::reset() {
  linger at_once{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(fd_);
  fd_ = -1;
}

void RawSocket::close() {
  ::close(std::exchange(fd_, -1));
}

std::size_t RawSocket::send_until_stuck(std::size_t limit, std::chrono::milliseconds pause) {
  const std::string piece(64 * 1024, 'x');
  std::size_t sent = 0;
  while (sent < limit) {
    pollfd state{fd_, POLLOUT, 0};
    if (::poll(&state, 1, static_cast<int>(pause.count())) <= 0) break;
    if (session_) {
      const auto taken = session_->write(piece);
      if (taken == 0 || !flush()) break;
      sent += taken;
      continue;
    }
    const auto count = ::send(fd_, piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
  return sent;
}

std::string RawSocket::read_all(std::chrono::milliseconds limit) {
  return read_until(std::string_view(), limit);
}

std::string RawSocket::read_until(std::string_view end, std::chrono::milliseconds limit) {
  std::string out;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (end.empty() || out.find(end) == std::string::npos) {
    char bytes[4096];
    if (session_) {
      std::size_t count = 0;
      const auto step = session_->read(bytes, sizeof bytes, count);
      ended_orderly_ = step == TlsSession::Step::Ended;
      if (step == TlsSession::Step::Done) out.append(bytes, count);
      if (step == TlsSession::Step::Done) continue;
      if (step != TlsSession::Step::WantsMore) break;
    }
    pollfd state{fd_, POLLIN, 0};
    if (::poll(&state, 1, static_cast<int>(left(deadline))) <= 0) break;
    const auto count = ::recv(fd_, bytes, sizeof bytes, 0);
    if (count <= 0) break;
    if (session_) {
      session_->put(std::string_view(bytes, static_cast<std::size_t>(count)));
      continue;
    }
    out.append(bytes, static_cast<std::size_t>(count));
  }
  return out;
}

Listener::Listener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(fd_, 512), 0);
  EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
}

Listener::~Listener() {
  ::close(fd_);
}

RawSocket Listener::accept() {
  pollfd state{fd_, POLLIN, 0};
  EXPECT_EQ(::poll(&state, 1, 5'000), 1) << "nobody came";
  return RawSocket(RawSocket::Accepted{::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)});
}

std::string talk(std::uint16_t port, std::string_view bytes) {
  RawSocket socket(port);
  socket.send(bytes);
  return socket.read_all();
}

int status_in(std::string_view answer) {
  if (!answer.starts_with("HTTP/1.1 ") || answer.size() < 12) return 0;
  return std::stoi(std::string(answer.substr(9, 3)));
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (left(deadline) == 0) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

asio::awaitable<Response> echo(Request request) {
  Response response;
  response.headers.add("Content-Type", "text/plain");
  response.body = request.method + " " + request.path;
  if (!request.body.empty()) response.body += " " + std::to_string(request.body.size());
  co_return response;
}

}  // namespace det::http::test
