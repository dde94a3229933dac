#include "det/agent/shim/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "det/agent/files.h"
#include "det/agent/shim/init.h"

namespace det::agent {

namespace {

constexpr int kSocketDescriptor = 3;

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const auto& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

/// Whether `entry` is one of the zero-ended entries of an environment.
bool has_entry(const std::string& environment, const std::string& entry) {
  for (std::size_t at = 0; (at = environment.find(entry, at)) != std::string::npos; ++at) {
    const auto end = at + entry.size();
    if ((at == 0 || environment[at - 1] == '\0') && (end == environment.size() || environment[end] == '\0'))
      return true;
  }
  return false;
}

}  // namespace

Result<Process> Process::open(const asio::any_io_executor& executor, pid_t pid,
                              std::optional<std::int64_t> start_time) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) {
    if (errno == ESRCH) return not_found("process {} has exited", pid);
    return fail(ErrorCode::Unavailable, "cannot watch process {}: {}", pid, std::strerror(errno));
  }
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  asio::posix::stream_descriptor descriptor(executor, fd);
  // Looked at after the descriptor was opened: now the number cannot change its meaning.
  if (start_time && process_start_time(pid) != start_time) return not_found("process {} has exited", pid);
  return Process(pid, std::move(descriptor));
}

bool Process::signal(int number) {
  return ::syscall(SYS_pidfd_send_signal, descriptor_.native_handle(), number, nullptr, 0) == 0;
}

void Process::let_go() {
  let_go_ = true;
  descriptor_.cancel();
}

asio::awaitable<void> Process::ended() {
  boost::system::error_code failure;
  co_await descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                                  asio::redirect_error(asio::use_awaitable, failure));
  if (let_go_) co_return;
  if (failure) throw boost::system::system_error(failure);
  siginfo_t info{};
  while (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(descriptor_.native_handle()), &info,
                  WEXITED | WNOHANG) != 0 &&
         errno == EINTR) {
  }
}

Result<pid_t> start_detached(const std::vector<std::string>& command, const std::filesystem::path& log) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const char* out = log.empty() ? "/dev/null" : log.c_str();
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out, O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int number : kForwarded) sigaddset(&blocked, number);
  sigaddset(&blocked, kForce);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const auto arguments = pointers(command);
  const int error = ::posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    return fail(ErrorCode::Unavailable, "cannot start {}: {}", command.front(), std::strerror(error));
  return pid;
}

Result<pid_t> start_bound(const std::vector<std::string>& command,
                          const std::map<std::string, std::string>& environment,
                          const std::filesystem::path& directory, const std::filesystem::path& log,
                          int descriptor) {
  // All that needs memory is done before fork: between it and exec other threads' locks may be held.
  std::vector<std::string> entries;
  for (const auto& [name, value] : environment) entries.push_back(name + "=" + value);
  const auto variables = pointers(entries);
  const auto arguments = pointers(command);
  const std::string log_name = log.string();
  const std::string directory_name = directory.string();
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0)
    return fail(ErrorCode::Unavailable, "cannot start {}: {}", command.front(), std::strerror(errno));
  if (pid > 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDONLY);
  const int out = ::open(log_name.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  // Out of the way first: any of them may have the number that another shall get.
  const int socket = ::fcntl(descriptor, F_DUPFD, 10);
  ::dup2(null, 0);
  ::dup2(out < 0 ? null : out, 1);
  ::dup2(1, 2);
  ::dup2(socket, kSocketDescriptor);
  ::close_range(kSocketDescriptor + 1, ~0U, 0);
  if (!directory_name.empty() && ::chdir(directory_name.c_str()) != 0) ::_exit(126);
  ::execvpe(arguments[0], arguments.data(), variables.data());
  ::_exit(127);
}

bool process_alive(std::int64_t pid) {
  const auto stat = read_small_file(fmt::format("/proc/{}/stat", pid), 64 * 1024);
  if (!stat) return false;
  const auto close = stat->rfind(')');
  return close != std::string::npos && close + 2 < stat->size() && (*stat)[close + 2] != 'Z' &&
         (*stat)[close + 2] != 'X';
}

void end_processes_of(const std::string& mark) {
  if (mark.empty()) return;
  const auto entry_wanted = fmt::format("{}={}", kMark, mark);
  for (int round = 0; round < 50; ++round) {
    bool found = false;
    if (DIR* proc = ::opendir("/proc")) {
      while (const auto* entry = ::readdir(proc)) {
        const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
        if (pid <= 1 || pid == ::getpid()) continue;
        // Held first, looked at after: the number cannot come to mean another process in between.
        const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
        if (fd < 0) continue;
        const auto environment = read_small_file(fmt::format("/proc/{}/environ", pid));
        if (environment && has_entry(*environment, entry_wanted) && process_alive(pid))
          found = ::syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0) == 0 || found;
        ::close(fd);
      }
      ::closedir(proc);
    }
    if (!found) return;
    const timespec pause{0, 5'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

bool kill_process(std::int64_t pid, std::int64_t start_time) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
  if (fd < 0) return false;
  const bool killed =
      process_start_time(pid) == start_time && ::syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0) == 0;
  ::close(fd);
  return killed;
}

}  // namespace det::agent
