#include "det/cli/tasks/tunnel.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <csignal>
#include <memory>
#include <thread>

#include "det/cli/session/channel.h"
#include "det/http/message.h"
#include "det/http/routing/status.h"
#include "det/http/server/part_reader.h"
#include "det/http/websocket/websocket.h"

namespace det::cli {
namespace {

namespace websocket = http::websocket;

constexpr std::size_t kTunnelPiece = 64 * 1024;
constexpr std::size_t kPipePiece = 4096;           // what a pipe that can be written takes without waiting
constexpr std::size_t kPendingBytes = 256 * 1024;  // in a direction, before its source is read again

Error lost(const http::Url& url) {
  return Error(ErrorCode::Unavailable, fmt::format("the connection to {} was lost", url.authority()));
}

/// Asks for the WebSocket; returns what came after the answer.
Result<std::string> become_websocket(Channel& channel, const TunnelEnd& end) {
  const auto& url = end.master;
  const auto key = websocket::make_key();
  auto request = fmt::format(
      "GET {}/proxy/{}/ HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n",
      url.prefix, url_encode(end.service), url.authority(), key);
  if (!end.token.empty()) request += fmt::format("Authorization: Bearer {}\r\n", end.token);
  channel.say(request + "\r\n");
  if (!channel.flush()) return tl::unexpected(lost(url));
  http::PartReader reply(http::PartReader::Of::Reply);
  std::string unread, body;
  while (!reply.done()) {
    const bool over = channel.receive(unread) == Channel::Heard::End;
    if (over) reply.put_end();
    unread.erase(0, reply.put(unread, body));
    if (!reply.fault().empty() || (over && !reply.done())) return tl::unexpected(lost(url));
  }
  if (reply.status() >= 400) return tl::unexpected(http::error_of(reply.status(), body));
  const auto headers = reply.headers();
  const auto* accepted = headers.find("Sec-WebSocket-Accept");
  if (reply.status() != 101 || accepted == nullptr || *accepted != websocket::accept_of(key))
    return failed_precondition("'{}' is neither a shell nor a TCP port of a task", end.service);
  return unread;
}

class Tunnel {
 public:
  Tunnel(Channel& channel, const http::Url& url, int in, int out)
      : channel_(channel), url_(url), in_(in), out_(out) {
    channel_.do_not_wait();
  }

  Result<void> run(const std::string& early) {
    reader_.put(early);
    while (true) {
      DET_TRY([[maybe_unused]] const bool taken, take().map([] { return true; }));
      if (closed_ && unwritten_.empty()) return {};
      std::array<pollfd, 3> waits{};
      short wanted = channel_.pending() > 0 ? POLLOUT : 0;
      if (!closed_ && unwritten_.size() < kPendingBytes) wanted |= POLLIN;
      waits[0] = {wanted != 0 ? channel_.descriptor() : -1, wanted, 0};
      waits[1] = {in_open_ && !closed_ && channel_.pending() < kPendingBytes ? in_ : -1, POLLIN, 0};
      waits[2] = {unwritten_.empty() ? -1 : out_, POLLOUT, 0};
      if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return tl::unexpected(lost(url_));
      if (waits[1].revents != 0) read_input();
      if (waits[2].revents != 0 && !write_output()) return {};  // nobody reads any more
      if (!channel_.flush()) return tl::unexpected(lost(url_));
      if ((waits[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
        std::string arrived;
        const auto heard = channel_.receive(arrived);
        reader_.put(arrived);
        if (heard == Channel::Heard::End) {
          DET_TRY([[maybe_unused]] const bool last, take().map([] { return true; }));
          if (!closed_) return tl::unexpected(lost(url_));
        }
      }
    }
  }

 private:
  void read_input() {
    std::array<char, kTunnelPiece> bytes;
    const auto count = ::read(in_, bytes.data(), bytes.size());
    if (count > 0) {
      channel_.say(websocket::frame(websocket::Kind::Binary,
                                    std::string_view(bytes.data(), static_cast<std::size_t>(count))));
    } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
      in_open_ = false;
      channel_.say(websocket::frame(websocket::Kind::Close, std::string_view("\x03\xE8", 2)));
    }
  }

  bool write_output() {
    const auto count = ::write(out_, unwritten_.data(), std::min(unwritten_.size(), kPipePiece));
    if (count > 0) unwritten_.erase(0, static_cast<std::size_t>(count));
    return count > 0 || errno == EINTR || errno == EAGAIN;
  }

  /// What has arrived as whole messages.
  Result<void> take() {
    while (!closed_) {
      DET_TRY(auto message, reader_.next());
      if (!message) return {};
      if (message->kind == websocket::Kind::Binary || message->kind == websocket::Kind::Text)
        unwritten_ += message->payload;
      else if (message->kind == websocket::Kind::Ping)
        channel_.say(websocket::frame(websocket::Kind::Pong, message->payload));
      else if (message->kind == websocket::Kind::Close)
        closed_ = true;
    }
    return {};
  }

  Channel& channel_;
  const http::Url& url_;
  int in_, out_;
  websocket::Reader reader_;
  std::string unwritten_;
  bool in_open_ = true;
  bool closed_ = false;  // the service says no more
};

/// "8000" and "8000:80": where to listen, and the task's port.
struct Listening {
  std::uint16_t local = 0;
  std::string service;
  int socket = -1;
};

Result<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failure != std::errc() || end != text.data() + text.size() || port == 0)
    return invalid_argument("'{}' is not a port; use a number from 1 to 65535", text);
  return port;
}

Result<Listening> listen_as(const std::string& wish, const std::string& service) {
  const auto colon = wish.find(':');
  Listening listening;
  DET_TRY(listening.local, port_of(std::string_view(wish).substr(0, colon)));
  listening.service = service;
  if (colon != std::string::npos) {
    DET_TRY(const auto remote, port_of(std::string_view(wish).substr(colon + 1)));
    listening.service = fmt::format("{}:{}", service.substr(0, service.find(':')), remote);
  }
  listening.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(listening.socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(listening.local);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listening.socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listening.socket, SOMAXCONN) != 0)
    return failed_precondition("cannot listen on port {} of this machine: {}; choose another port",
                               listening.local, std::generic_category().message(errno));
  return listening;
}

