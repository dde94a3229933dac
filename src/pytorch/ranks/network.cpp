#include "det/pytorch/ranks/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

namespace det::pytorch {

namespace {

constexpr int kBacklog = 1024;
constexpr const char* kAnyPort = "9";  // nothing is sent

using Found = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// Closes itself.
class Socket {
 public:
  Socket(int family, int type) : fd_(::socket(family, type | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Result<Found> look_up(const std::string& host, const char* port, int type) {
  addrinfo hints{};
  hints.ai_socktype = type;
  addrinfo* list = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), port, &hints, &list); error != 0)
    return fail(ErrorCode::Unavailable, "cannot resolve {}: {}", host, ::gai_strerror(error));
  return Found(list, &::freeaddrinfo);
}

std::string text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes =
      address->sa_family == AF_INET6
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr)
          : static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr);
  if (::inet_ntop(address->sa_family, bytes, text.data(), text.size()) == nullptr) return {};
  return text.data();
}

/// Name and IPv4 address of each interface.
std::vector<std::pair<std::string, std::string>> interfaces() {
  std::vector<std::pair<std::string, std::string>> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  for (const auto* at = list; at != nullptr; at = at->ifa_next)
    if (at->ifa_addr != nullptr &&
        (at->ifa_addr->sa_family == AF_INET || at->ifa_addr->sa_family == AF_INET6))
      found.emplace_back(at->ifa_name, text_of(at->ifa_addr));
  ::freeifaddrs(list);
  return found;
}

std::uint16_t port_of(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

bool bind_and_listen(int socket, const sockaddr* address, socklen_t size) {
  return ::bind(socket, address, size) == 0 && ::listen(socket, kBacklog) == 0;
}

}  // namespace

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

Result<std::string> source_address(const std::string& host) {
  auto found = look_up(host, kAnyPort, SOCK_DGRAM);
  if (!found) return tl::unexpected(std::move(found).error());
  const auto* target = found->get();
  const Socket probe(target->ai_family, SOCK_DGRAM);
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (probe.fd() < 0 || ::connect(probe.fd(), target->ai_addr, target->ai_addrlen) != 0 ||
      ::getsockname(probe.fd(), reinterpret_cast<sockaddr*>(&own), &size) != 0)
    return fail(ErrorCode::Unavailable, "no route to {}: {}", host, std::strerror(errno));
  return text_of(reinterpret_cast<sockaddr*>(&own));
}

std::string interface_towards(const std::string& host) {
  const auto source = source_address(host);
  if (!source) return {};
  if (is_loopback(*source)) return "lo";
  for (const auto& [name, address] : interfaces())
    if (address == *source) return name;
  return {};
}

Result<std::vector<std::string>> own_addresses(const std::string& host) {
  auto first = source_address(host);
  if (!first) return tl::unexpected(std::move(first).error());
  std::vector<std::string> all{*first};
  if (!is_loopback(*first)) return all;
  for (const auto& [name, address] : interfaces())
    if (!is_loopback(address) && address.find(':') == std::string::npos) all.push_back(address);
  return all;
}

std::string machine_name() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::ostringstream text;
  text << file.rdbuf();
  std::error_code error;
  const auto network = std::filesystem::read_symlink("/proc/self/ns/net", error);
  const auto whole = text.str() + network.string();
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(whole.data()), whole.size());
  std::array<char, 17> hex{};
  sodium_bin2hex(hex.data(), hex.size(), digest.data(), 8);
  return hex.data();
}

std::string address_text(const std::string& host, std::uint16_t port) {
  auto text = host.find(':') != std::string::npos ? fmt::format("[{}]:{}", host, port)
                                                  : fmt::format("{}:{}", host, port);
  if (is_loopback(host)) text += "@" + machine_name();
  return text;
}

Result<Address> parse_address(const std::string& text) {
  const auto at = text.find('@');
  const auto place = text.substr(0, at);
  const auto colon = place.rfind(':');
  Address address;
  if (colon != std::string::npos) {
    address.host = place.substr(0, colon);
    if (address.host.starts_with('[') && address.host.ends_with(']'))
      address.host = address.host.substr(1, address.host.size() - 2);
    const auto* end = place.data() + place.size();
    if (std::from_chars(place.data() + colon + 1, end, address.port).ptr != end) address.port = 0;
  }
  if (address.host.empty() || address.port == 0)
    return invalid_argument("the address of rank 0 is \"{}\"; it must be host:port", text);
  address.here = at == std::string::npos || text.substr(at + 1) == machine_name();
  return address;
}

Result<Listener> listen_for_ranks(bool outward) {
  if (outward) {
    Socket both(AF_INET6, SOCK_STREAM);
    const int off = 0;
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    if (both.fd() >= 0 && ::setsockopt(both.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0 &&
        bind_and_listen(both.fd(), reinterpret_cast<sockaddr*>(&any), sizeof any)) {
      const auto port = port_of(both.fd());
      return Listener{.socket = both.release(), .port = port};
    }
  }
  Socket one(AF_INET, SOCK_STREAM);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(outward ? INADDR_ANY : INADDR_LOOPBACK);
  if (one.fd() < 0 || !bind_and_listen(one.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address))
    return fail(ErrorCode::Unavailable, "cannot listen for the other ranks: {}", std::strerror(errno));
  const auto port = port_of(one.fd());
  return Listener{.socket = one.release(), .port = port};
}

bool answers(const std::string& host, std::uint16_t port, int milliseconds) {
  const auto found = look_up(host, std::to_string(port).c_str(), SOCK_STREAM);
  if (!found) return false;
  for (const auto* at = found->get(); at != nullptr; at = at->ai_next) {
    const Socket probe(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK);
    if (probe.fd() < 0) continue;
    if (::connect(probe.fd(), at->ai_addr, at->ai_addrlen) == 0) return true;
    pollfd ready{.fd = probe.fd(), .events = POLLOUT, .revents = 0};
    int error = 0;
    socklen_t size = sizeof error;
    if (errno == EINPROGRESS && ::poll(&ready, 1, milliseconds) == 1 &&
        ::getsockopt(probe.fd(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
      return true;
  }
  return false;
}

}  // namespace det::pytorch
