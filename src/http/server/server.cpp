#include "det/http/server/server.h"

#include <sys/resource.h>
#include "det/logging/log.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <ctime>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "det/http/server/connection.h"
#include "det/http/tls/tcp_stream.h"

namespace det::http {

namespace {

constexpr auto kSweep = std::chrono::milliseconds(250);
constexpr auto kAfterCancel = std::chrono::milliseconds(1'500);
constexpr rlim_t kDescriptorsKept = 128;  // for databases, files and our own connections

std::string http_date() {
  const auto now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[40];
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return text;
}

std::size_t connections_possible(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  const auto free =
      limit.rlim_cur > 2 * kDescriptorsKept ? limit.rlim_cur - kDescriptorsKept : limit.rlim_cur / 2;
  return std::min(wanted, static_cast<std::size_t>(free));
}

std::string bind_problem(const boost::system::error_code& failure, const std::string& address, unsigned port,
                         const std::string& flag) {
  if (failure == asio::error::address_in_use)
    return fmt::format("port {} on {} is in use by another program; choose another with {}", port, address,
                       flag);
  if (failure == asio::error::access_denied)
    return fmt::format("this user cannot open port {} on {}; choose a port above 1023 with {}", port, address,
                       flag);
  if (failure == boost::system::errc::address_not_available)
    return fmt::format("this machine has no address {}, so port {} cannot be opened there", address, port);
  return fmt::format("port {} on {} cannot be opened: {}", port, address, failure.message());
}

}  // namespace

/// The listener and its connections. Kept alive by their coroutines.
class Service : public std::enable_shared_from_this<Service> {
 public:
  Service(asio::any_io_executor executor, Handler handler, ServerOptions options)
      : executor_(executor),
        acceptor_(executor),
        sweep_(executor),
        changed_(executor, Clock::time_point::max()),
        settings_(std::make_shared<ConnectionSettings>()) {
    options.connections_max = connections_possible(options.connections_max);
    settings_->handler = std::move(handler);
    settings_->options = std::move(options);
    settings_->date = http_date();
  }

  Result<void> listen(const std::string& address, std::uint16_t port);
  asio::awaitable<void> stop(std::chrono::milliseconds grace);
  void close();
  std::uint16_t port() const { return port_; }
  std::size_t connections() const { return connections_.size(); }
  void use(std::shared_ptr<const TlsIdentity> tls) { settings_->options.tls = std::move(tls); }

 private:
  asio::awaitable<void> accept();
  asio::awaitable<void> keep_time();
  asio::awaitable<void> until_empty(std::chrono::milliseconds limit);
  void serve(tcp::socket socket);
  std::optional<std::string> counted(const tcp::socket& socket) const;
  void expect_handshake(const std::shared_ptr<Connection>& connection);

