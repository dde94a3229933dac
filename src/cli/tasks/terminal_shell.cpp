// The client's half of shells: python/determined/exec/shell.py says what the messages mean.

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "det/base/json.h"
#include "det/base/text.h"
#include "det/cli/session/channel.h"
#include "det/cli/session/session.h"
#include "det/cli/tasks/terminal.h"
#include "det/http/message.h"
#include "det/http/routing/status.h"
#include "det/http/server/part_reader.h"
#include "det/http/url.h"
#include "det/http/websocket/websocket.h"

namespace det::cli {
namespace {

namespace websocket = http::websocket;

constexpr std::size_t kPieceBytes = 16 * 1024;
constexpr std::size_t kPendingMax = 256 * 1024;  // of input that the master has not taken yet

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

/// Hands every key on as it is, until it goes.
class RawTerminal {
 public:
  RawTerminal() {
    is_terminal_ = ::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (!is_terminal_) return;
    auto raw = before_;
    ::cfmakeraw(&raw);
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }
  ~RawTerminal() {
    if (is_terminal_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  bool is_terminal_ = false;
  termios before_{};
};

/// Signals as something that can be polled, until it goes.
class Signals {
 public:
  Signals() {
    ::sigemptyset(&mine_);
    for (const int number : {SIGWINCH, SIGTERM, SIGHUP}) ::sigaddset(&mine_, number);
    ::pthread_sigmask(SIG_BLOCK, &mine_, &before_);
    fd_ = std::make_unique<Descriptor>(::signalfd(-1, &mine_, SFD_NONBLOCK | SFD_CLOEXEC));
  }
  ~Signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_->get(); }
  int take() const {
    signalfd_siginfo info{};
    return ::read(fd_->get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  sigset_t mine_{}, before_{};
  std::unique_ptr<Descriptor> fd_;
};

Error lost(const http::Url& url) {
  return Error(ErrorCode::Unavailable, fmt::format("the connection to {} was lost", url.authority()));
}

/// The handshake; what came after it.
Result<std::string> become_websocket(Channel& channel, const http::Url& url, const std::string& task,
                                     const std::string& token) {
  const auto key = websocket::make_key();
  const auto request = fmt::format(
      "GET {}/proxy/{}/ HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: Upgrade\r\n"
      "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n\r\n",
      url.prefix, url_encode(task), url.authority(), token, key);
  channel.say(request);
  if (!channel.flush()) return tl::unexpected(lost(url));
  http::PartReader reply(http::PartReader::Of::Reply);
  std::string unread, body;
  while (!reply.done()) {
    const bool over = channel.receive(unread) == Channel::Heard::End;
    if (over) reply.put_end();
    unread.erase(0, reply.put(unread, body));
    if (!reply.fault().empty() || (over && !reply.done())) return tl::unexpected(lost(url));
  }
  if (reply.status() != 101) {
    if (reply.status() >= 400) return tl::unexpected(http::error_of(reply.status(), body));
    return fail(ErrorCode::FailedPrecondition, "task {} is not a shell; 'det shell list' shows the shells",
                task);
  }
  const auto headers = reply.headers();
  const auto* accepted = headers.find("Sec-WebSocket-Accept");
  if (accepted == nullptr || *accepted != websocket::accept_of(key))
    return fail(ErrorCode::FailedPrecondition, "task {} does not speak WebSocket", task);
  return unread;
}

json::object size_of_terminal() {
  winsize size{};
  const bool known = ::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return {{"columns", known ? size.ws_col : 80}, {"rows", known ? size.ws_row : 24}};
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// One open shell: standard input goes there, and what comes back is shown.
class Terminal {
 public:
  Terminal(Channel& channel, http::Url url) : channel_(channel), url_(std::move(url)) {
    channel_.do_not_wait();
  }

  Result<int> run(const Signals& signals, const std::string& early, const std::string& command) {
    auto wish = size_of_terminal();
    wish["tty"] = ::isatty(STDIN_FILENO) == 1;
    if (const char* term = std::getenv("TERM")) wish["term"] = term;
    if (!command.empty()) wish["command"] = command;
    say(wish);
    reader_.put(early);
    while (true) {
      DET_TRY([[maybe_unused]] const bool shown, show().map([] { return true; }));
      if (exit_) return *exit_;
      std::array<pollfd, 3> waits{};
      const bool sends = channel_.pending() > 0;
      waits[0] = {channel_.descriptor(), static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN), 0};
      waits[1] = {signals.fd(), POLLIN, 0};
      waits[2] = {input_open_ && channel_.pending() < kPendingMax ? STDIN_FILENO : -1, POLLIN, 0};
      if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return tl::unexpected(lost(url_));
      if (waits[1].revents != 0) {
        const int number = signals.take();
        if (number == SIGWINCH) say(size_of_terminal());
        if (number == SIGTERM || number == SIGHUP) return 128 + number;
      }
      if (waits[2].revents != 0) read_input();
      if (!exchange(waits[0].revents)) return tl::unexpected(lost(url_));
    }
  }

 private:
  void say(const json::object& message) {
    channel_.say(websocket::frame(websocket::Kind::Text, json::serialize(message)));
  }

  void read_input() {
    std::array<char, kPieceBytes> bytes;
    const auto count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count > 0) {
      channel_.say(websocket::frame(websocket::Kind::Binary,
                                    std::string_view(bytes.data(), static_cast<std::size_t>(count))));
    } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
      input_open_ = false;
      say({{"end_of_input", true}});
    }
  }

  /// Sends and receives what is possible without waiting. False: the connection is lost.
  bool exchange(short events) {
    if (!channel_.flush()) return false;
    if ((events & (POLLIN | POLLHUP | POLLERR)) == 0) return true;
    std::string arrived;
    const auto heard = channel_.receive(arrived);
    reader_.put(arrived);
    return heard != Channel::Heard::End;
  }

  Result<void> show() {
    while (!exit_) {
      DET_TRY(const auto message, reader_.next());
      if (!message) return {};
      const auto& payload = message->payload;
      if (message->kind == websocket::Kind::Binary && !payload.empty()) {
        if (!write_all(payload.front() == 2 ? STDERR_FILENO : STDOUT_FILENO,
                       std::string_view(payload).substr(1)))
          return fail(ErrorCode::Unavailable, "cannot write to standard output");
      } else if (message->kind == websocket::Kind::Text) {
        const auto said = json::parse(payload);
        const auto* code = said && said->is_object() ? said->get_object().if_contains("exit") : nullptr;
        if (code != nullptr) exit_ = static_cast<int>(json::to_int64(*code).value_or(1));
      } else if (message->kind == websocket::Kind::Ping) {
        channel_.say(websocket::frame(websocket::Kind::Pong, payload));
      } else if (message->kind == websocket::Kind::Close) {
        return tl::unexpected(lost(url_));
      }
    }
    return {};
  }

  Channel& channel_;
  http::Url url_;
  websocket::Reader reader_;
  bool input_open_ = true;
  std::optional<int> exit_;
};

}  // namespace

Result<int> open_shell(Session& session, const std::string& task_id, const std::string& command) {
  // Who is logged in no more is asked again by a call as any other.
  DET_TRY([[maybe_unused]] const auto me, session.get("/api/v1/me"));
  DET_TRY(const auto token, session.token());
  DET_TRY(const auto address, session.master_url());
  DET_TRY(const auto url, http::parse_url(address));
  DET_TRY(const auto channel, Channel::open(url));
  DET_TRY(const auto early, become_websocket(*channel, url, task_id, token));
  session.console().flush();
  const Signals signals;
  const RawTerminal raw;
  Terminal terminal(*channel, url);
  return terminal.run(signals, early, command);
}

}  // namespace det::cli
