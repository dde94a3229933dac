#include "det/agent/shim/shim.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>

#include "det/agent/files.h"
#include "det/agent/shim/cgroup.h"
#include "det/agent/shim/init.h"
#include "det/agent/shim/isolation.h"
#include "det/agent/shim/stream.h"
#include "det/base/json.h"

namespace det::agent {

namespace {

constexpr int kFailed = 1;
constexpr int kNothingToDo = 3;
constexpr int kStallLookMilliseconds = 50;
constexpr int kExitWriteTries = 600;
constexpr int kSayTries = 60;
constexpr std::int64_t kLastWords = kSecond;  // How long a task that is ended by force may say where it is.
constexpr std::int64_t kLeaseMargin = kSecond / 2;  // The agent, if it lives, comes first.
constexpr std::int64_t kLeaseLook = 5 * kSecond;    // While nobody asks for a lease.
constexpr std::int64_t kFarewell =
    5 * kSecond;  // For the exit functions of a process that ran several tasks.
constexpr const char* kForced = "did not exit within its grace period and was killed";
constexpr const char* kLapsed = "stopped because the agent could not reach the master";

bool take_ticket(const std::filesystem::path& directory) {
  return ::rename((directory / "start").c_str(), (directory / "started").c_str()) == 0;
}

Result<ShimSpec> read_spec(const std::filesystem::path& directory) {
  const auto text = read_small_file(directory / "spec.json");
  auto spec =
      text ? json::parse(*text).and_then([](const json::value& v) { return json::from_json<ShimSpec>(v); })
           : Result<ShimSpec>(tl::unexpected(text.error()));
  if (!spec) return tl::unexpected(std::move(spec.error()).within("spec.json"));
  return spec;
}

class Shim {
 public:
  Shim(std::filesystem::path directory, ShimSpec spec)
      : directory_(std::move(directory)), spec_(std::move(spec)) {}

  int run(const TaskFunction& task, const std::vector<struct sigaction>& dispositions) {
    Isolation isolation(spec_);
    int sockets[2];
    int outputs[2];
    int errors[2];
    const bool reusable = task && !spec_.reuse.empty() && channel_.open();
    if (reusable) lock_root();
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0 ||
        ::pipe2(outputs, O_CLOEXEC) != 0 || ::pipe2(errors, O_CLOEXEC) != 0)
      return finish(1 << 8, fmt::format("cannot create a pipe: {}", std::strerror(errno)));
    const int on = 1;
    ::setsockopt(sockets[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    isolation.before_fork();
    state_.cgroup = isolation.groups().whole();
    state_.groups = isolation.groups().paths();
    if (!state_.groups.empty()) write_state();
    init_ = ::fork();
    if (init_ == 0) {
      ::close(sockets[0]);
      ::close(outputs[0]);
      ::close(errors[0]);
      ::close(signals_);
      run_init(InitOptions{spec_,
                           isolation,
                           task,
                           dispositions,
                           sockets[1],
                           {outputs[1], errors[1]},
                           reusable ? &channel_ : nullptr});
    }
    if (init_ < 0) {
      const auto reason = fmt::format("cannot start a process: {}", std::strerror(errno));
      for (const auto& path : state_.groups) end_cgroup(path);
      return finish(1 << 8, reason);
    }
    ::close(sockets[1]);
    ::close(outputs[1]);
    ::close(errors[1]);
    socket_ = sockets[0];
    pipes_[0] = outputs[0];
    pipes_[1] = errors[0];
    channel_.in_shim();
    do {
      watch_lease();
      supervise();
    } while (done_ && finish(0, {}) == 0 && take_another());
    if (!init_reaped_) {  // Else its number may be another's by now.
      ::kill(init_, SIGKILL);
      ::waitpid(init_, &init_status_, 0);
    }
    if (!isolation.own_pids()) end_descendants();
    const auto trouble = isolation.groups().trouble();
    for (const auto& path : state_.groups) end_cgroup(path);
    if (written_) return 0;
    if (!ended_ && forced_ != nullptr) {
      status_ = SIGKILL;
      reason_ = forced_;
    } else if (!ended_) {
      status_ = WIFSIGNALED(init_status_) ? WTERMSIG(init_status_) : init_status_;
      reason_ = WIFSIGNALED(init_status_) ? "the process and its children were killed from outside"
                                          : "cannot set up the process";
      if (status_ == 0) status_ = 1 << 8;
    }
    if (lapsed_ && status_ != 0)
      reason_ = kLapsed;
    else if (status_ != 0 && forced_ == nullptr && !trouble.empty())
      reason_ = trouble;
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
    sigaddset(&set, kForce);
    ::sigprocmask(SIG_SETMASK, &set, nullptr);
    signals_ = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  }

 private:
  void write_state() {
    (void)replace_file(directory_ / "shim.json", json::serialize(json::to_json(state_)), false);
  }

  void supervise() {
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
        if (streams_[i].open() && (polls[2 + i].revents != 0 || streams_[i].stalled()))
          streams_[i].pump(over);
    }
  }

  void lock_root() {
    const int root = ::open(spec_.reuse_root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root >= 0) ::flock(root, LOCK_SH);  // Until all that hold it have ended.
  }

  /// The exit is written: another task for the process, or its end.
  bool take_another() {
    written_ = true;
    streams_.clear();
    ::close(spools_);
    const bool may = !ended_ && !init_reaped_ && !stop_asked_ && !lapsed_ && forced_ == nullptr;
    const auto next = may ? ask_for_another() : std::nullopt;
    if (!next || !take_ticket(*next)) {
      channel_.dismiss();
      linger(-1, kFarewell);
      return false;
    }
    directory_ = *next;
    written_ = done_ = false;
    write_state();
    auto spec = read_spec(directory_);
    if (spec) {
      spec_ = *std::move(spec);
      if (channel_.give({spec_.environment, spec_.working_directory})) return true;
      lapsed_ = true;  // Nothing of the task ran: not its failure.
      (void)finish(SIGKILL, "the process that should run the task ended before");
    } else {
      (void)finish(kFailed << 8, spec.error().message());
    }
    written_ = true;
    return false;
  }

