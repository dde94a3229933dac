#include "det/cli/session/channel.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace det::cli {

using Step = http::TlsSession::Step;

Result<std::unique_ptr<Channel>> Channel::open(const http::Url& url) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &found) != 0)
    return fail(ErrorCode::Unavailable, "cannot resolve the host name of {}", url.authority());
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  for (const auto* at = found; at != nullptr; at = at->ai_next) {
    const int socket = ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (socket < 0) continue;
    std::unique_ptr<Channel> channel(new Channel(socket));
    if (::connect(socket, at->ai_addr, at->ai_addrlen) != 0) continue;
    if (url.tls) {
      DET_TRY([[maybe_unused]] const auto done, channel->shake_hands(url).map([] { return true; }));
    }
    return channel;
  }
  return fail(ErrorCode::Unavailable, "{} refused the connection", url.authority());
}

Channel::~Channel() {
  ::close(socket_);
}

void Channel::do_not_wait() {
  ::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL) | O_NONBLOCK);
}

Result<void> Channel::shake_hands(const http::Url& url) {
  DET_TRY(auto trust, http::TlsTrust::load(http::Trust::from_environment()));
  session_ = std::make_unique<http::TlsSession>(std::move(trust), url.host);
  auto step = Step::WantsMore;
  std::array<char, 4096> bytes;
  while ((step = session_->handshake()) == Step::WantsMore) {
    const auto count = flush() ? ::recv(socket_, bytes.data(), bytes.size(), 0) : 0;
    if (count <= 0) return fail(ErrorCode::Unavailable, "{} closed the connection", url.authority());
    session_->put(std::string_view(bytes.data(), static_cast<std::size_t>(count)));
  }
  flush();
  if (step == Step::Done) return {};
  return failed_precondition("{} {}", url.authority(), session_->fault());
}

void Channel::say(std::string_view bytes) {
  if (!session_) {
    pending_ += bytes;
    return;
  }
  while (!bytes.empty()) {
    const auto count = session_->write(bytes);
    if (count == 0) return;  // over: `receive` finds it out
    bytes.remove_prefix(count);
  }
  pending_ += session_->take_output();
}

bool Channel::flush() {
  if (session_) pending_ += session_->take_output();
  while (!pending_.empty()) {
    const auto sent = ::send(socket_, pending_.data(), pending_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return true;
    // What the other side said before it closed may be there to read.
    if (sent <= 0) return errno == EPIPE || errno == ECONNRESET;
    pending_.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

Channel::Heard Channel::receive(std::string& to) {
  std::array<char, 16 * 1024> bytes;
  const auto count = ::recv(socket_, bytes.data(), bytes.size(), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR ? Heard::Nothing : Heard::End;
  if (count == 0) return Heard::End;
  const std::string_view arrived(bytes.data(), static_cast<std::size_t>(count));
  if (!session_) {
    to += arrived;
    return Heard::Something;
  }
  session_->put(arrived);
  const auto before = to.size();
  auto step = Step::Done;
  while (step == Step::Done) {
    std::size_t read = 0;
    step = session_->read(bytes.data(), bytes.size(), read);
    to.append(bytes.data(), read);
  }
  if (to.size() > before) return Heard::Something;
  return step == Step::WantsMore ? Heard::Nothing : Heard::End;
}

}  // namespace det::cli
