#include "det/agent/shim.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "det/agent/files.h"
#include "det/agent/init.h"
#include "det/agent/isolation.h"
#include "det/agent/spool.h"
#include "det/base/json.h"

namespace det::agent {

namespace {

constexpr int kFailed = 1;
constexpr int kNothingToDo = 3;
constexpr int kStallLookMilliseconds = 50;
constexpr std::int64_t kDrainAllowance = 1 << 20;
constexpr int kExitWriteTries = 600;

std::int64_t microseconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * kSecond + time.tv_nsec / 1000;
}

/// One of the task's two streams, from its pipe into its spool.
class Stream {
 public:
  Stream(int pipe, int directory, const char* name, const ShimSpec& spec)
      : pipe_(pipe),
        stall_(static_cast<std::int64_t>(spec.stall_seconds * 1e6)),
        writer_(directory, name, SpoolLimits{1 << 20, spec.spool_bytes_max}),
        buffer_(64 * 1024, '\0') {
    ::fcntl(pipe_, F_SETFL, O_NONBLOCK);
  }
  ~Stream() { close(); }

  bool open() const { return pipe_ >= 0; }
  bool stalled() const { return stalled_since_ != 0 && !dropping_; }
  int pipe() const { return pipe_; }

  /// Moves one buffer's worth. While the spool is full nothing is read, so the
  /// task waits in its write; when that has lasted too long, output is dropped
  /// and counted, so that a task is slowed down by a lost master but never stopped.
  void pump(bool draining) {
    const auto now = microseconds(CLOCK_MONOTONIC);
    if (pending_.empty()) {
      if (!room(draining) && !dropping_) {
        if (stalled_since_ == 0) stalled_since_ = now;
        if (!draining && now - stalled_since_ < stall_) return;
        dropping_ = true;
      }
      const auto got = ::read(pipe_, buffer_.data(), buffer_.size());
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return close();
      if (got < 0) return;
      pending_.assign(buffer_.data(), static_cast<std::size_t>(got));
    }
    if (dropping_ && !room(draining)) return drop();
    if (store()) {
      stalled_since_ = 0;
      dropping_ = false;
      return;
    }
    // The disk refuses: the same patience as with a full spool.
    if (stalled_since_ == 0) stalled_since_ = now;
    if (draining || dropping_ || now - stalled_since_ >= stall_) {
      dropping_ = true;
      drop();
    }
  }

  /// Says at the very end what is still unsaid.
  void finish() {
    if (dropped_ > 0) mark();
    close();
  }

 private:
  bool room(bool draining) { return !writer_.full(draining ? kDrainAllowance : 0); }

  bool store() {
    if (dropped_ > 0 && !mark()) return false;
    if (!writer_.append(Time{microseconds(CLOCK_REALTIME)}, pending_)) return false;
    at_line_start_ = pending_.back() == '\n';
    pending_.clear();
    return true;
  }
  bool mark() {
    const auto text = fmt::format(
        "{}[determined] {} bytes of output were dropped here: nobody had fetched the output before them\n",
        at_line_start_ ? "" : "\n", dropped_);
    if (!writer_.append(Time{microseconds(CLOCK_REALTIME)}, text)) return false;
    at_line_start_ = true;
    dropped_ = 0;
    return true;
  }
  void drop() {
    dropped_ += static_cast<std::int64_t>(pending_.size());
    pending_.clear();
  }
  void close() {
    if (pipe_ >= 0) ::close(pipe_);
    pipe_ = -1;
  }

  int pipe_;
  std::int64_t stall_;
  SpoolWriter writer_;
  std::string buffer_;
  std::string pending_;
  std::int64_t stalled_since_ = 0;  ///< 0: not.
  std::int64_t dropped_ = 0;
  bool dropping_ = false;
  bool at_line_start_ = true;
};

class Shim {
 public:
  Shim(std::filesystem::path directory, ShimSpec spec)
      : directory_(std::move(directory)), spec_(std::move(spec)) {}