  // Runs `member` until its end, and keeps us alive that long.
  void spawn(asio::awaitable<void> task) {
    asio::co_spawn(executor_, std::move(task), [self = shared_from_this()](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
  }

  asio::any_io_executor executor_;
  tcp::acceptor acceptor_;
  asio::steady_timer sweep_;
  asio::steady_timer changed_;  // cancelled when a connection has ended
  std::shared_ptr<ConnectionSettings> settings_;
  std::set<std::shared_ptr<Connection>> connections_;
  std::deque<std::weak_ptr<Connection>> greeting_;  // the oldest first; some are through already
  std::map<std::string, std::size_t> per_address_;
  std::uint16_t port_ = 0;
};

Result<void> Service::listen(const std::string& address, std::uint16_t port) {
  boost::system::error_code failure;
  const auto host = address == "localhost" ? std::string("127.0.0.1") : address;
  const auto parsed = asio::ip::make_address(host, failure);
  if (failure)
    return invalid_argument(
        "\"{}\" is not an address to listen on; use an IP address such as 127.0.0.1 or 0.0.0.0", address);
  const tcp::endpoint endpoint(parsed, port);
  acceptor_.open(endpoint.protocol(), failure);
  if (!failure) acceptor_.set_option(tcp::acceptor::reuse_address(true), failure);
  if (!failure) acceptor_.bind(endpoint, failure);
  if (!failure) acceptor_.listen(4096, failure);
  if (!failure) port_ = acceptor_.local_endpoint(failure).port();
  if (failure) {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    const auto& flag = settings_->options.port_flag;
    return tl::unexpected(Error(ErrorCode::Unavailable, bind_problem(failure, address, port, flag)));
  }
  spawn(accept());
  spawn(keep_time());
  return {};
}

asio::awaitable<void> Service::accept() {
  while (acceptor_.is_open()) {
    if (connections_.size() >= settings_->options.connections_max) {
      co_await changed_.async_wait(kToResult);
      continue;
    }
    auto [failure, socket] = co_await acceptor_.async_accept(kToResult);
    if (!failure) {
      serve(std::move(socket));
    } else if (failure == asio::error::operation_aborted || !acceptor_.is_open()) {
      co_return;
    } else if (failure != asio::error::connection_aborted) {
      logging::warn("cannot accept connections on port {}: {}", port_, failure.message());
      asio::steady_timer pause(executor_, kSweep);  // descriptors are short: let some close
      co_await pause.async_wait(kToResult);
    }
  }
}

// Whether one more of this address is welcome; where it is not counted: empty.
std::optional<std::string> Service::counted(const tcp::socket& socket) const {
  boost::system::error_code gone;
  const auto address = socket.remote_endpoint(gone).address();
  if (gone || settings_->options.connections_per_address_max == 0) return std::string();
  if (address == asio::ip::address_v4::loopback() || address == asio::ip::address_v6::loopback())
    return std::string();
  auto name = address.to_string();
  const auto found = per_address_.find(name);
  if (found != per_address_.end() && found->second >= settings_->options.connections_per_address_max)
    return std::nullopt;
  return name;
}

void Service::serve(tcp::socket socket) {
  const auto address = counted(socket);
  if (!address) return;  // closes it
  if (!address->empty()) ++per_address_[*address];
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const auto connection = std::make_shared<Connection>(std::move(socket), settings_);
  connections_.insert(connection);
  if (settings_->options.tls) expect_handshake(connection);
  asio::co_spawn(executor_, connection->run(),
                 [self = shared_from_this(), connection, address = *address](std::exception_ptr failure) {
                   self->connections_.erase(connection);
                   if (const auto found = self->per_address_.find(address);
                       found != self->per_address_.end() && --found->second == 0)
                     self->per_address_.erase(found);
                   self->changed_.cancel();
                   if (failure) std::rethrow_exception(failure);
                 });
}

// A flood of clients that never finish their handshake costs only itself: the newest are heard.
void Service::expect_handshake(const std::shared_ptr<Connection>& connection) {
  greeting_.push_back(connection);
  if (greeting_.size() <= settings_->options.handshakes_max) return;
  std::erase_if(greeting_, [&](const auto& weak) {
    const auto found = weak.lock();
    return !found || (found != connection && !found->is_greeting());
  });
  while (greeting_.size() > settings_->options.handshakes_max) {
    if (const auto oldest = greeting_.front().lock()) oldest->close();
    greeting_.pop_front();
  }
}

asio::awaitable<void> Service::keep_time() {
  while (acceptor_.is_open() || !connections_.empty()) {
    sweep_.expires_after(kSweep);
    co_await sweep_.async_wait(kToResult);
    settings_->date = http_date();
    const auto now = Clock::now();
    for (const auto& connection : connections_) connection->sweep(now);
  }
}

asio::awaitable<void> Service::until_empty(std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  while (!connections_.empty() && Clock::now() < end) {
    asio::steady_timer pause(executor_, std::min(end, Clock::now() + std::chrono::milliseconds(5)));
    co_await pause.async_wait(asio::use_awaitable);
  }
}

asio::awaitable<void> Service::stop(std::chrono::milliseconds grace) {
  const auto self = shared_from_this();
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  for (const auto& connection : connections_) connection->finish();
  co_await until_empty(grace);
  settings_->stopping = true;
  for (const auto& connection : connections_) connection->abort();
  co_await until_empty(kAfterCancel);
  for (const auto& connection : connections_) connection->close();
  co_await until_empty(kSweep);
  if (!connections_.empty())
    logging::error("{} requests are still running although the server stops", connections_.size());
  sweep_.cancel();
  changed_.cancel();
}

void Service::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  settings_->stopping = true;
  for (const auto& connection : connections_) {
    connection->abort();
    connection->close();
  }
  sweep_.cancel();
  changed_.cancel();
}

Server::Server(asio::any_io_executor executor, Handler handler, ServerOptions options)
    : service_(std::make_shared<Service>(std::move(executor), std::move(handler), std::move(options))) {}

Server::~Server() {
  service_->close();
}

Result<void> Server::listen(const std::string& address, std::uint16_t port) {
  return service_->listen(address, port);
}
std::uint16_t Server::port() const {
  return service_->port();
}
void Server::use(std::shared_ptr<const TlsIdentity> tls) {
  service_->use(std::move(tls));
}
std::size_t Server::connections() const {
  return service_->connections();
}
asio::awaitable<void> Server::stop(std::chrono::milliseconds grace) {
  return service_->stop(grace);
}

}  // namespace det::http