  /// The directory of the next task; nothing: the agent has none, or is gone.
  std::optional<std::filesystem::path> ask_for_another() {
    const int agent = connect_to(spec_.reuse_socket);
    if (agent < 0) return std::nullopt;
    const auto offer = json::serialize(json::to_json(ReuseMessage{directory_}));
    std::string text(64 * 1024, '\0');
    ssize_t got = 0;
    if (::send(agent, offer.data(), offer.size(), MSG_NOSIGNAL) > 0 && linger(agent))
      got = ::recv(agent, text.data(), text.size(), MSG_DONTWAIT);
    ::close(agent);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    const auto answer =
        json::parse(text).and_then([](const json::value& v) { return json::from_json<ReuseMessage>(v); });
    if (!answer) return std::nullopt;
    return answer->directory;
  }

  /// Waits beside the process until it has ended or shall (false), or the agent says something (true). What
  /// the process writes meanwhile belongs to no task.
  bool linger(int agent, std::int64_t longest = -1) {
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

  void handle_signals() {
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

  /// The end of all of it. A task that has said it can is asked where it is, and has a moment to tell.
  void force(const char* reason) {
    if (forced_ != nullptr || ended_ || init_reaped_) return;
    forced_ = reason;
    force_at_ = microseconds(CLOCK_MONOTONIC);
    // The init hands it to the task and nobody else, if the task is still there.
    if (state_.taskPid > 0 && catches(state_.taskPid, kTellStacks) && ::kill(init_, kTellStacks) == 0)
      force_at_ += kLastWords;
  }

  void watch_lease() {
    if (spec_.lease.empty()) return;
    if (lease_timer_ < 0) lease_timer_ = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    lease_until_ = boot_time().microseconds;  // What cannot be read has ended.
    look_at_lease();
  }
  void ring_at(std::int64_t time) {
    itimerspec timer{};
    timer.it_value = {time / kSecond, time % kSecond * 1000};
    ::timerfd_settime(lease_timer_, TFD_TIMER_ABSTIME, &timer, nullptr);
  }
  void look_at_lease() {
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
  void lease_rang() {
    std::uint64_t times = 0;
    if (::read(lease_timer_, &times, sizeof times) < 0) return;
    if (lease_over_)
      force(kForced);
    else
      look_at_lease();
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
    exit.lapsed = lapsed_;
    exit.time = Time{microseconds(CLOCK_REALTIME)};
    const auto text = json::serialize(json::to_json(exit));
    for (int i = 0; i < kExitWriteTries; ++i) {
      // Whoever sees exit.json takes what the streams hold for all that there will be.
      bool said = true;
      for (auto& stream : streams_) said = stream.finish() && said;
      if ((said || i >= kSayTries) && !replace_file(directory_ / "exit.json", text, false)) return 0;
      const timespec pause{1, 0};
      ::nanosleep(&pause, nullptr);
    }
    return kFailed;
  }

  std::filesystem::path directory_;
  ShimSpec spec_;
  ShimState state_;
  std::deque<Stream> streams_;
  TaskChannel channel_;
  int pipes_[2] = {-1, -1};  ///< The task's stdout and stderr.
  int spools_ = -1;          ///< The directory that they are written to.
  bool done_ = false;        ///< The task is, and its process waits for another.
  bool written_ = false;     ///< exit.json of the last task.
  int signals_ = -1;
  int socket_ = -1;
  pid_t init_ = -1;
  int init_status_ = 0;
  bool init_reaped_ = false;
  bool ended_ = false;
  int status_ = 0;
  std::string reason_;
  const char* forced_ = nullptr;  ///< Why it is ended by force.
  std::int64_t force_at_ = 0;     ///< When (CLOCK_MONOTONIC); 0: not, or done.
  int lease_timer_ = -1;
  std::int64_t lease_until_ = 0;
  bool stop_asked_ = false;  ///< By the agent.
  bool lease_over_ = false;
  bool lapsed_ = false;  ///< Asked to end because the lease is over.
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

bool catches(std::int64_t pid, int signal) {
  const auto status = read_small_file(fmt::format("/proc/{}/status", pid), 64 * 1024);
  const auto at = status ? status->find("\nSigCgt:") : std::string::npos;
  if (at == std::string::npos) return false;
  const auto caught = std::strtoull(status->c_str() + at + 8, nullptr, 16);
  return (caught >> (signal - 1) & 1) != 0;
}

int run_shim(const std::filesystem::path& given, TaskFunction task) {
  const auto directory = std::filesystem::absolute(given);
  if (!take_ticket(directory)) return kNothingToDo;
  std::vector<struct sigaction> dispositions(NSIG);
  for (std::size_t signal = 1; signal < dispositions.size(); ++signal)
    ::sigaction(static_cast<int>(signal), nullptr, &dispositions[signal]);
  leave_parent_behind();
  const auto spec = read_spec(directory);
  Shim shim(directory, spec ? *spec : ShimSpec{});
  shim.introduce();
  if (!spec) {
    ShimExit exit;
    exit.code = kFailed;
    exit.reason = spec.error().message();
    exit.time = Time{microseconds(CLOCK_REALTIME)};
    return replace_file(directory / "exit.json", json::serialize(json::to_json(exit)), false) ? kFailed : 0;
  }
  return shim.run(task, dispositions);
}

}  // namespace det::agent
