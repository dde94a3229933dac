// What a shim does while its task runs: output, signals, lease, the end by force.
#include "det/agent/shim/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "det/agent/files.h"
#include "det/agent/shim/init.h"
#include "det/base/json.h"

namespace det::agent {

namespace {

constexpr int kStallLookMilliseconds = 50;
constexpr std::int64_t kLastWords = kSecond;  // How long a task that is ended by force may say where it is.
constexpr std::int64_t kLeaseMargin = kSecond / 2;  // The agent, if it lives, comes first.
constexpr std::int64_t kLeaseLook = 5 * kSecond;    // While nobody asks for a lease.

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0, end = 0; (end = text.find(' ', at)) != std::string::npos; at = end + 1)
    words.push_back(text.substr(at, end - at));
  return words;
}

}  // namespace

void Shim::supervise() {
  // Until the next task: what is to be said of them at last may have to wait for room on the disk.
  spools_ = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  streams_.emplace_back(::fcntl(pipes_[0], F_DUPFD_CLOEXEC, 0), spools_, "stdout", spec_);
  streams_.emplace_back(::fcntl(pipes_[1], F_DUPFD_CLOEXEC, 0), spools_, "stderr", spec_);
  std::int64_t drain_until = 0;
  while (true) {
    const bool over = ended_ || init_reaped_ || done_;
    if (over && drain_until == 0)
      drain_until = microseconds(CLOCK_MONOTONIC) + static_cast<std::int64_t>(spec_.drain_seconds * 1e6);
    if (over && !streams_[0].open() && !streams_[1].open()) break;
    const auto left = over ? (drain_until - microseconds(CLOCK_MONOTONIC)) / 1000 : -1;
    if (over && left <= 0) break;
    const bool stalled = streams_[0].stalled() || streams_[1].stalled();
    auto wait = done_ && !stalled ? 0 : static_cast<int>(left);
    if (force_at_ != 0 && !over) {
      const auto rest = force_at_ - microseconds(CLOCK_MONOTONIC);
      if (rest <= 0) {
        ::kill(init_, SIGKILL);
        force_at_ = 0;
      } else {
        wait = static_cast<int>(rest / 1000) + 1;
      }
    }
    if (stalled) wait = wait >= 0 ? std::min(wait, kStallLookMilliseconds) : kStallLookMilliseconds;
    pollfd polls[6] = {{signals_, POLLIN, 0},
                       {socket_, POLLIN, 0},
                       {-1, POLLIN, 0},
                       {-1, POLLIN, 0},
                       {over ? -1 : lease_timer_, POLLIN, 0},
                       {over ? -1 : channel_.descriptor(), POLLIN, 0}};
    for (int i = 0; i < 2; ++i)
      if (streams_[i].open() && !(streams_[i].stalled() && !over)) polls[2 + i].fd = streams_[i].pipe();
    const int ready = ::poll(polls, 6, wait);
    if (ready < 0 && errno != EINTR) break;
    if (ready == 0 && done_ && !stalled) break;  // The pipes are empty, and nobody writes.
    if (polls[0].revents != 0) handle_signals();
    if (polls[1].revents != 0) listen();
    if (polls[4].revents != 0) lease_rang();
    if (polls[5].revents != 0) done_ = channel_.heard_done();
    for (int i = 0; i < 2; ++i)
      if (streams_[i].open() && (polls[2 + i].revents != 0 || streams_[i].stalled())) streams_[i].pump(over);
  }
}

bool Shim::linger(int agent, std::int64_t longest) {
  const auto until = microseconds(CLOCK_MONOTONIC) + longest;
  pollfd polls[5] = {{agent, POLLIN, 0},
                     {signals_, POLLIN, 0},
                     {socket_, POLLIN, 0},
                     {pipes_[0], POLLIN, 0},
                     {pipes_[1], POLLIN, 0}};
  while (true) {
    const auto left = longest < 0 ? -1 : std::max<std::int64_t>(0, until - microseconds(CLOCK_MONOTONIC));
    const int ready = ::poll(polls, 5, longest < 0 ? -1 : static_cast<int>(left / 1000));
    if ((ready < 0 && errno != EINTR) || (ready == 0 && left < 1000)) return false;
    if (polls[1].revents != 0) handle_signals();
    if (polls[2].revents != 0) listen();
    char ignored[4096];
    for (auto* pipe : {&polls[3], &polls[4]})
      if (pipe->revents != 0 && ::read(pipe->fd, ignored, sizeof ignored) == 0) pipe->fd = -1;
    if (ended_ || init_reaped_ || (agent >= 0 && stop_asked_)) return false;
    if (polls[0].revents != 0) return true;
  }
}

void Shim::handle_signals() {
  signalfd_siginfo info{};
  while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo == kForce) {
      force(kForced);
      continue;
    }
    if (info.ssi_signo != SIGCHLD) {
      if (info.ssi_signo == SIGTERM) {
        if (lapsed_) continue;  // It was asked already.
        stop_asked_ = true;
      }
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

void Shim::listen() {
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

void Shim::force(const char* reason) {
  if (forced_ != nullptr || ended_ || init_reaped_) return;
  forced_ = reason;
  force_at_ = microseconds(CLOCK_MONOTONIC);
  // The init hands it to the task and nobody else, if the task is still there.
  if (state_.taskPid > 0 && catches(state_.taskPid, kTellStacks) && ::kill(init_, kTellStacks) == 0)
    force_at_ += kLastWords;
}

void Shim::watch_lease() {
  if (spec_.lease.empty()) return;
  if (lease_timer_ < 0) lease_timer_ = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  lease_until_ = boot_time().microseconds;  // What cannot be read has ended.
  look_at_lease();
}

void Shim::ring_at(std::int64_t time) {
  itimerspec timer{};
  timer.it_value = {time / kSecond, time % kSecond * 1000};
  ::timerfd_settime(lease_timer_, TFD_TIMER_ABSTIME, &timer, nullptr);
}

void Shim::look_at_lease() {
  if (const auto text = read_small_file(spec_.lease)) {
    const auto lease =
        json::parse(*text).and_then([](const json::value& v) { return json::from_json<ShimLease>(v); });
    if (lease) lease_until_ = lease->until;
  }
  const auto now = boot_time().microseconds;
  if (lease_until_ == 0) return ring_at(now + kLeaseLook);
  if (now < lease_until_ + kLeaseMargin) return ring_at(lease_until_ + kLeaseMargin);
  lease_over_ = true;
  lapsed_ = !stop_asked_;
  if (lapsed_ && !init_reaped_) ::kill(init_, SIGTERM);
  ring_at(now + static_cast<std::int64_t>(std::max(spec_.grace_seconds, 0.0) * 1e6) + 1);
}

void Shim::lease_rang() {
  std::uint64_t times = 0;
  if (::read(lease_timer_, &times, sizeof times) < 0) return;
  if (lease_over_)
    force(kForced);
  else
    look_at_lease();
}

}  // namespace det::agent
