#include "det/agent/shim/shim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "det/agent/files.h"
#include "det/agent/shim/cgroup.h"
#include "det/agent/shim/init.h"
#include "det/agent/shim/isolation.h"
#include "det/agent/shim/supervisor.h"
#include "det/base/json.h"

namespace det::agent {

namespace {

constexpr int kFailed = 1;
constexpr int kNothingToDo = 3;
constexpr int kExitWriteTries = 600;
constexpr int kSayTries = 60;
// For the exit functions of a process that ran several tasks.
constexpr std::int64_t kFarewell = 5 * kSecond;
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

}  // namespace

int Shim::run(const TaskFunction& task, const std::vector<struct sigaction>& dispositions) {
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
  } while (done_ && finish(0, {}) == 0 && take_another(isolation.groups().trouble().empty()));
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

void Shim::introduce() {
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

void Shim::write_state() {
  (void)replace_file(directory_ / "shim.json", json::serialize(json::to_json(state_)), false);
}

void Shim::lock_root() {
  const int root = ::open(spec_.reuse_root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root >= 0) ::flock(root, LOCK_SH);  // Until all that hold it have ended.
}

bool Shim::take_another(bool unhurt) {
  written_ = true;
  streams_.clear();
  ::close(spools_);
  const bool may = unhurt && !ended_ && !init_reaped_ && !stop_asked_ && !lapsed_ && forced_ == nullptr;
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

std::optional<std::filesystem::path> Shim::ask_for_another() {
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

int Shim::finish(int status, std::string reason) {
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

namespace {

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