  int run(const std::function<int()>& task, const std::vector<struct sigaction>& dispositions) {
    Isolation isolation(spec_);
    int sockets[2];
    int outputs[2];
    int errors[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0 ||
        ::pipe2(outputs, O_CLOEXEC) != 0 || ::pipe2(errors, O_CLOEXEC) != 0)
      return finish(1 << 8, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    const int on = 1;
    ::setsockopt(sockets[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    isolation.before_fork();
    state_.cgroup = isolation.cgroup();
    init_ = ::fork();
    if (init_ == 0) {
      ::close(sockets[0]);
      ::close(outputs[0]);
      ::close(errors[0]);
      ::close(signals_);
      run_init(InitOptions{spec_, isolation, task, dispositions, sockets[1], {outputs[1], errors[1]}});
    }
    if (init_ < 0) {
      const auto reason = fmt::format("cannot start a process: {}", std::strerror(errno));
      end_cgroup(isolation.cgroup());
      return finish(1 << 8, reason);
    }
    ::close(sockets[1]);
    ::close(outputs[1]);
    ::close(errors[1]);
    socket_ = sockets[0];
    supervise(outputs[0], errors[0]);
    ::kill(init_, SIGKILL);
    if (!init_reaped_) ::waitpid(init_, &init_status_, 0);
    end_cgroup(state_.cgroup);
    if (!ended_) {
      status_ = WIFSIGNALED(init_status_) ? WTERMSIG(init_status_) : init_status_;
      reason_ = WIFSIGNALED(init_status_) ? "everything that belongs to the process was killed from outside"
                                          : "the process could not be set up";
      if (status_ == 0) status_ = 1 << 8;
    }
    return finish(status_, reason_);
  }

  /// Before anything else: what an agent needs to find this shim again.
  void introduce() {
    state_.pid = ::getpid();
    state_.startTime = process_start_time(state_.pid).value_or(0);
    write_state();
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : kForwarded) sigaddset(&set, signal);
    sigaddset(&set, SIGCHLD);
    ::sigprocmask(SIG_SETMASK, &set, nullptr);
    signals_ = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  }

 private:
  void write_state() {
    (void)replace_file(directory_ / "shim.json", json::serialize(json::to_json(state_)), false);
  }

  void supervise(int output, int error) {
    const int directory = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    {
      Stream streams[2] = {Stream(output, directory, "stdout", spec_),
                           Stream(error, directory, "stderr", spec_)};
      std::int64_t drain_until = 0;
      while (true) {
        const bool over = ended_ || init_reaped_;
        if (over && drain_until == 0)
          drain_until = microseconds(CLOCK_MONOTONIC) + static_cast<std::int64_t>(spec_.drain_seconds * 1e6);
        if (over && !streams[0].open() && !streams[1].open()) break;
        const auto left = over ? (drain_until - microseconds(CLOCK_MONOTONIC)) / 1000 : -1;
        if (over && left <= 0) break;
        const bool stalled = streams[0].stalled() || streams[1].stalled();
        auto wait = static_cast<int>(left);
        if (stalled) wait = over ? std::min(wait, kStallLookMilliseconds) : kStallLookMilliseconds;
        pollfd polls[4] = {{signals_, POLLIN, 0}, {socket_, POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}};
        for (int i = 0; i < 2; ++i)
          if (streams[i].open() && !(streams[i].stalled() && !over)) polls[2 + i].fd = streams[i].pipe();
        if (::poll(polls, 4, wait) < 0 && errno != EINTR) break;
        if (polls[0].revents != 0) handle_signals();
        if (polls[1].revents != 0) listen();
        for (int i = 0; i < 2; ++i)
          if (streams[i].open() && (polls[2 + i].revents != 0 || streams[i].stalled())) streams[i].pump(over);
      }
      for (auto& stream : streams) stream.finish();
    }
    ::close(directory);
  }

  void handle_signals() {
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo != SIGCHLD) {
        if (!init_reaped_) ::kill(init_, static_cast<int>(info.ssi_signo));
        continue;
      }
      while (true) {
        int status = 0;
        const pid_t pid = ::waitpid(-1, &status, WNOHANG);
        if (pid <= 0) break;
        if (pid != init_) continue;
        init_reaped_ = true;
        init_status_ = status;
        listen();  // Its last words may still be in the socket.
      }
    }
  }

