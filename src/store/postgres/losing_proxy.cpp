#include "det/store/postgres/losing_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

namespace det::store {

namespace {

sockaddr_in local(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// Nothing: the connection is over.
std::string receive(int from) {
  std::array<char, 65'536> bytes;
  const auto count = ::recv(from, bytes.data(), bytes.size(), 0);
  return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(0, count))};
}

bool send_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

LosingProxy::LosingProxy(int server_port) : server_port_(server_port) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = local(0);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("the proxy cannot listen");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

LosingProxy::~LosingProxy() {
  stopping_ = true;
  thread_.join();
  for (const auto& [client, server, writes] : pairs_) {
    ::close(client);
    ::close(server);
  }
  ::close(listener_);
}

void LosingProxy::run() {
  while (!stopping_) {
    std::vector<pollfd> waited{{listener_, POLLIN, 0}};
    for (const auto& [client, server, writes] : pairs_) {
      waited.push_back({client, POLLIN, 0});
      waited.push_back({server, POLLIN, 0});
    }
    ::poll(waited.data(), waited.size(), 20);
    std::vector<Pair> kept;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      auto& pair = pairs_[i];
      const bool fine = (waited[2 * i + 1].revents == 0 || to_server(pair)) &&
                        (waited[2 * i + 2].revents == 0 || to_client(pair));
      if (fine) {
        kept.push_back(pair);
      } else {
        ::close(pair.client);
        ::close(pair.server);
      }
    }
    pairs_ = std::move(kept);
    if (waited[0].revents == 0) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto address = local(server_port_);
    const int one = 1;
    for (const int side : {client, server}) ::setsockopt(side, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      pairs_.push_back({client, server});
    } else {
      ::close(client);
      ::close(server);
    }
  }
}

// Whether the connection stays open.
bool LosingProxy::to_client(const Pair& pair) {
  auto answer = receive(pair.server);
  constexpr std::string_view kVersion("server_version\0", 15);
  if (const auto at = answer.find(kVersion); !version_.empty() && at != std::string::npos)
    answer.replace(at + kVersion.size(), version_.size(), version_);
  return !answer.empty() && send_all(pair.client, answer);
}

bool LosingProxy::to_server(Pair& pair) {
  const auto sent = receive(pair.client);
  if (sent.empty() || !send_all(pair.server, sent)) return false;
  pair.writes |= sent.find("SET commit_number") != std::string::npos;
  if (!pair.writes || !losing_ || sent.find("COMMIT") == std::string::npos) return true;
  pollfd answer{pair.server, POLLIN, 0};
  ::poll(&answer, 1, 10'000);
  losing_ = false;
  return false;
}

}  // namespace det::store