/// Serves the connections to one port, each on a thread of its own, until the process ends.
void accept_all(const Listening& listening, TunnelEnd end) {
  end.service = listening.service;
  while (true) {
    const int socket = ::accept4(listening.socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) continue;
    std::thread([end, socket] {
      if (const auto done = run_tunnel(end, socket, socket); !done)
        fmt::print(stderr, "{}: {}\n", end.service, done.error().message());
      ::close(socket);
    }).detach();
  }
}

}  // namespace

Result<void> run_tunnel(const TunnelEnd& end, int in, int out) {
  DET_TRY(const auto channel, Channel::open(end.master));
  DET_TRY(const auto early, become_websocket(*channel, end));
  return Tunnel(*channel, end.master, in, out).run(early);
}

Result<PublishedPorts> PublishedPorts::listen(const std::vector<std::string>& wishes) {
  PublishedPorts published;
  for (const auto& wish : wishes) {
    const auto colon = wish.find(':');
    DET_TRY(const auto remote, port_of(std::string_view(wish).substr(colon + 1)));  // npos + 1 is 0
    DET_TRY(const auto listening, listen_as(wish, ""));
    published.ports_.push_back({listening.local, remote, listening.socket});
  }
  return published;
}

Result<void> PublishedPorts::connect(Session& session, const std::string& task) const {
  if (ports_.empty()) return {};
  std::signal(SIGPIPE, SIG_IGN);
  TunnelEnd end;
  DET_TRY([[maybe_unused]] const auto me, session.get("/api/v1/me"));
  DET_TRY(const auto address, session.master_url());
  DET_TRY(end.master, http::parse_url(address));
  DET_TRY(end.token, session.token());
  for (const auto& port : ports_) {
    const Listening listening{port.local, fmt::format("{}:{}", task, port.remote), port.socket};
    session.console().line("127.0.0.1:{} is connected to {}", listening.local, listening.service);
    std::thread([listening, end] { accept_all(listening, end); }).detach();
  }
  session.console().flush();
  return {};
}

Action define_tunnel(CLI::App& app) {
  struct Options {
    std::string service;
    std::vector<std::string> listeners;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("service", options->service,
                 "ID of a shell, or ID:PORT of a task whose proxy_ports have that port")
      ->type_name("ID[:PORT]")
      ->required();
  app.add_option(
         "--listener", options->listeners,
         "Listen on this port of this machine, and connect to that port of the task; may be repeated. "
         "Without it, the tunnel is standard input and output")
      ->type_name("PORT[:TASK_PORT]")
      ->allow_extra_args(false);
  return [options](Session& session) -> Result<int> {
    std::signal(SIGPIPE, SIG_IGN);
    TunnelEnd end;
    DET_TRY(const auto address, session.master_url());
    DET_TRY(end.master, http::parse_url(address));
    end.service = options->service;
    std::vector<Listening> all;
    bool is_port = end.service.find(':') != std::string::npos;
    for (const auto& wish : options->listeners) {
      DET_TRY(auto listening, listen_as(wish, end.service));
      is_port = is_port || listening.service.find(':') != std::string::npos;
      all.push_back(std::move(listening));
    }
    if (is_port) {  // a shell asks for its key instead
      DET_TRY([[maybe_unused]] const auto me, session.get("/api/v1/me"));
      DET_TRY(end.token, session.token());
    }
    if (all.empty()) {
      DET_TRY([[maybe_unused]] const bool done,
              run_tunnel(end, STDIN_FILENO, STDOUT_FILENO).map([] { return true; }));
      return 0;
    }
    for (const auto& listening : all)
      session.console().line("127.0.0.1:{} is connected to {}", listening.local, listening.service);
    session.console().flush();
    for (std::size_t i = 1; i < all.size(); ++i)
      std::thread([one = all[i], end] { accept_all(one, end); }).detach();
    accept_all(all.front(), end);
    return 0;
  };
}

}  // namespace det::cli