  void listen() {
    while (socket_ >= 0) {
      Word word;
      iovec part{&word, sizeof word};
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      const auto got = ::recvmsg(socket_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got != static_cast<ssize_t>(sizeof word)) {
        ::close(socket_);
        socket_ = -1;
        return;
      }
      word.text[sizeof word.text - 1] = '\0';
      if (word.kind == Word::Isolated) {
        state_.isolation = split_words(word.text);
      } else if (word.kind == Word::TaskStarted) {
        for (auto* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
          if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS) continue;
          ucred credentials{};
          std::memcpy(&credentials, CMSG_DATA(c), sizeof credentials);
          state_.taskPid = credentials.pid;
        }
        write_state();
      } else {
        ended_ = true;
        status_ = word.status;
        reason_ = word.text;
      }
    }
  }

  static std::vector<std::string> split_words(const std::string& text) {
    std::vector<std::string> words;
    for (std::size_t at = 0, end = 0; (end = text.find(' ', at)) != std::string::npos; at = end + 1)
      words.push_back(text.substr(at, end - at));
    return words;
  }

  int finish(int status, std::string reason) {
    ShimExit exit;
    exit.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    exit.code = exit.signal != 0 ? 128 + exit.signal : WEXITSTATUS(status);
    exit.reason = std::move(reason);
    exit.time = Time{microseconds(CLOCK_REALTIME)};
    const auto text = json::serialize(json::to_json(exit));
    for (int i = 0; i < kExitWriteTries; ++i) {
      if (!replace_file(directory_ / "exit.json", text, true)) return 0;
      const timespec pause{1, 0};
      ::nanosleep(&pause, nullptr);
    }
    return kFailed;
  }

  std::filesystem::path directory_;
  ShimSpec spec_;
  ShimState state_;
  int signals_ = -1;
  int socket_ = -1;
  pid_t init_ = -1;
  int init_status_ = 0;
  bool init_reaped_ = false;
  bool ended_ = false;
  int status_ = 0;
  std::string reason_;
};

/// Of what the parent left open only this process' own is kept: nothing.
void leave_parent_behind() {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "det-shim");
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3 && null >= 0; ++fd) ::dup2(null, fd);
  ::close_range(3, ~0U, 0);
  ::umask(022);
  (void)!::chdir("/");  // Only so that no file system is kept busy.
}

}  // namespace

int run_shim(const std::filesystem::path& given, std::function<int()> task) {
  const auto directory = std::filesystem::absolute(given);
  if (::rename((directory / "start").c_str(), (directory / "started").c_str()) != 0) return kNothingToDo;
  std::vector<struct sigaction> dispositions(NSIG);
  for (std::size_t signal = 1; signal < dispositions.size(); ++signal)
    ::sigaction(static_cast<int>(signal), nullptr, &dispositions[signal]);
  leave_parent_behind();
  const auto text = read_small_file(directory / "spec.json");
  auto spec =
      text ? json::parse(*text).and_then([](const json::value& v) { return json::from_json<ShimSpec>(v); })
           : Result<ShimSpec>(tl::unexpected(text.error()));
  Shim shim(directory, spec ? *spec : ShimSpec{});
  shim.introduce();
  if (!spec) {
    ShimExit exit;
    exit.code = kFailed;
    exit.reason = "spec.json: " + spec.error().message();
    exit.time = Time{microseconds(CLOCK_REALTIME)};
    return replace_file(directory / "exit.json", json::serialize(json::to_json(exit)), true) ? kFailed : 0;
  }
  return shim.run(task, dispositions);
}

}  // namespace det::agent
